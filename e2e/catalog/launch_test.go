package catalog

import (
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

const awhile = 3 * time.Minute

// push is a webhook body of GitHub for a push.
const push = `{"ref": "refs/heads/main", "after": "0123456789012345678901234567890123456789", "deleted": false,
	"repository": {"full_name": "acme/site"}, "pusher": {"name": "ada"}, "head_commit": {"id": "0123456789012345678901234567890123456789"}}`

func survey() []harness.Body {
	return []harness.Body{
		{"var": "version", "type": "text", "required": true, "pattern": "v[0-9]+", "default": "v1"},
		{"var": "count", "type": "int", "min": 1, "max": 9, "default": 3},
		{"var": "color", "type": "choice", "choices": []string{"red", "blue"}, "default": "blue"},
	}
}

// deployment is a template with every kind of setting.
func (w *fixture) deployment() string {
	w.t.Helper()
	r := w.repo("deploy", map[string]string{"site.yml": "- hosts: web\n  gather_facts: false\n  tasks:\n" +
		"    - debug: {msg: \"{{ greeting }} / {{ version }} / {{ count + 1 }} / {{ color }}\"}\n"})
	return w.id("/v1/templates", harness.Body{
		"name": "Deploy", "playbook": "site.yml", "project_id": w.project("deploy", r), "inventory_id": w.inventory("fleet"),
		"extra_vars": harness.Body{"greeting": "hi {{ inventory_hostname }}"}, "survey": survey(), "timeout": 600, "forks": 2,
		"tags":   []string{"all"},
		"labels": harness.Body{"team": "web"}, "change": "CH-1", "allow_overrides": []string{"limit", "extra_vars"},
		"diff_mode": true,
	})
}

// settled returns the part of a run's record that describes what it executes.
func (w *fixture) settled(id string) map[string]any {
	w.t.Helper()
	r := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+id, nil)
	for _, k := range []string{
		"id", "seq", "created_at", "queued_at", "started_at", "ended_at", "duration_ms", "source", "source_id", "actor",
		"rerun_of", "audit_receipt",
		"log_bytes", "event_count", "worker", "lease_expires_at", "log_sha256", "revision",
	} {
		delete(r, k)
	}
	vars, _ := r["extra_vars"].(map[string]any)
	vars = maps.Clone(vars)
	delete(vars, "writ_push") // added by the trigger
	r["extra_vars"] = vars
	return r
}

// TestFourWaysMakeTheSameRun launches one template by the API, a schedule, a trigger and a rerun.
func TestFourWaysMakeTheSameRun(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		tpl := w.deployment()
		sch := w.id("/v1/schedules", harness.Body{"name": "each minute", "cron": "* * * * *", "template_id": tpl})
		slot := w.slot(sch)
		trg := w.make("/v1/triggers", harness.Body{"name": "on push", "template_id": tpl})

		api := w.launch(tpl, nil)
		a := w.As("").Do(http.MethodPost, trg["hook_path"].(string), push,
			"X-GitHub-Event", "push", "X-GitHub-Delivery", "d1", "X-Hub-Signature-256",
			sign(trg["signing_secret"].(string), push))
		var hooked struct {
			RunID string `json:"run_id"`
		}
		if a.JSON(t, &hooked); a.Status != http.StatusAccepted || hooked.RunID == "" {
			t.Fatalf("hook: %d %s", a.Status, a.Body)
		}
		w.succeeds(api.ID)
		again := w.Act("/v1/runs/" + api.ID + "/rerun")
		var scheduled string
		<-time.After(time.Until(slot))
		harness.Eventually(t, awhile, "the schedule fires", func() bool {
			scheduled, _ = w.want(http.StatusOK, http.MethodGet, "/v1/schedules/"+sch, nil)["last_run_id"].(string)
			return scheduled != ""
		})
		want := w.settled(api.ID)
		for way, id := range map[string]string{"schedule": scheduled, "trigger": hooked.RunID, "rerun": again.ID} {
			w.succeeds(id)
			if diff := cmp.Diff(want, w.settled(id)); diff != "" {
				t.Errorf("%s: %s", way, diff)
			}
			if record := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+id, nil); record["source"] != way {
				t.Errorf("%s says that it comes from %v", way, record["source"])
			}
			if log := w.log(id); !strings.Contains(log, "hi a / v1 / 4 / blue") ||
				!strings.Contains(log, "hi b / v1 / 4 / blue") {
				t.Errorf("%s: %s", way, log)
			}
		}
	})
}

