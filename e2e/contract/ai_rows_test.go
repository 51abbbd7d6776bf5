package contract

import (
	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// aiRows are the operations of advice, on a server without a provider: roles are checked before that.
func aiRows() map[string]row {
	const off = "ai_disabled"
	return map[string]row{
		"explain-run":  {least: identity.Viewer, status: 404, missing: off},
		"ask-question": {least: identity.Viewer, body: harness.Body{"question": "x"}, status: 404, missing: off},
		"draft-script": {least: identity.Operator, body: harness.Body{"tool": "bash", "description": "x"}, status: 404,
			missing: off},
		"propose-run": {least: identity.Operator, body: harness.Body{"request": "x"}, status: 404, missing: off},
	}
}
