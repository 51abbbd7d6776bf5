package contract

import (
	"net/http"
	"slices"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// scopesOf returns the scopes that allow an operation, by its id and the least role that may call it.
func scopesOf(op operation, least identity.Role) []identity.Scope {
	switch op.ID {
	case "read-me", "read-preferences", "sign-out", "mint-token":
		return identity.AllScopes()
	case "launch-template":
		return []identity.Scope{identity.ScopeLaunch, identity.ScopeOperate, identity.ScopeAdmin}
	case "mint-stream-ticket", "mint-live-ticket", "resolve-inventory", "explain-run", "ask-question":
		return []identity.Scope{identity.ScopeRead, identity.ScopeAdmin}
	}
	switch {
	case op.Method == http.MethodGet:
		return []identity.Scope{identity.ScopeRead, identity.ScopeAdmin}
	case op.ID == "approve-run" || op.ID == "reject-run": // an operator of a team that decides
	case least == identity.Operator:
		return []identity.Scope{identity.ScopeOperate, identity.ScopeAdmin}
	}
	return []identity.Scope{identity.ScopeAdmin}
}

// TestEveryOperationByScope is T46: it calls every operation with a token of each scope and each role. A token is
// refused unless its role and its scope allow the operation.
// Keeps T46.
func TestEveryOperationByScope(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Env: []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken}})
		table := rows()
		for _, role := range []identity.Role{identity.Viewer, identity.Operator, identity.Admin} {
			for _, scope := range identity.AllScopes() {
				c := s.As(mint(t, s, account(t, s, string(role+"-")+string(scope), string(role)),
					harness.Body{"scopes": []identity.Scope{scope}}))
				for _, op := range operations(t, s.Client) {
					r := table[op.ID]
					if op.Access == "public" || r.worker {
						continue
					}
					status := http.StatusForbidden
					if role.Rank() >= r.least.Rank() && slices.Contains(scopesOf(op, r.least), scope) {
						status = http.StatusBadRequest // the role and the scopes are checked before the request
					}
					a := c.Do(op.Method, absent(op.Path)+"?no_such_parameter=1", `{"x":`)
					if a.Status != status && (status != http.StatusForbidden || a.Status != http.StatusTooManyRequests) {
						t.Errorf("%s as %s with %s: %d, want %d: %.200s", op.ID, role, scope, a.Status, status, a.Body)
					}
				}
			}
		}
	})
}
