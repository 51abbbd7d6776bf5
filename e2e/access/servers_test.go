package access

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestRevocationWorksOnEveryServer revokes rights through one server and calls the other one at once: it refuses the
// first request after the answer, for tokens, accounts, roles, grants and team memberships.
func TestRevocationWorksOnEveryServer(t *testing.T) {
	t.Parallel()
	url := harness.Postgres(t)
	a := harness.Start(t, harness.Options{DB: url, Flags: []string{"--executors", "0"}})
	b := harness.Start(t, harness.Options{DB: url, Flags: []string{"--executors", "0"}, Admin: a.Admin})
	run := a.Submit(on("vault"))
	owner := join(t, a, "owner", "admin")
	grant(t, a, "user:"+owner.ID, "queue:vault", "read")
	team := made(t, a.Client, "/v1/teams", harness.Body{"name": "Vault"})
	grant(t, a, "team:"+team, "queue:vault", "use")
	for i := range depthtest.Of(4, 12) {
		on, off := a, b // the two servers take turns
		if i%2 == 1 {
			on, off = b, a
		}
		p := join(t, on, fmt.Sprint("p", i), "operator")
		asks := func(s *harness.Server, token string, status int) {
			t.Helper()
			want(t, s.As(token), http.MethodGet, "/v1/runs/"+run.ID, nil, status)
		}
		asks(off, p.Token, 404)
		want(t, on.Client, http.MethodPost, "/v1/teams/"+team+"/members", harness.Body{"user_id": p.ID}, 201)
		asks(off, p.Token, 200)
		want(t, on.Client, http.MethodDelete, "/v1/teams/"+team+"/members/"+p.ID, nil, 204)
		asks(off, p.Token, 404)
		id := grant(t, on, "user:"+p.ID, "queue:vault", "read")
		asks(off, p.Token, 200)
		want(t, on.Client, http.MethodDelete, "/v1/grants/"+id, nil, 204)
		asks(off, p.Token, 404)
		want(t, on.Client, http.MethodPut, "/v1/users/"+p.ID, harness.Body{"role": "admin"}, 200)
		asks(off, p.Token, 200)
		want(t, on.Client, http.MethodPut, "/v1/users/"+p.ID, harness.Body{"role": "viewer"}, 200)
		asks(off, p.Token, 401) // a lower role ends tokens
		p.Client = off.As(mint(t, on, p.ID, harness.Body{}))
		asks(off, p.Token, 404)
		second := mint(t, on, p.ID, harness.Body{})
		asks(off, second, 404)
		var list struct {
			Tokens []struct {
				ID     string `json:"id"`
				UserID string `json:"user_id"`
			} `json:"tokens"`
		}
		want(t, off.Client, http.MethodGet, "/v1/tokens", nil, 200).JSON(t, &list)
		for _, tok := range list.Tokens {
			if tok.UserID == p.ID {
				want(t, on.Client, http.MethodDelete, "/v1/tokens/"+tok.ID, nil, 204)
			}
		}
		asks(off, p.Token, 401)
		asks(off, second, 401)
		third := mint(t, off, p.ID, harness.Body{})
		asks(on, third, 404)
		want(t, on.Client, http.MethodDelete, "/v1/users/"+p.ID, nil, 204)
		asks(off, third, 401)
	}
}
