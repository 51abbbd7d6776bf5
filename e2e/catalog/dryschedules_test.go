package catalog

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestDrySchedules fires each kind of target by a schedule that makes dry runs, and by the same one when it does not.
func TestDrySchedules(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		site := w.repo("site", map[string]string{
			"site.yml": "- hosts: all\n  gather_facts: false\n  tasks: [{command: echo executed}]\n"})
		steps := []any{harness.Body{"name": "step", "tool": "bash", "command": "echo executed"}}
		targets := map[string]harness.Body{}
		for name, template := range map[string]harness.Body{
			"template": {"tool": "bash", "command": "echo executed"},
			"split": {"playbook": "site.yml", "shards": 2,
				"project_id": w.id("/v1/projects", harness.Body{"name": "p", "repo_url": site.url()}),
				"inventory_id": w.id("/v1/inventories", harness.Body{"name": "i", "format": "ini",
					"content": "[all:vars]\nansible_connection=local\n[all]\na\nb\n"})},
			"workflow": {"steps": steps},
		} {
			template["name"] = name
			targets[name] = harness.Body{"template_id": w.id("/v1/templates", template)}
		}
		targets["run"] = harness.Body{"run": harness.Body{"tool": "bash", "command": "echo executed"}}
		targets["pipeline"] = harness.Body{"pipeline": harness.Body{"steps": steps}}
		made := map[string]string{}
		for name, target := range targets {
			target["name"], target["cron"], target["dry_run"] = name, "@yearly", true
			made[name] = w.id("/v1/schedules", target)
			if got := w.want(http.StatusOK, http.MethodGet, "/v1/schedules/"+made[name], nil); got["dry_run"] != true {
				t.Errorf("%s reads back %v", name, got)
			}
		}
		w.firesAs(made, true)
		for name, target := range targets { // an omitted member clears
			delete(target, "dry_run")
			w.want(http.StatusOK, http.MethodPut, "/v1/schedules/"+made[name], target)
		}
		w.firesAs(made, false)
	})
}

// firesAs fires schedules and checks their runs and what those executed.
func (w *fixture) firesAs(schedules map[string]string, dry bool) {
	w.t.Helper()
	var list []string
	for _, id := range schedules {
		list = append(list, id)
	}
	fired := w.fires(time.Minute, list...)
	for name, id := range schedules {
		run, _ := fired[id]["last_run_id"].(string)
		if run == "" {
			w.t.Errorf("%s: %v", name, fired[id])
			continue
		}
		w.Await(run)
		got := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+run, nil)
		if (got["dry_run"] == true) != dry || (got["checked"] == true) != dry || got["source"] != "schedule" ||
			got["source_id"] != id || got["status"] != "succeeded" {
			w.t.Errorf("%s made %v", name, got)
		}
		executed := strings.Contains(w.Log(run), "executed")
		switch steps, _ := got["steps"].([]any); {
		case len(steps) == 1:
			executed = strings.Contains(w.Log(steps[0].(map[string]any)["run_id"].(string)), "executed")
		case got["kind"] == "split":
			executed = got["hosts"].(map[string]any)["changed"] == 2.0
		}
		if executed == dry {
			w.t.Errorf("%s was executed: %t, and %v", name, executed, got)
		}
	}
}
