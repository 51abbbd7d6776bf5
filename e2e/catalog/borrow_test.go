package catalog

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// borrowed are the objects that an account may read and not use.
type borrowed struct{ project, inventory, credential, template, queue string }

// ways lists the requests that name such an object, by the kind of the object and the member that names it.
func (b borrowed) ways() map[string][]way {
	script := harness.Body{"tool": "bash", "command": "true"}
	play := harness.Body{"playbook": "site.yml"}
	with := func(base harness.Body, member string, v any) harness.Body {
		out := harness.Body{member: v}
		for k, x := range base {
			out[k] = x
		}
		return out
	}
	steps := func(base harness.Body, member string, v any) harness.Body {
		return harness.Body{"steps": []any{with(with(base, "name", "a"), member, v)}}
	}
	scheduled := func(target string, body harness.Body) harness.Body {
		return harness.Body{"cron": "@yearly", target: body}
	}
	creds := []string{b.credential}
	out := map[string][]way{
		"template": {{"/v1/schedules", "template_id", scheduled("template_id", nil)}, {"/v1/triggers", "template_id", nil}},
	}
	out["template"][0].body["template_id"] = b.template
	out["template"][1].body = harness.Body{"template_id": b.template}
	for kind, c := range map[string]struct {
		member string
		value  any
		base   harness.Body
	}{
		"credential": {"credential_ids", creds, script}, "inventory": {"inventory_id", b.inventory, play},
		"project": {"project_id", b.project, play}, "queue": {"queue", b.queue, script},
	} {
		step := steps(c.base, c.member, c.value)
		if kind == "project" { // steps have that of their pipeline
			step = with(steps(c.base, "limit", "a"), c.member, c.value)
		}
		out[kind] = append(out[kind],
			way{"/v1/templates", c.member, with(c.base, c.member, c.value)}, way{"/v1/templates", "steps", step},
			way{"/v1/schedules", "run", scheduled("run", with(c.base, c.member, c.value))},
			way{"/v1/schedules", "pipeline", scheduled("pipeline", step)},
			way{"/v1/runs", c.member, with(c.base, c.member, c.value)}, way{"/v1/pipelines", "steps", step})
	}
	out["credential"] = append(out["credential"],
		way{"/v1/templates", "selectable_credential_ids", with(script, "selectable_credential_ids", creds)},
		way{"/v1/projects", "credential_id", harness.Body{"repo_url": "https://example.com/x",
			"credential_id": b.credential}},
		way{"/v1/inventories", "credential_ids", harness.Body{"content": "a\n", "format": "ini", "credential_ids": creds}})
	out["queue"] = append(out["queue"],
		way{"/v1/inventories", "queue", harness.Body{"content": "a\n", "format": "ini", "queue": b.queue}})
	return out
}

// way is a request that names an object in a member.
type way struct {
	path, member string
	body         harness.Body
}

// TestNobodyBorrows has an account that may read objects and not use them, and that may create everything in its
// organization: by the API, by files, and as a copy of what an admin made. Each is refused, with the kind of the object
// and not with its name.
// Keeps T52.
func TestNobodyBorrows(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		org := w.id("/v1/orgs", harness.Body{"name": "Retail"})
		me, token := w.somebody("borrower", "operator")
		w.want(http.StatusCreated, http.MethodPost, "/v1/orgs/"+org+"/members", harness.Body{"user_id": me, "role": "admin"})
		repo := w.repo("site", map[string]string{"site.yml": "- hosts: all\n"})
		b := borrowed{project: w.project("their project", repo), inventory: w.inventory("their inventory"), queue: "theirs",
			credential: w.id("/v1/credentials", harness.Body{"name": "their credential", "kind": "token",
				"secret": harness.Body{"token": "a-token"}}),
			template: w.id("/v1/templates", harness.Body{"name": "their template", "tool": "bash", "command": "true"})}
		for _, object := range []string{b.project, b.inventory, b.credential, b.template, "queue:" + b.queue} {
			w.id("/v1/grants", harness.Body{"subject": "user:" + me, "object": object, "level": "read"})
		}
		c := w.As(token)
		n := 0
		for kind, list := range b.ways() {
			for _, x := range list {
				n++
				body := harness.Body{"name": fmt.Sprint("n", n), "org_id": org}
				if x.path == "/v1/runs" || x.path == "/v1/pipelines" {
					delete(body, "org_id")
				}
				for k, v := range x.body {
					body[k] = v
				}
				what := fmt.Sprintf("%s %s", x.path, x.member)
				a := c.Do(http.MethodPost, x.path, body)
				if x.path == "/v1/inventories" && kind == "queue" { // which counts where a run takes it
					var made map[string]any
					a.JSON(t, &made)
					a = c.Do(http.MethodPost, "/v1/runs", harness.Body{"playbook": "site.yml", "inventory_id": made["id"]})
				}
				if named := strings.Contains(string(a.Body), "their"); a.Status != http.StatusForbidden ||
					!strings.Contains(string(a.Body), kind) || named && kind != "queue" { // the caller named the queue
					t.Errorf("%s: %d %.300s", what, a.Status, a.Body)
				}
				// What an admin made with it cannot be copied.
				original := w.Do(http.MethodPost, x.path, body)
				if original.Status != http.StatusCreated || strings.HasPrefix(x.path, "/v1/runs") || strings.HasPrefix(x.path,
					"/v1/pipelines") {
					continue
				}
				var kept map[string]any
				original.JSON(t, &kept)
				id, _ := kept["id"].(string)
				copied := map[string]any{}
				for member := range body {
					copied[member] = kept[member]
				}
				copied["name"] = fmt.Sprint("copy", n)
				if a := c.Do(http.MethodPost, x.path, copied); a.Status != http.StatusForbidden {
					t.Errorf("a copy of %s: %d %.300s", what, a.Status, a.Body)
				}
				w.want(http.StatusNoContent, http.MethodDelete, x.path+"/"+id, nil)
			}
		}
		w.appliedBy(token)
	})
}

// appliedBy applies files that name the objects.
func (w *fixture) appliedBy(token string) {
	w.t.Helper()
	for kind, text := range map[string]string{
		"credential": "kind: Template\nname: by file\norg: Retail\nspec: {tool: bash, command: 'true', credentials: " +
			"[their credential]}\n",
		"inventory": "kind: Template\nname: by file\norg: Retail\nspec: {playbook: site.yml, inventory: their inventory}\n",
		"project":   "kind: Template\nname: by file\norg: Retail\nspec: {playbook: site.yml, project: their project}\n",
		"template":  "kind: Trigger\nname: by file\norg: Retail\nspec: {template: their template}\n",
		"queue":     "kind: Template\nname: by file\norg: Retail\nspec: {tool: bash, command: 'true', queue: theirs}\n",
	} {
		file := filepath.Join(w.t.TempDir(), "catalog.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
		cmd := exec.CommandContext(w.t.Context(), harness.Binary(w.t), "apply", file)
		cmd.Env = append(os.Environ(), "WRIT_SERVER="+w.URL, "WRIT_TOKEN="+token)
		out, err := cmd.CombinedOutput()
		missing := "this takes the right to use the " + kind
		if kind == "queue" {
			missing = `the right to use the queue "theirs" is missing`
		}
		if err == nil || !strings.Contains(string(out), missing) {
			w.t.Errorf("apply of a file that names a %s: %v\n%s", kind, err, out)
		}
	}
	if list := w.want(http.StatusOK, http.MethodGet, "/v1/templates?name=by+file", nil); list["total"] != 0.0 {
		w.t.Errorf("files made %v", list)
	}
}
