package identity_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
)

// actions returns the audit action of each recorded operation.
func actions() map[string]audit.Action {
	return map[string]audit.Action{
		"sign-in": audit.AuthLogin, "complete-oidc": audit.AuthLogin, "complete-saml": audit.AuthLogin,
		"exchange-code": audit.AuthLogin, "sign-out": audit.AuthLogout,
		"change-password": audit.UserPassword, "save-preferences": audit.UserPreferences,
		"save-team-preferences": audit.TeamPreferences,
		"mint-token":            audit.TokenCreate, "revoke-token": audit.TokenRevoke,
		"create-user": audit.UserCreate, "update-user": audit.UserUpdate, "delete-user": audit.UserDelete,
		"create-team": audit.TeamCreate, "delete-team": audit.TeamDelete, "add-team-member": audit.TeamMemberAdd,
		"remove-team-member": audit.TeamMemberDrop, "create-org": audit.OrgCreate, "delete-org": audit.OrgDelete,
		"put-org-member": audit.OrgMemberSet, "remove-org-member": audit.OrgMemberDrop,
		"create-grant": audit.GrantCreate, "delete-grant": audit.GrantDelete,
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	f := setup(t)
	seen := 0
	for _, op := range f.Operations() {
		want, has := actions()[op.OperationID]
		if got, _ := op.Extensions["x-audit"].(string); got != string(want) {
			t.Errorf("%s: %q, want %q", op.OperationID, got, want)
		}
		if has {
			seen++
		}
	}
	if seen != len(actions()) {
		t.Errorf("%d operations of %d", seen, len(actions()))
	}
}

// TestRefusalsAreRecorded: each refused change of an authenticated caller has an entry, and nothing else has.
func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, op := range f.Operations() {
		if least()[op.OperationID] != "admin" {
			continue
		}
		before := len(f.Recorder.Entries())
		f.Call(op.Method, pathOf(op), "", `{}`).Problem(401, "bad_token")
		f.Call(op.Method, pathOf(op), "operator", `{"nope":1}`).Problem(403, "forbidden")
		got := f.Recorder.Entries()[before:]
		if op.Method == http.MethodGet {
			if len(got) > 0 {
				t.Errorf("%s: a reading left %v", op.OperationID, got)
			}
			continue
		}
		want := []audit.Entry{{
			Action: actions()[op.OperationID], Outcome: audit.Denied,
			Detail: map[string]any{"reason": "forbidden", "operation": op.OperationID},
		}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", op.OperationID, d)
		}
	}
}
