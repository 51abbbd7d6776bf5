package policies

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// reason is one of the reasons of a run's state.
type reason struct{ Code, Text, Object, Next string }

func (w *fixture) why(id string) reason {
	w.t.Helper()
	var out struct{ Reasons []reason }
	w.want(http.StatusOK, w.Client, "GET", "/v1/runs/"+id+"/why", nil).JSON(w.t, &out)
	if len(out.Reasons) == 0 {
		w.t.Fatalf("no reason for the state of %s", id)
	}
	return out.Reasons[0]
}

// window makes a window for the runs with a label, which lasts from yesterday to tomorrow.
func (w *fixture) window(label, mode, outside string, more harness.Body) (id string, body harness.Body) {
	w.t.Helper()
	now := time.Now()
	body = harness.Body{"name": label + " " + mode, "mode": mode, "outside": outside,
		"match": harness.Body{"labels": harness.Body{"case": label}},
		"from":  now.AddDate(0, 0, -1).Format(time.RFC3339), "to": now.AddDate(0, 0, 1).Format(time.RFC3339)}
	for k, v := range more {
		body[k] = v
	}
	return w.made("/v1/windows", body), body
}

// closedForever makes a window that denies runs with a label until it is deleted.
func (w *fixture) closedForever(label string) string {
	w.t.Helper()
	return w.made("/v1/windows", harness.Body{"name": label + " deny", "mode": "allow", "outside": "deny",
		"match": harness.Body{"labels": harness.Body{"case": label}},
		"from":  "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"})
}

// TestWindows has runs wait for windows, denies requests outside of them, and lets administrators override them, with a
// server that is killed meanwhile.
func TestWindows(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, url string) {
		w := newFixture(t, url)
		w.closedWindows()
		w.deniedPaths()
		w.overrides()
		w.killed()
		w.Intact()
	})
}

// closedWindows has a run and a pipeline wait, and start when the window is deleted or changed.
func (w *fixture) closedWindows() {
	id, body := w.window("closed", "deny", "wait", nil)
	run := w.Submit(w.script("closed", nil))
	var pipeline harness.Run
	w.want(http.StatusCreated, w.Client, "POST", "/v1/pipelines", harness.Body{"labels": harness.Body{"case": "closed"},
		"steps": []harness.Body{{"name": "a", "tool": "bash", "command": "true"}}}).JSON(w.t, &pipeline)
	other := w.Await(w.Submit(w.script("another", nil)).ID)
	for _, waits := range []string{run.ID, pipeline.ID} {
		got := w.why(waits)
		if w.Get(waits).Status != "pending" || got.Code != "window" || got.Object != id ||
			!strings.Contains(got.Next, "at 20") || got.Text != `the window "closed deny" keeps the run from starting` {
			w.t.Errorf("%+v", got)
		}
	}
	if other.Status != "succeeded" || w.exists("closed") {
		w.t.Errorf("the run of no window %s, the other one was executed: %v", other.Status, w.exists("closed"))
	}
	body["enabled"] = false
	w.want(http.StatusOK, w.Client, "PUT", "/v1/windows/"+id, body)
	for _, waits := range []string{run.ID, pipeline.ID} {
		if r := w.Await(waits); r.Status != "succeeded" {
			w.t.Errorf("%+v", r)
		}
	}
	w.want(http.StatusNoContent, w.Client, "DELETE", "/v1/windows/"+id, nil)

	// A window binds a run that waits for an executor.
	release := w.blocked()
	late := w.Submit(w.script("closed", nil))
	id, _ = w.window("closed", "allow", "wait", harness.Body{"from": "2020-01-01T00:00", "to": "2020-01-02T00:00",
		"timezone": "Europe/Berlin"})
	harness.Eventually(w.t, time.Minute, "the new window binds the run",
		func() bool { return w.why(late.ID).Code == "window" })
	if got := w.why(late.ID); !strings.Contains(got.Next, "never opens") {
		w.t.Errorf("%+v", got)
	}
	release()
	w.Await(w.Submit(w.script("another", nil)).ID) // the executor is free
	if r := w.Get(late.ID); r.Status != "pending" {
		w.t.Errorf("%+v", r)
	}
	w.want(http.StatusNoContent, w.Client, "DELETE", "/v1/windows/"+id, nil)
	if r := w.Await(late.ID); r.Status != "succeeded" {
		w.t.Errorf("%+v", r)
	}
}

