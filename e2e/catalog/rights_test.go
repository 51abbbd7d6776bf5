package catalog

import (
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// somebody creates an account and returns its id and its token.
func (w *fixture) somebody(name, role string) (id, token string) {
	w.t.Helper()
	id = w.id("/v1/users", harness.Body{"username": name, "role": role})
	token, _ = w.make("/v1/tokens", harness.Body{"name": name, "user_id": id})["token"].(string)
	return id, token
}

// TestRightsOnTheCatalog checks the permissions of every role on objects with grants, in an organization, and without
// both.
// Keeps T10.
func TestRightsOnTheCatalog(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		org := w.id("/v1/orgs", harness.Body{"name": "Retail"})
		team := w.id("/v1/teams", harness.Body{"name": "Web"})
		tokens := map[string]string{"admin": w.Token}
		ids := map[string]string{}
		for name, role := range map[string]string{
			"viewer": "viewer", "operator": "operator", "reader": "operator", "user": "viewer", "manager": "operator",
			"viewing manager": "viewer",
			"member":          "operator", "org operator": "operator", "org viewer": "viewer",
		} {
			ids[name], tokens[name] = w.somebody(strings.ReplaceAll(name, " ", "-"), role)
		}
		w.want(http.StatusCreated, http.MethodPost, "/v1/teams/"+team+"/members", harness.Body{"user_id": ids["member"]})
		for _, name := range []string{"org operator", "org viewer"} {
			w.want(http.StatusCreated, http.MethodPost, "/v1/orgs/"+org+"/members",
				harness.Body{"user_id": ids[name], "role": "admin"})
		}
		body := func(name string) harness.Body {
			return harness.Body{"name": name, "tool": "bash", "command": "true", "queue": "parked", "org_id": org}
		}
		tpl := w.id("/v1/templates", body("granted"))
		for subject, level := range map[string]string{
			"user:" + ids["reader"]: "read", "user:" + ids["user"]: "use", "user:" + ids["manager"]: "manage",
			"user:" + ids["viewing manager"]: "manage", "team:" + team: "use",
		} {
			w.id("/v1/grants", harness.Body{"subject": subject, "object": tpl, "level": level})
		}
		for name, want := range map[string]struct{ get, launch, put, create int }{
			"viewer":          {404, 404, 403, 403},
			"operator":        {404, 404, 404, 403},
			"reader":          {200, 403, 403, 403},
			"user":            {200, 201, 403, 403},
			"manager":         {200, 201, 200, 403},
			"viewing manager": {200, 201, 403, 403},
			"member":          {200, 201, 403, 403},
			"org operator":    {200, 201, 200, 201},
			"org viewer":      {200, 201, 403, 403},
			"admin":           {200, 201, 200, 201},
		} {
			c := w.As(tokens[name])
			listed := 0.0
			if want.get == 200 {
				listed = 1
			}
			var list struct{ Total, Count float64 }
			c.Do(http.MethodGet, "/v1/templates?name=granted", nil).JSON(t, &list)
			if list.Total != listed || list.Count != listed {
				t.Errorf("%s: the list has %v", name, list)
			}
			for what, got := range map[string][2]int{
				"get":    {c.Do(http.MethodGet, "/v1/templates/"+tpl, nil).Status, want.get},
				"launch": {c.Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", harness.Body{}).Status, want.launch},
				"put":    {c.Do(http.MethodPut, "/v1/templates/"+tpl, body("granted")).Status, want.put},
				"create": {c.Do(http.MethodPost, "/v1/templates", body("made by "+name)).Status, want.create},
			} {
				if got[0] != got[1] {
					t.Errorf("%s: %s answers %d, want %d", name, what, got[0], got[1])
				}
			}
		}
	})
}

