package imports

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

// jobs is an export of Rundeck with one job of some commands.
func jobs(commands ...string) []byte {
	text := "- name: Deploy\n  sequence:\n    commands:\n"
	for _, c := range commands {
		text += fmt.Sprintf("    - exec: %s\n", c)
	}
	return []byte(text)
}

// TestImportKeeps imports a job into a template that somebody completed: what the export does not have stays, secrets
// included, also when the template turns into a workflow and back.
func TestImportKeeps(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		target := importing(t, s.Client, "puppet", nodes(2), "apply", "true").Objects[0]
		a := s.Do(http.MethodPost, "/v1/templates", harness.Body{"name": "Deploy", "tool": "bash", "command": "true",
			"labels": harness.Body{"team": "web"}, "notifications": []harness.Body{
				{"kind": "webhook", "url": "https://hooks.example.com/T/secret", "key": "k3y-of-it"},
				{"kind": "pagerduty", "key": "r0uting-key", "on_failure": true},
			}})
		if a.Status != http.StatusCreated {
			t.Fatalf("create: %d %s", a.Status, a.Body)
		}
		read := func() (v struct {
			Labels        map[string]string
			Command       string
			Steps         []struct{ Name string }
			Notifications []map[string]any
		}) {
			var made struct{ ID string }
			a.JSON(t, &made)
			s.Do(http.MethodGet, "/v1/templates/"+made.ID, nil).JSON(t, &v)
			return v
		}
		for _, c := range []struct {
			commands []string
			steps    int
		}{{[]string{"uptime"}, 0}, {[]string{"uptime", "date"}, 2}, {[]string{"uptime"}, 0}} {
			plan := importing(t, s.Client, "rundeck", jobs(c.commands...), "inventory", target.ID, "apply", "true")
			if o := plan.Objects[0]; o.Action != importer.Update {
				t.Fatalf("%v: %+v %v", c.commands, o, plan.Warnings)
			}
			got := read()
			if len(got.Steps) != c.steps || (got.Command == "") != (c.steps > 0) || got.Labels["team"] != "web" ||
				len(got.Notifications) != 2 {
				t.Errorf("%v: the template is %+v", c.commands, got)
			}
		}
	})
}

// TestImportNamesItsInventory: an id of an inventory whose name means another one is refused, so that no job gets other
// hosts than those that were chosen.
func TestImportNamesItsInventory(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		made := func(path string, body harness.Body) string {
			var v struct{ ID string }
			a := s.Do(http.MethodPost, path, body)
			if a.JSON(t, &v); a.Status != http.StatusCreated {
				t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
			}
			return v.ID
		}
		org := made("/v1/orgs", harness.Body{"name": "bank"})
		theirs := made("/v1/inventories", harness.Body{"name": "web", "content": "a\n", "format": "ini", "org_id": org})
		if plan := importing(t, s.Client, "rundeck", jobs("true"), "inventory", theirs); plan.Counts.Create != 1 {
			t.Errorf("with the only one of its name: %+v", plan)
		}
		made("/v1/inventories", harness.Body{"name": "web", "content": "b\n", "format": "ini"})
		a := post(s.Client, "rundeck", string(jobs("true")), "inventory", theirs)
		if a.Status != http.StatusBadRequest {
			t.Errorf("the id of an inventory whose name means another one: %d %s", a.Status, a.Body)
		}
	})
}
