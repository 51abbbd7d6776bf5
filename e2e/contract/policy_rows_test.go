package contract

import (
	"net/http"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// driftRows are the operations on drift: every account reads it, operators repair it and write the rules.
func driftRows() map[string]row {
	const missing = "drift_ignore_not_found"
	rule := harness.Body{"host": "*", "resource": "*", "reason": "x"}
	return map[string]row{
		"list-drift":      {least: identity.Viewer, status: 200},
		"reconcile-drift": {least: identity.Operator, body: harness.Body{"host": "a"}, status: 403},
		"list-ignores":    {least: identity.Viewer, status: 200},
		"get-ignore":      {least: identity.Viewer, status: 404, missing: missing},
		"create-ignore": {least: identity.Operator, body: harness.Body{"host": "a", "resource": "b", "reason": ""},
			status: 400},
		"update-ignore": {least: identity.Operator, body: rule, status: 404, missing: missing},
		"delete-ignore": {least: identity.Operator, status: 404, missing: missing},
	}
}

// policyRows are the operations on policies and windows: every account reads them, administrators write them, and
// workers read the policies in force.
func policyRows() map[string]row {
	const missing, noWindow = "policy_not_found", "window_not_found"
	return map[string]row{
		"list-policies": {least: identity.Viewer, status: 200},
		"get-policy":    {least: identity.Viewer, status: 404, missing: missing},
		"create-policy": {least: identity.Admin, body: harness.Body{"name": "", "effect": "deny"}, status: 400},
		"update-policy": {least: identity.Admin, body: harness.Body{"name": "x", "effect": "require_approval"}, status: 404,
			missing: missing},
		"simulate-policy": {least: identity.Admin, body: harness.Body{"policy": harness.Body{"name": "", "effect": "deny"}},
			status: 400},
		"delete-policy": {least: identity.Admin, status: 404, missing: missing},
		"list-windows":  {least: identity.Viewer, status: 200},
		"get-window":    {least: identity.Viewer, status: 404, missing: noWindow},
		"create-window": {least: identity.Admin, body: harness.Body{"name": "", "mode": "deny", "outside": "wait"},
			status: 400},
		"update-window": {least: identity.Admin, body: harness.Body{"name": "x", "mode": "deny", "outside": "wait",
			"cron": "0 1 * * *", "duration": 60}, status: 404, missing: noWindow},
		"delete-window":          {least: identity.Admin, status: 404, missing: noWindow},
		"list-policies-in-force": {worker: true, status: http.StatusOK},
	}
}