// TestAManagerGetsNoUseOfCredentials changes a template with a credential that the manager of the template may not use,
// and may not even read: nothing that decides what the credential is used for can change.
// Keeps T49.
func TestAManagerGetsNoUseOfCredentials(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		org := w.id("/v1/orgs", harness.Body{"name": "Retail"})
		cred := w.id("/v1/credentials", harness.Body{"name": "vault", "kind": "token",
			"secret": harness.Body{"token": "a-token"}})
		inv := w.inventory("other hosts")
		manager, managerToken := w.somebody("manager", "operator")
		w.want(http.StatusCreated, http.MethodPost, "/v1/orgs/"+org+"/members",
			harness.Body{"user_id": manager, "role": "admin"})
		other, _ := w.somebody("other", "operator")
		w.id("/v1/grants", harness.Body{"subject": "user:" + other, "object": cred, "level": "use"})
		play := w.id("/v1/templates", harness.Body{"name": "play", "playbook": "x.yml", "org_id": org, "queue": "parked",
			"selectable_credential_ids": []any{cred}, "extra_vars": harness.Body{"color": "red"}})
		flow := w.id("/v1/templates", harness.Body{"name": "flow", "org_id": org, "credential_ids": []any{cred},
			"steps": []any{harness.Body{"name": "one", "playbook": "x.yml"}}, "queue": "parked", "inventory_id": inv})
		c := w.As(managerToken)
		put := func(id string, changes harness.Body) harness.Answer {
			body := harness.Body{}
			w.Do(http.MethodGet, "/v1/templates/"+id, nil).JSON(t, &body)
			for name, v := range changes {
				body[name] = v
			}
			return c.Do(http.MethodPut, "/v1/templates/"+id, body)
		}
		for what, change := range map[string]harness.Body{
			"tool": {"tool": "bash", "playbook": "", "command": "env"}, "playbook": {"playbook": "y.yml"},
			"queue": {"queue": "mine"}, "inventory": {"inventory_id": inv}, "variables": {"extra_vars": harness.Body{"a": "b"}},
			"reserved variables": {"allowed_vars": []any{"ansible_connection"}},
			"overrides":          {"allow_overrides": []any{"extra_vars"}},
		} {
			a := put(play, change)
			if a.Status != http.StatusForbidden || !strings.Contains(string(a.Body), "use_required") ||
				!strings.Contains(string(a.Body), "selectable_credential_ids[0]") {
				t.Errorf("%s: %d %s", what, a.Status, a.Body)
			}
		}
		steps := []any{harness.Body{"name": "one", "tool": "bash", "command": "env"}}
		if a := put(flow, harness.Body{"steps": steps}); a.Status != http.StatusForbidden {
			t.Errorf("steps: %d %s", a.Status, a.Body)
		}
		for _, id := range []string{play, flow} {
			if a := put(id, harness.Body{"name": "renamed " + id, "labels": harness.Body{"a": "b"}}); a.Status != http.StatusOK {
				t.Errorf("a name: %d %s", a.Status, a.Body)
			}
			a := put(id, harness.Body{"credential_ids": []any{}, "selectable_credential_ids": []any{}, "queue": "mine"})
			if a.Status != http.StatusOK {
				t.Errorf("without the credential: %d %s", a.Status, a.Body)
			}
		}
	})
}

// TestHiddenReferencesAreNotDisclosed deletes objects that are referenced by an object which the caller may not read.
func TestHiddenReferencesAreNotDisclosed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	inv := w.inventory("shared")
	hidden := w.id("/v1/templates", harness.Body{"name": "hidden", "playbook": "x.yml", "inventory_id": inv})
	visible := w.id("/v1/templates", harness.Body{"name": "shown", "playbook": "x.yml", "inventory_id": inv})
	id, token := w.somebody("manager", "operator")
	other, _ := w.somebody("other", "operator")
	w.id("/v1/grants", harness.Body{"subject": "user:" + id, "object": inv, "level": "manage"})
	w.id("/v1/grants", harness.Body{"subject": "user:" + other, "object": hidden, "level": "read"})
	a := w.As(token).Do(http.MethodDelete, "/v1/inventories/"+inv, nil)
	if a.Status != 409 || strings.Contains(string(a.Body), hidden) || !strings.Contains(string(a.Body), visible) ||
		!strings.Contains(string(a.Body), `"others":1`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	w.want(http.StatusOK, http.MethodPut, "/v1/inventories/"+inv, harness.Body{"name": "renamed", "content": "z\n"})
	if got := w.want(http.StatusOK, http.MethodGet, "/v1/templates/"+visible, nil); got["inventory_id"] != inv {
		t.Errorf("a renamed inventory is named no more: %v", got)
	}
}

// TestWhoLaunchesSeesTheRun restricts the inventory of a template that every caller may use: callers who may not read
// it cannot launch; those who may read it can, without the right to use it. A waiting run keeps its references.
func TestWhoLaunchesSeesTheRun(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		inv := w.inventory("restricted")
		reader, readerToken := w.somebody("reader", "operator")
		_, none := w.somebody("none", "operator")
		w.id("/v1/grants", harness.Body{"subject": "user:" + reader, "object": inv, "level": "read"})
		tpl := w.id("/v1/templates", harness.Body{"name": "t", "playbook": "x.yml", "inventory_id": inv, "queue": "parked"})
		if a := w.As(none).Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", harness.Body{}); a.Status != 403 ||
			!strings.Contains(string(a.Body), "use_required") {
			t.Errorf("who may not read: %d %s", a.Status, a.Body)
		}
		a := w.As(readerToken).Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", harness.Body{})
		var run harness.Run
		if a.JSON(t, &run); a.Status != 201 || w.As(readerToken).Do(http.MethodGet, "/v1/runs/"+run.ID, nil).Status != 200 {
			t.Fatalf("who may read: %d %s", a.Status, a.Body)
		}
		w.want(http.StatusNoContent, http.MethodDelete, "/v1/templates/"+tpl, nil)
		held := w.want(http.StatusConflict, http.MethodDelete, "/v1/inventories/"+inv, nil)
		if by, _ := held["used_by"].([]any); len(by) != 1 || by[0].(map[string]any)["id"] != run.ID {
			t.Errorf("held by %v", held)
		}
		w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+run.ID+"/cancel", nil)
		w.want(http.StatusNoContent, http.MethodDelete, "/v1/inventories/"+inv, nil)
	})
}
