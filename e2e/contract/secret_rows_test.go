package contract

import (
	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// secretRows are the operations on credentials and on their custom types. Every caller reads the objects that its
// permissions allow, never their secrets. The types are only for admins.
func secretRows() map[string]row {
	const credential, custom = "credential_not_found", "credential_type_not_found"
	token := harness.Body{"name": "x", "kind": "token", "secret": harness.Body{"token": "t"}}
	pager := harness.Body{"name": "x", "fields": []harness.Body{{"name": "key", "type": "text", "secret": true}}}
	return map[string]row{
		"list-credentials": {least: identity.Viewer, status: 200},
		"get-credential":   {least: identity.Viewer, status: 404, missing: credential},
		"create-credential": {least: identity.Operator,
			body: harness.Body{"name": "", "kind": "token", "secret": harness.Body{"token": "t"}}, status: 400},
		"update-credential": {least: identity.Operator, body: token, status: 404, missing: credential},
		"delete-credential": {least: identity.Operator, status: 404, missing: credential},

		"list-credential-types": {least: identity.Admin, status: 200},
		"get-credential-type":   {least: identity.Admin, status: 404, missing: custom},
		"create-credential-type": {least: identity.Admin, body: harness.Body{"name": "", "fields": []harness.Body{}},
			status: 400},
		"update-credential-type": {least: identity.Admin, body: pager, status: 404, missing: custom},
		"delete-credential-type": {least: identity.Admin, status: 404, missing: custom},
	}
}
