package policies

import (
	"net/http"
	"strings"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

const push = `{"ref": "refs/heads/main", "after": "0123456789012345678901234567890123456789", "deleted": false,
	"repository": {"full_name": "acme/site"}, "pusher": {"name": "ada"},
	"head_commit": {"id": "0123456789012345678901234567890123456789"}}`

// advice ends the reason why a schedule or a trigger made no run.
const advice = "; change the request so that the policy does not match it, or ask who manages policies"

// paths asks for runs that a policy holds, on each path: while another policy denies them, while a window does, and
// neither does. The runs to repeat are those of pinnedSplit.
func (w *fixture) paths() {
	const label = "split"
	labels := harness.Body{"case": label}
	template := w.made("/v1/templates", harness.Body{"name": "of paths", "tool": "bash", "command": "true",
		"labels": labels})
	workflow := w.made("/v1/templates", harness.Body{"name": "workflow", "labels": labels, "steps": []harness.Body{
		{"name": "a", "tool": "bash", "command": "true"}}})
	var trigger struct {
		ID, Path, Secret string
	}
	a := w.want(http.StatusCreated, w.Client, "POST", "/v1/triggers",
		harness.Body{"name": "of paths", "template_id": template})
	a.JSON(w.t, &struct {
		ID     *string
		Path   *string `json:"hook_path"`
		Secret *string `json:"signing_secret"`
	}{&trigger.ID, &trigger.Path, &trigger.Secret})
	lastError := func() string {
		var x struct {
			LastError string `json:"last_error"`
		}
		w.want(http.StatusOK, w.Client, "GET", "/v1/triggers/"+trigger.ID, nil).JSON(w.t, &x)
		return x.LastError
	}
	run := "/v1/runs/" + w.ids["split"]
	paths := []struct {
		source, path, action string
		body                 any
	}{
		{"api", "/v1/runs", "run.submit", w.script(label, nil)},
		{"api", "/v1/pipelines", "run.submit", harness.Body{"labels": labels, "steps": []harness.Body{
			{"name": "a", "tool": "bash", "command": "true"}}}},
		{"template", "/v1/templates/" + template + "/launch", "run.submit", harness.Body{}},
		{"template", "/v1/templates/" + workflow + "/launch", "run.submit", harness.Body{}},
		{"rerun", run + "/rerun", "run.rerun", nil},
		{"retry", run + "/retry", "run.retry", nil},
		{"relaunch", run + "/relaunch-failed", "run.relaunch", nil},
		{"trigger", trigger.Path, "run.submit", push},
	}
	made := func() (n int) {
		_, n = w.Runs("q=label:case=" + label + "&limit=1")
		return n
	}
	runs := made()
	ask := func(path string, body any) harness.Answer {
		if body == push {
			return w.As("").Do("POST", path, body, "X-GitHub-Event", "push", "X-GitHub-Delivery", "1",
				"X-Hub-Signature-256", sign(trigger.Secret, push))
		}
		return w.accounts["oto"].Do("POST", path, body)
	}
	for _, by := range []struct {
		kind, path, reason, text, lastError string
	}{
		{"policy", "/v1/policies/" + w.policy(label, "deny", harness.Body{"message": "until Monday"}), "policy_denied",
			"until Monday", `the policy "split deny" denies the run: until Monday` + advice},
		{"window", "/v1/windows/" + w.closedForever(label), "window_closed", "an administrator changes the window",
			`the window "split deny" keeps the run from starting now; an administrator changes the window`},
	} {
		id := by.path[strings.LastIndexByte(by.path, '/')+1:]
		for _, p := range paths {
			before := w.entries()[0].Seq
			a := ask(p.path, p.body)
			w.decided(a, http.StatusForbidden, by.reason)
			for _, text := range []string{`"` + by.kind + `":"split deny"`, `"` + by.kind + `_id":"` + id + `"`, by.text} {
				if !strings.Contains(string(a.Body), text) {
					w.t.Errorf("%s: %s lacks %s", p.path, a.Body, text)
				}
			}
			var denied []entry
			for _, e := range w.entries() {
				if e.Seq > before && e.Outcome == "denied" && e.Object.ID == id {
					denied = append(denied, e)
				}
			}
			if len(denied) != 1 || denied[0].Action != p.action || denied[0].Details[by.kind] != "split deny" ||
				denied[0].Details["reason"] != by.reason || denied[0].Details["source"] != p.source {
				w.t.Errorf("%s: the trail has %+v", p.path, denied)
			}
		}
		if now := made(); now != runs {
			w.t.Errorf("%d runs were made", now-runs)
		}
		if got := lastError(); got != by.lastError {
			w.t.Errorf("the trigger says %q", got)
		}
		w.want(http.StatusNoContent, w.Client, "DELETE", by.path, nil)
	}

	for _, p := range paths {
		a := ask(p.path, p.body) // a refused delivery may be sent again
		var out struct {
			ID    string
			RunID string `json:"run_id"`
		}
		if a.JSON(w.t, &out); a.Status != http.StatusCreated && a.Status != http.StatusAccepted {
			w.t.Fatalf("%s: %d %s", p.path, a.Status, a.Body)
		}
		h, _ := w.look(out.ID + out.RunID)
		if h.Status != "pending_approval" || h.Source != p.source || h.HeldBy.Name != "split require_approval" {
			w.t.Errorf("%s: %s from %s", p.path, h.Status, h.Source)
		}
		w.decided(w.decide("bob", "reject", h.ID), http.StatusOK, "")
	}
	if got := lastError(); got != "" {
		w.t.Errorf("after a delivery that made a run the trigger says %q", got)
	}
}

// slot has schedules of the next minute: a policy denies the runs of one, a window those of another, and a policy holds
// those of the third.
type slot struct{ denied, closed, held, policy string }

func (w *fixture) scheduled() {
	w.t.Helper()
	make := func(name, effect string) (schedule, policy string) {
		template := w.made("/v1/templates", harness.Body{"name": name, "tool": "bash", "command": "touch " + w.file(name)})
		policy = w.policy(name, effect, harness.Body{"message": "not at night", "match": harness.Body{
			"template_ids": []string{template}, "sources": []string{"schedule"}}})
		return w.made("/v1/schedules", harness.Body{"name": name, "cron": "* * * * *", "template_id": template}), policy
	}
	w.slot = &slot{}
	w.slot.denied, w.slot.policy = make("slot denied", "deny")
	w.slot.held, _ = make("slot held", "require_approval")
	closed := w.made("/v1/templates", harness.Body{"name": "slot closed", "tool": "bash",
		"command": "touch " + w.file("slot closed"), "labels": harness.Body{"case": "slot closed"}})
	w.closedForever("slot closed")
	w.slot.closed = w.made("/v1/schedules", harness.Body{"name": "slot closed", "cron": "* * * * *",
		"template_id": closed})
}

// afterTheSlot waits until the schedules have fired.
func (w *fixture) afterTheSlot() {
	type schedule struct {
		LastError string `json:"last_error"`
		LastRun   string `json:"last_run_id"`
	}
	read := func(id string) (s schedule) {
		w.want(http.StatusOK, w.Client, "GET", "/v1/schedules/"+id, nil).JSON(w.t, &s)
		return s
	}
	harness.Eventually(w.t, 3*time.Minute, "the schedules fire", func() bool {
		return read(w.slot.denied).LastError != "" && read(w.slot.closed).LastError != "" && read(w.slot.held).LastRun != ""
	})
	if s := read(w.slot.closed); s.LastRun != "" || w.exists("slot closed") ||
		s.LastError != `the window "slot closed deny" keeps the run from starting now; an administrator changes the window` {
		w.t.Errorf("%+v", s)
	}
	if s := read(w.slot.denied); s.LastRun != "" ||
		s.LastError != `the policy "slot denied deny" denies the run: not at night`+advice {
		w.t.Errorf("%+v", s)
	}
	h, _ := w.look(read(w.slot.held).LastRun)
	if h.Status != "pending_approval" || h.Source != "schedule" || w.exists("slot held") || w.exists("slot denied") {
		w.t.Errorf("%s from %s", h.Status, h.Source)
	}
	minutes := map[string]int{}
	for _, e := range w.about(w.slot.policy) {
		if e.Outcome == "denied" {
			minutes[e.At.Format("15:04")]++
			if e.Action != "run.submit" || e.Details["source"] != "schedule" || e.Actor.Name != "slot denied" {
				w.t.Errorf("%+v", e)
			}
		}
	}
	for minute, n := range minutes {
		if n != 1 {
			w.t.Errorf("the slot of %s has %d entries", minute, n)
		}
	}
	if len(minutes) == 0 {
		w.t.Error("the trail has no entry of a slot")
	}
}