// deniedPaths asks for runs outside of a window that denies.
func (w *fixture) deniedPaths() {
	labels := harness.Body{"case": "denied"}
	once := w.Await(w.Submit(w.script("denied", nil)).ID).ID
	template := w.made("/v1/templates", harness.Body{"name": "denied", "tool": "bash", "command": "true",
		"labels": labels})
	id, body := w.window("denied", "deny", "deny", nil)
	opens, _ := time.Parse(time.RFC3339, body["to"].(string))
	paths := map[string]any{
		"/v1/runs": w.script("denied", nil), "/v1/runs/" + once + "/rerun": nil,
		"/v1/templates/" + template + "/launch": harness.Body{},
		"/v1/pipelines": harness.Body{"labels": labels, "steps": []harness.Body{
			{"name": "a", "tool": "bash", "command": "true"}}},
	}
	for path, body := range paths {
		before := w.entries()[0].Seq
		a := w.accounts["oto"].Do("POST", path, body)
		w.decided(a, http.StatusForbidden, "window_closed")
		for _, text := range []string{`"window":"denied deny"`, `"window_id":"` + id + `"`,
			`"opens":"` + opens.UTC().Format(time.RFC3339) + `"`} {
			if !strings.Contains(string(a.Body), text) {
				w.t.Errorf("%s: %s lacks %s", path, a.Body, text)
			}
		}
		if n := count(w.entries(), func(e entry) bool {
			return e.Seq > before && e.Outcome == "denied" && e.Object.ID == id && e.Details["reason"] == "window_closed"
		}); n != 1 {
			w.t.Errorf("%s: %d entries", path, n)
		}
	}
	w.want(http.StatusNoContent, w.Client, "DELETE", "/v1/windows/"+id, nil)
}

// overrides lets a run pass its window that waits, and one that is held.
func (w *fixture) overrides() {
	w.policy("over", "require_approval", harness.Body{"match": harness.Body{"labels": harness.Body{"case": "over",
		"held": "yes"}}})
	w.window("over", "deny", "wait", nil)
	run := w.Submit(w.script("over", nil))
	// It executes beside the first one, under another account, which could not write to the same file.
	held := w.hold("/v1/runs", w.script("over", harness.Body{"command": "true",
		"labels": harness.Body{"case": "over", "held": "yes"}}))
	later := w.hold("/v1/runs", w.script("over", harness.Body{"labels": harness.Body{"case": "over", "held": "yes"}}))
	override := func(who, id string) harness.Answer {
		return w.accounts[who].Do("POST", "/v1/runs/"+id+"/approve",
			harness.Body{"reason": "urgent", "override_windows": true})
	}
	w.decided(w.decide("bob", "approve", run.ID), http.StatusConflict, "run_not_held")
	for who, status := range map[string]int{"oto": 403, "vic": 403, "operating": 403, "nobody": 401} {
		w.decided(override(who, run.ID), status, "")
	}
	if got := w.why(run.ID); got.Code != "window" {
		w.t.Errorf("%+v", got)
	}
	w.decided(override("bob", run.ID), http.StatusOK, "")
	if code, out := w.writ("bob", "approve", held.ID, "--override-windows"); code != 0 {
		w.t.Errorf("%d %s", code, out)
	}
	for _, id := range []string{run.ID, held.ID} {
		if r := w.Await(id); r.Status != "succeeded" {
			w.t.Errorf("%+v", r)
		}
	}
	h, _ := w.look(run.ID)
	if h.Decision == nil || h.Decision.Reason != "urgent" || count(w.entries(), func(e entry) bool {
		return e.Action == "run.approve" && e.Object.ID == run.ID && e.Outcome == "applied" && e.Actor.Name == "bob" &&
			e.Details["override_windows"] == true && e.Details["window"] == "over deny"
	}) != 1 {
		w.t.Errorf("%+v", h.Decision)
	}
	w.decided(w.decide("bob", "approve", later.ID), http.StatusOK, "")
	if got := w.why(later.ID); got.Code != "window" {
		w.t.Errorf("%+v", got)
	}
	w.want(http.StatusOK, w.Client, "POST", "/v1/runs/"+later.ID+"/cancel", nil)
}

// killed checks that runs wait over the end of a server.
func (w *fixture) killed() {
	id, _ := w.window("killed", "deny", "wait", nil)
	run := w.Submit(w.script("killed", nil))
	w.Kill()
	w.Server = w.Again()
	if got := w.why(run.ID); got.Code != "window" || got.Object != id {
		w.t.Errorf("%+v", got)
	}
	w.Await(w.Submit(w.script("another", nil)).ID)
	w.want(http.StatusNoContent, w.Client, "DELETE", "/v1/windows/"+id, nil)
	if r := w.Await(run.ID); r.Status != "succeeded" {
		w.t.Errorf("%+v", r)
	}
}