// TestWhatALaunchBringsIsData sends code in every kind of launch value; the tool prints it unevaluated.
// Keeps T17.
func TestWhatALaunchBringsIsData(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	mark := filepath.Join(harness.Shared(t), "ran")
	evil := "{{ lookup('pipe', 'touch " + mark + "') }}"
	r := w.repo("p",
		map[string]string{"site.yml": "- hosts: all\n  gather_facts: false\n  tasks:\n    - debug: {msg: \"{{ a }} {{ b }} " +
			"{{ writ_push | default({}) }}\"}\n"})
	tpl := w.id("/v1/templates", harness.Body{
		"name": "t", "playbook": "site.yml", "project_id": w.project("p", r), "inventory_id": w.inventory("i"),
		"allow_overrides": []string{"extra_vars"},
		"survey":          []harness.Body{{"var": "a", "type": "text", "default": "x"}},
		"extra_vars":      harness.Body{"b": "saved"},
	})
	launched := w.launch(tpl, harness.Body{"answers": harness.Body{"a": evil}, "extra_vars": harness.Body{"b": evil}})
	w.succeeds(launched.ID)
	again := w.Act("/v1/runs/" + launched.ID + "/rerun")
	w.succeeds(again.ID)
	trg := w.make("/v1/triggers", harness.Body{"name": "t", "template_id": tpl})
	body := strings.Replace(push, "ada", evil, 1)
	a := w.As("").Do(http.MethodPost, trg["hook_path"].(string), body,
		"X-GitHub-Event", "push", "X-GitHub-Delivery", "d1", "X-Hub-Signature-256",
		sign(trg["signing_secret"].(string), body))
	var hooked struct {
		RunID string `json:"run_id"`
	}
	if a.JSON(t, &hooked); a.Status != http.StatusAccepted {
		t.Fatalf("hook: %d %s", a.Status, a.Body)
	}
	w.succeeds(hooked.RunID)
	for _, id := range []string{launched.ID, again.ID, hooked.RunID} {
		if log := w.log(id); !strings.Contains(log, "lookup(") {
			t.Errorf("%s does not print what was brought: %s", id, log)
		}
	}
	absent(t, mark)
}

// TestALaunchThatIsRefusedMakesNothing tries values that a template does not allow.
func TestALaunchThatIsRefusedMakesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	tpl := w.id("/v1/templates", harness.Body{
		"name": "t", "tool": "bash", "command": "true", "allow_overrides": []string{"labels", "extra_vars"},
		"survey": survey(),
	})
	for at, body := range map[string]harness.Body{
		"answers.version":  {"answers": harness.Body{"version": "w1"}},
		"answers.count":    {"answers": harness.Body{"count": 10}},
		"answers.color":    {"answers": harness.Body{"color": "green"}},
		"answers.unknown":  {"answers": harness.Body{"unknown": 1}},
		"limit":            {"limit": "web"},
		"dry_run":          {"dry_run": true},
		"timeout":          {"timeout": 9},
		"extra_vars.count": {"extra_vars": harness.Body{"count": 99}},
		"labels":           {"labels": harness.Body{"BAD KEY": "x"}},
	} {
		p := w.want(http.StatusBadRequest, http.MethodPost, "/v1/templates/"+tpl+"/launch", body)
		errs, _ := p["errors"].([]any)
		if len(errs) == 0 || !strings.HasPrefix(errs[0].(map[string]any)["location"].(string), at) {
			t.Errorf("%s: %v", at, p)
		}
	}
	if list := w.want(http.StatusOK, http.MethodGet, "/v1/runs", nil); list["total"] != 0.0 {
		t.Errorf("runs were made: %v", list)
	}
	shut := w.id("/v1/templates", harness.Body{"name": "shut", "tool": "bash", "command": "true"})
	w.want(http.StatusBadRequest, http.MethodPost, "/v1/templates/"+shut+"/launch",
		harness.Body{"extra_vars": harness.Body{"a": 1}})
	p := w.project("p", w.repo("p", map[string]string{"a.yml": "[]"}))
	for _, playbook := range []string{"../a.yml", "/etc/a.yml"} {
		w.want(http.StatusBadRequest, http.MethodPost, "/v1/templates",
			harness.Body{"name": "out", "playbook": playbook, "project_id": p})
	}
	r := w.launch(tpl, harness.Body{"labels": harness.Body{"a": "b"}})
	if kept := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+r.ID, nil); kept["template_id"] != tpl {
		t.Errorf("the run's template is %v", kept["template_id"])
	}
	if got := w.succeeds(r.ID); got.Labels["a"] != "b" {
		t.Errorf("%+v", got)
	}
}

// TestAWorkflowRuns launches a saved graph whose steps receive the survey answers.
func TestAWorkflowRuns(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		script := `echo "$WRIT_VAR_VERSION $WRIT_VAR_OWN"`
		tpl := w.id("/v1/templates", harness.Body{
			"name": "flow", "survey": survey(), "extra_vars": harness.Body{"own": "kept"},
			"steps": []harness.Body{
				{"name": "build", "tool": "bash", "command": script},
				{"name": "ship", "tool": "bash", "command": script, "depends_on": []string{"build"}},
			},
		})
		r := w.succeeds(w.launch(tpl, harness.Body{"answers": harness.Body{"version": "v7"}}).ID)
		if r.Kind != "pipeline" || len(r.Steps) != 2 {
			t.Fatalf("%+v", r)
		}
		for _, s := range r.Steps {
			if log := w.log(s.RunID); strings.TrimSpace(log) != "v7 kept" {
				t.Errorf("%s: %q", s.Name, log)
			}
		}
		for at, steps := range map[string][]harness.Body{
			"steps[0].depends_on": {{"name": "a", "tool": "bash", "command": "x", "depends_on": []string{"b"}},
				{"name": "b", "tool": "bash", "command": "x", "depends_on": []string{"a"}}},
			"steps[1].depends_on[0]": {{"name": "a", "tool": "bash", "command": "x"},
				{"name": "b", "tool": "bash", "command": "x", "depends_on": []string{"c"}}},
			"steps[0].command": {{"name": "a", "tool": "bash"}},
		} {
			p := w.want(http.StatusBadRequest, http.MethodPost, "/v1/templates", harness.Body{"name": "bad", "steps": steps})
			if errs, _ := p["errors"].([]any); len(errs) == 0 || errs[0].(map[string]any)["location"] != at {
				t.Errorf("%s: %v", at, p)
			}
		}
	})
}
