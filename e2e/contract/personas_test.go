package contract

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// vault is the restricted queue of the personas' fixture. It has no executors.
const vault = "vault"

// persona is a kind of caller of every operation.
type persona struct {
	name      string
	token     string
	stranger  bool // no valid token
	role      identity.Role
	read, use bool // of the vault
	team, org bool // a member
}

// fixture is a server with a restricted queue, a run in it that has ended, a team and an organization.
type fixture struct {
	*harness.Server
	run, team, org string
	personas       []persona
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := harness.Start(t, harness.Options{Env: []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken}})
	w := &fixture{Server: s, run: s.Submit(harness.Body{"tool": "bash", "command": "true", "queue": vault}).ID}
	if a := s.Do(http.MethodPost, "/v1/runs/"+w.run+"/cancel", nil); a.Status != http.StatusOK {
		t.Fatalf("cancel: %d %s", a.Status, a.Body)
	}
	w.team = created(t, s.Client, "/v1/teams", harness.Body{"name": "Vault"})
	w.org = created(t, s.Client, "/v1/orgs", harness.Body{"name": "Retail"})
	grant := func(subject, level string) {
		created(t, s.Client, "/v1/grants", harness.Body{"subject": subject, "object": "queue:" + vault, "level": level})
	}
	join := func(p persona, level string) persona {
		id := account(t, s, strings.ReplaceAll(p.name, " ", "-"), string(p.role))
		p.token = mint(t, s, id, nil)
		if level != "" {
			grant("user:"+id, level)
		}
		for path, in := range map[string]bool{"/v1/teams/" + w.team: p.team, "/v1/orgs/" + w.org: p.org} {
			if !in {
				continue
			}
			body := harness.Body{"user_id": id}
			if p.org {
				body["role"] = "admin"
			}
			if a := s.Do(http.MethodPost, path+"/members", body); a.Status != http.StatusCreated {
				t.Fatalf("%s: %d %s", path, a.Status, a.Body)
			}
		}
		w.personas = append(w.personas, p)
		return p
	}
	grant("team:"+w.team, "use")
	join(persona{name: "viewer", role: identity.Viewer}, "")
	join(persona{name: "operator", role: identity.Operator}, "")
	join(persona{name: "read grant", role: identity.Operator, read: true}, "read")
	join(persona{name: "use grant", role: identity.Operator, read: true, use: true}, "use")
	join(persona{name: "manage grant", role: identity.Operator, read: true, use: true}, "manage")
	join(persona{name: "team grant", role: identity.Operator, read: true, use: true, team: true}, "")
	join(persona{name: "viewer with manage", role: identity.Viewer, read: true, use: true}, "manage")
	join(persona{name: "organization admin", role: identity.Viewer, org: true}, "")
	w.personas = append(w.personas,
		persona{name: "nobody", stranger: true},
		persona{name: "revoked token", stranger: true, token: w.revoked(t)},
		persona{name: "expired token", stranger: true, token: w.expired(t)},
		persona{name: "admin", role: identity.Admin, token: s.Token, read: true, use: true, team: true, org: true},
	)
	return w
}

// revoked returns the token of an admin that was revoked.
func (w *fixture) revoked(t *testing.T) string {
	t.Helper()
	id := account(t, w.Server, "revoked", "admin")
	a := w.Do(http.MethodPost, "/v1/tokens", harness.Body{"user_id": id, "name": "revoked"})
	var made struct {
		ID    string `json:"id"`
		Token string `json:"token"`
	}
	a.JSON(t, &made)
	if a := w.Do(http.MethodDelete, "/v1/tokens/"+made.ID, nil); a.Status != http.StatusNoContent {
		t.Fatalf("revoke: %d %s", a.Status, a.Body)
	}
	return made.Token
}

// expired returns the expired token of an admin.
func (w *fixture) expired(t *testing.T) string {
	t.Helper()
	token := mint(t, w.Server, account(t, w.Server, "expired", "admin"), harness.Body{"expires_in": 1})
	harness.Eventually(t, 20*time.Second, "the token expires", func() bool {
		return w.As(token).Do(http.MethodGet, "/v1/auth/me", nil).Status == http.StatusUnauthorized
	})
	return token
}

// path fills a path with objects of the fixture; an operation that would destroy one gets an absent id.
func (w *fixture) path(t *testing.T, op operation, r row) string {
	t.Helper()
	path := op.Path
	switch {
	case op.Method == http.MethodDelete:
	case r.right == useRight && strings.HasPrefix(path, "/v1/runs/{id}/"): // an action may be the run's last
		run := w.Submit(harness.Body{"tool": "bash", "command": "true", "queue": vault}).ID
		path = strings.Replace(path, "{id}", run, 1)
	case strings.HasPrefix(path, "/v1/runs/{id}"):
		path = strings.Replace(path, "{id}", w.run, 1)
	case strings.HasPrefix(path, "/v1/teams/{id}"):
		path = strings.Replace(path, "{id}", w.team, 1)
	case strings.HasPrefix(path, "/v1/orgs/{id}"):
		path = strings.Replace(path, "{id}", w.org, 1)
	}
	return absent(path)
}

// expect returns the status for a caller: authentication first, then the role, then the permission on the object.
func (p persona) expect(r row) int {
	status := cmp.Or(r.existing, r.status)
	switch {
	case r.worker:
		return http.StatusUnauthorized
	case r.least == "":
		return status
	case p.stranger:
		return http.StatusUnauthorized
	case p.role.Rank() < r.least.Rank():
		return http.StatusForbidden
	case (r.right == readRight || r.right == useRight || r.right == approver) && !p.read:
		return http.StatusNotFound
	case r.right == approver && p.role != identity.Admin:
		return http.StatusForbidden
	case r.right == useRight && !p.use, r.right == teamMember && !p.team, r.right == orgMember && !p.org:
		return http.StatusForbidden
	default:
		return status
	}
}

// TestEveryOperationByPersona calls every operation of the document as every persona: without a valid token, with each
// role, and with each kind of permission on the restricted queue. A new operation needs a row.
// Keeps T10.
func TestEveryOperationByPersona(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	table := rows()
	for i, op := range operations(t, w.Client) {
		if i > 0 && i%perServer == 0 {
			w = newFixture(t)
		}
		r, known := table[op.ID]
		if !known {
			t.Errorf("%s %s (%s) has no row in the table of roles", op.Method, op.Path, op.ID)
			continue
		}
		body := r.body
		if r.existingBody != nil {
			body = r.existingBody
		}
		for _, p := range w.personas {
			token := p.token
			if op.ID == "sign-out" && !p.stranger {
				token = another(t, w.Server, token)
			}
			a := w.As(token).Do(op.Method, w.path(t, op, r)+r.query, body, r.header()...)
			if status := p.expect(r); a.Status != status {
				t.Errorf("%s as %s: %d, want %d: %.200s", op.ID, p.name, a.Status, status, a.Body)
			}
		}
	}
}
