package catalog

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// fires restarts the server with schedules that are due since some time, and waits until each of them has another run
// or a reason. It returns their records.
func (w *fixture) fires(late time.Duration, schedules ...string) map[string]map[string]any {
	w.t.Helper()
	state := func(id string) map[string]any {
		return w.want(http.StatusOK, http.MethodGet, "/v1/schedules/"+id, nil)
	}
	was := map[string]map[string]any{}
	for _, id := range schedules {
		was[id] = state(id)
	}
	w.Kill()
	for _, id := range schedules {
		w.Alter("UPDATE schedules SET next_run_at = ?, last_error = '' WHERE id = ?", -late, id)
	}
	w.Server = w.Again()
	out := map[string]map[string]any{}
	for _, id := range schedules {
		harness.Eventually(w.t, awhile, "the schedule is dealt with", func() bool {
			out[id] = state(id)
			return out[id]["last_error"] != nil || out[id]["last_run_id"] != was[id]["last_run_id"]
		})
	}
	return out
}

// TestOverlap fires schedules again while their last runs wait, are held, and have ended.
func TestOverlap(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		tpl := w.id("/v1/templates", harness.Body{"name": "t", "tool": "bash", "command": "true", "queue": "parked",
			"max_concurrent": 0})
		schedule := func(name string, more harness.Body) string {
			body := harness.Body{"name": name, "cron": "@yearly", "template_id": tpl}
			for k, v := range more {
				body[k] = v
			}
			return w.id("/v1/schedules", body)
		}
		usual, held := schedule("usual", nil), schedule("held", harness.Body{"require_approval": true})
		queue := schedule("queue", harness.Body{"overlap": "queue"})
		allow := schedule("allow", harness.Body{"overlap": "allow"})
		all := []string{usual, held, queue, allow}
		first := w.fires(3*time.Minute, all...)
		for id, s := range first {
			if s["last_run_id"] == nil || s["last_error"] != nil {
				t.Fatalf("%s: %v", id, s)
			}
		}
		second := w.fires(2*time.Minute, all...)
		for _, id := range []string{usual, held} {
			run, _ := first[id]["last_run_id"].(string)
			reason, _ := second[id]["last_error"].(string)
			if second[id]["last_run_id"] != run || second[id]["last_run_at"] != first[id]["last_run_at"] ||
				!strings.HasPrefix(reason, "missed") || !strings.Contains(reason, run) {
				t.Errorf("%s: %v after %v", id, second[id], first[id])
			}
		}
		for _, id := range []string{queue, allow} {
			run, _ := second[id]["last_run_id"].(string)
			if run == "" || run == first[id]["last_run_id"] || second[id]["last_error"] != nil {
				t.Errorf("%s: %v after %v", id, second[id], first[id])
				continue
			}
			locks, _ := w.want(http.StatusOK, http.MethodGet, "/v1/runs/"+run, nil)["locks"].([]any)
			if want := id == queue; slices.Contains(locks, any("schedule:"+id)) != want {
				t.Errorf("%s makes a run with the locks %v", id, locks)
			}
		}
		for _, id := range []string{usual, held} {
			w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+first[id]["last_run_id"].(string)+"/cancel", nil)
		}
		for id, s := range w.fires(time.Minute, usual, held) {
			if s["last_run_id"] == first[id]["last_run_id"] || s["last_error"] != nil {
				t.Errorf("%s after the end of its last run: %v", id, s)
			}
		}
	})
}

// TestStepsThatCannotBeLaunched fires the pipeline of a schedule after the template of its step became a workflow, asks
// a question, or is back as it was: no slot is lost without its reason.
func TestStepsThatCannotBeLaunched(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		plain := harness.Body{"name": "step", "tool": "bash", "command": "true"}
		tpl := w.id("/v1/templates", plain)
		id := w.id("/v1/schedules", harness.Body{"name": "nightly", "cron": "@yearly", "pipeline": harness.Body{
			"steps": []harness.Body{{"name": "first", "tool": "bash", "command": "true"}, {"name": "a", "template_id": tpl}}}})
		for i, c := range []struct {
			template harness.Body
			reason   string // empty if it makes a run
		}{
			{harness.Body{"name": "step", "steps": []harness.Body{{"name": "x", "tool": "bash", "command": "true"}}},
				"steps[1].template_id: is a workflow, which cannot be a step"},
			{harness.Body{"name": "step", "tool": "bash", "command": "true", "survey": []harness.Body{
				{"var": "version", "type": "text", "required": true}}}, "steps[1].answers"},
			{plain, ""},
		} {
			w.want(http.StatusOK, http.MethodPut, "/v1/templates/"+tpl, c.template)
			got := w.fires(time.Duration(4-i)*time.Minute, id)[id]
			reason, _ := got["last_error"].(string)
			run, _ := got["last_run_id"].(string)
			if !strings.Contains(reason, c.reason) || (reason == "") != (c.reason == "") || (run == "") != (c.reason != "") {
				t.Errorf("after %v: %v", c.template, got)
			}
			doctor := w.found(w.want(http.StatusOK, http.MethodGet, "/v1/doctor", nil), id)
			if (doctor == "") != (c.reason == "") {
				t.Errorf("after %v the doctor says %q", c.template, doctor)
			}
		}
		a := w.Do(http.MethodDelete, "/v1/templates/"+tpl, nil)
		if a.Status != http.StatusConflict || !strings.Contains(string(a.Body), id) {
			t.Errorf("a template that a schedule launches in a step is deleted: %d %s", a.Status, a.Body)
		}
	})
}
