package audit

import (
	"net/http"
	"os"
	"os/exec"

	"github.com/writ-automation/writ/e2e/harness"
)

func (w *fixture) project() string {
	return w.id("/v1/projects", harness.Body{"name": w.name("p"), "repo_url": "file://" + w.repo})
}

func (w *fixture) inventory() string {
	return w.id("/v1/inventories", harness.Body{"name": w.name("i"), "content": "a ansible_connection=local\n"})
}

func (w *fixture) sourceBody() harness.Body {
	return harness.Body{
		"name": w.name("s"), "kind": "project", "path": "hosts", "project_id": w.project(), "inventory_id": w.inventory(),
	}
}

func (w *fixture) source() string { return w.id("/v1/inventory-sources", w.sourceBody()) }

func (w *fixture) templateBody() harness.Body {
	return harness.Body{"name": w.name("t"), "tool": "bash", "command": "true", "queue": "parked"}
}

func (w *fixture) template() string { return w.id("/v1/templates", w.templateBody()) }

func (w *fixture) scheduleBody() harness.Body {
	return harness.Body{"name": w.name("c"), "cron": "@yearly", "template_id": w.template()}
}

func (w *fixture) triggerBody() harness.Body {
	return harness.Body{"name": w.name("g"), "template_id": w.template(), "require_signature": false}
}

// makeRepo makes the repository of the projects.
func (w *fixture) makeRepo() {
	w.t.Helper()
	w.repo = w.t.TempDir() + "/repo"
	if err := os.Mkdir(w.repo, 0o700); err != nil {
		w.t.Fatal(err)
	}
	write(w.t, w.repo+"/hosts", "b ansible_connection=local\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=w", "-c", "user.email=w@example.org", "commit", "-qm", "one"}} {
		c := exec.Command("git", args...)
		c.Dir, c.Env = w.repo, []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
		if out, err := c.CombinedOutput(); err != nil {
			w.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// catalogCalls prepares the recorded operations on launchable objects and their triggers.
func catalogCalls() map[string]func(w *fixture) call {
	out := map[string]func(w *fixture) call{
		"sync-project": func(w *fixture) call {
			return call{path: "/v1/projects/" + w.project() + "/sync", object: "project"}
		},
		"refresh-inventory-source": func(w *fixture) call {
			return call{path: "/v1/inventory-sources/" + w.source() + "/refresh", object: "inventory_source"}
		},
		"rotate-trigger-secret": func(w *fixture) call {
			return call{path: "/v1/triggers/" + w.id("/v1/triggers", w.triggerBody()) + "/rotate-secret", object: "trigger"}
		},
		"launch-template": func(w *fixture) call {
			return call{path: "/v1/templates/" + w.template() + "/launch", object: "run"}
		},
	}
	for _, k := range []struct {
		noun, path, kind string
		body             func(w *fixture) harness.Body
	}{
		{"project", "/v1/projects", "project", func(w *fixture) harness.Body {
			return harness.Body{"name": w.name("p"), "repo_url": "file://" + w.repo}
		}},
		{"inventory", "/v1/inventories", "inventory", func(w *fixture) harness.Body {
			return harness.Body{"name": w.name("i"), "content": "a\n"}
		}},
		{"inventory-source", "/v1/inventory-sources", "inventory_source", (*fixture).sourceBody},
		{"template", "/v1/templates", "template", (*fixture).templateBody},
		{"schedule", "/v1/schedules", "schedule", (*fixture).scheduleBody},
		{"trigger", "/v1/triggers", "trigger", (*fixture).triggerBody},
	} {
		out["create-"+k.noun] = func(w *fixture) call { return call{path: k.path, object: k.kind, body: k.body(w)} }
		out["update-"+k.noun] = func(w *fixture) call {
			body := k.body(w)
			id := w.id(k.path, body)
			body["name"] = w.name("renamed")
			return call{path: k.path + "/" + id, object: k.kind, body: body}
		}
		out["delete-"+k.noun] = func(w *fixture) call {
			return call{path: k.path + "/" + w.id(k.path, k.body(w)), object: k.kind}
		}
	}
	out["deliver-hook"] = func(w *fixture) call {
		made := w.Do(http.MethodPost, "/v1/triggers", w.triggerBody())
		var t struct {
			Path string `json:"hook_path"`
		}
		made.JSON(w.t, &t)
		return call{
			path: t.Path, recorded: "/hooks/{token}", nobody: true, object: "run", actor: "hook",
			body:   `{"ref": "refs/heads/main", "after": "0123456789012345678901234567890123456789"}`,
			header: []string{"X-GitHub-Event", "push"},
		}
	}
	return out
}
