package contract

import (
	"net/http"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

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
