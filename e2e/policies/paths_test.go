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

// way is a path that makes a run of the label "split".
type way struct {
	source, path, action string
	body                 any
}

// ways prepares all paths but that of schedules. The runs to repeat are those of pinnedSplit.
func (w *fixture) ways(labels harness.Body) (list []way, trigger string) {
	w.t.Helper()
	template := w.made("/v1/templates", harness.Body{"name": "of paths", "tool": "bash", "command": "true",
		"labels": labels})
	workflow := w.made("/v1/templates", harness.Body{"name": "workflow", "labels": labels, "steps": []harness.Body{
		{"name": "a", "tool": "bash", "command": "true"}}})
	var hook struct {
		ID     string
		Path   string `json:"hook_path"`
		Secret string `json:"signing_secret"`
	}
	w.want(http.StatusCreated, w.Client, "POST", "/v1/triggers",
		harness.Body{"name": "of paths", "template_id": template}).JSON(w.t, &hook)
	w.hookSecret = hook.Secret
	w.model.Say(`{"tool": "bash", "command": "true", "labels": {"case": "split"}}`)
	run := "/v1/runs/" + w.ids["split"]
	return []way{
		{"api", "/v1/runs", "run.submit", w.script("split", nil)},
		{"api", "/v1/pipelines", "run.submit", harness.Body{"labels": labels, "steps": []harness.Body{
			{"name": "a", "tool": "bash", "command": "true"}}}},
		{"api", "/v1/pipelines", "run.submit", harness.Body{"steps": []harness.Body{ // its second step alone matches
			{"name": "a", "tool": "bash", "command": "true"}, {"name": "b", "template_id": template}}}},
		{"template", "/v1/templates/" + template + "/launch", "run.submit", harness.Body{}},
		{"template", "/v1/templates/" + workflow + "/launch", "run.submit", harness.Body{}},
		{"rerun", run + "/rerun", "run.rerun", nil},
		{"retry", run + "/retry", "run.retry", nil},
		{"relaunch", run + "/relaunch-failed", "run.relaunch", nil},
		{"trigger", hook.Path, "run.submit", push},
		{"proposal", "/v1/ai/propose-run", "run.submit", harness.Body{"request": "Do nothing."}},
		{"reconcile", "/v1/drift/reconcile", "run.reconcile", harness.Body{"host": w.drifting(labels)}},
	}, "/v1/triggers/" + hook.ID
}

// drifting has a dry run find drift, and returns the host that has it.
func (w *fixture) drifting(labels harness.Body) string {
	w.t.Helper()
	play := "- hosts: all\n  gather_facts: false\n  tasks:\n    - copy: {content: x, dest: '" + w.file("missing") + "'}\n"
	dry := w.approved("/v1/runs", harness.Body{"playbook": w.write("drift.yml", play), "dry_run": true, "limit": "a",
		"inventory_id": w.inventory("drift"), "labels": labels})
	if r := w.Await(dry); r.Status != "succeeded" {
		w.t.Fatalf("%s %s: %s", r.Status, r.Error, w.Log(dry))
	}
	harness.Eventually(w.t, time.Minute, "drift", func() bool {
		var p struct{ Total int }
		w.want(http.StatusOK, w.Client, "GET", "/v1/drift?host=a", nil).JSON(w.t, &p)
		return p.Total > 0
	})
	return "a"
}

// planning has a worker begin a dry run, and returns what reports its plan: the run that applies it is made by the
// server alone.
func (w *fixture) planning(labels harness.Body) (dry string, propose func(digest string) harness.Answer) {
	w.t.Helper()
	dry = w.approved("/v1/runs", harness.Body{"playbook": "plan.yml", "dry_run": true, "queue": "plans", "labels": labels})
	var claim struct {
		Run struct {
			ID     string
			Epoch  int64
			Worker string
		}
		Capability string
	}
	w.want(http.StatusOK, w.As(harness.WorkerToken), "POST", "/relay/v1/claim", harness.Body{
		"worker": harness.Body{"name": "planner", "executors": 1}, "queues": []string{"plans"}}).JSON(w.t, &claim)
	if claim.Run.ID != dry {
		w.t.Fatalf("claimed %s, want %s", claim.Run.ID, dry)
	}
	return dry, func(digest string) harness.Answer {
		return w.As(harness.WorkerToken).Do("POST", "/relay/v1/runs/"+dry+"/propose-apply", harness.Body{
			"summary": "one to add", "digest": digest, "findings": []harness.Body{{"resource": "a", "action": "create"}}},
			"Relay-Capability", claim.Capability)
	}
}

// lastError is why a trigger or a schedule made no run.
func (w *fixture) lastError(path string) string {
	w.t.Helper()
	var x struct {
		LastError string `json:"last_error"`
	}
	w.want(http.StatusOK, w.Client, "GET", path, nil).JSON(w.t, &x)
	return x.LastError
}

// take asks for a run by a path, as an operator.
func (w *fixture) take(p way) harness.Answer {
	w.t.Helper()
	if p.body == push {
		return w.As("").Do("POST", p.path, push, "X-GitHub-Event", "push", "X-GitHub-Delivery", "1",
			"X-Hub-Signature-256", sign(w.hookSecret, push))
	}
	return w.accounts["oto"].Do("POST", p.path, p.body)
}

// deniedWays tries each path while a policy or a window denies its run, and checks what the trail says.
func (w *fixture) deniedWays(ways []way, labels harness.Body, trigger, kind, text, lastError string) {
	w.t.Helper()
	dry, propose := w.planning(labels)
	var path, reason string
	if reason = "window_closed"; kind == "window" {
		path = "/v1/windows/" + w.closedForever("split")
	} else {
		reason, path = "policy_denied", "/v1/policies/"+w.policy("split", "deny", harness.Body{"message": text})
	}
	id := path[strings.LastIndexByte(path, '/')+1:]
	before := w.entries()[0].Seq
	noted := func(p way) {
		w.t.Helper()
		var denied []entry
		for _, e := range w.entries() {
			if e.Seq > before && e.Outcome == "denied" && e.Object.ID == id {
				denied = append(denied, e)
			}
		}
		if len(denied) != 1 || denied[0].Action != p.action || denied[0].Details[kind] != "split deny" ||
			denied[0].Details["reason"] != reason || denied[0].Details["source"] != p.source ||
			p.source != "trigger" && denied[0].Actor.Type != "user" {
			w.t.Errorf("%s: the trail has %+v", p.source, denied)
		}
		before = w.entries()[0].Seq
	}
	if a := propose("d"); a.Status != http.StatusOK || strings.Contains(string(a.Body), "run_0") {
		w.t.Errorf("a plan: %d %s", a.Status, a.Body)
	}
	noted(way{source: "plan", action: "run.plan"})
	var warned struct {
		Warnings []struct{ Code, Message string }
	}
	w.want(http.StatusOK, w.Client, "GET", "/v1/runs/"+dry, nil).JSON(w.t, &warned)
	if n := len(warned.Warnings); n == 0 || warned.Warnings[n-1].Code != "plan_not_held" ||
		!strings.Contains(warned.Warnings[n-1].Message, `"split deny"`) {
		w.t.Errorf("the dry run warns %+v", warned.Warnings)
	}
	for _, p := range ways {
		a := w.take(p)
		w.decided(a, http.StatusForbidden, reason)
		for _, text := range []string{`"` + kind + `":"split deny"`, `"` + kind + `_id":"` + id + `"`, text} {
			if !strings.Contains(string(a.Body), text) {
				w.t.Errorf("%s: %s lacks %s", p.path, a.Body, text)
			}
		}
		noted(p)
	}
	if got := w.lastError(trigger); got != lastError {
		w.t.Errorf("the trigger says %q", got)
	}
	w.want(http.StatusNoContent, w.Client, "DELETE", path, nil)
}

// paths asks for runs that a policy holds, on each path: while another policy denies them, while a window does, and
// neither does.
func (w *fixture) paths() {
	labels := harness.Body{"case": "split"}
	ways, trigger := w.ways(labels)
	made := func() (n int) {
		_, n = w.Runs("q=label:case=split&limit=1")
		return n
	}
	runs := made()
	w.deniedWays(ways, labels, trigger, "policy", "until Monday",
		`the policy "split deny" denies the run: until Monday`+advice)
	w.deniedWays(ways, labels, trigger, "window", "an administrator changes the window",
		`the window "split deny" keeps the run from starting now; an administrator changes the window`)
	if now := made(); now != runs+2 { // the dry runs with plans
		w.t.Errorf("%d runs were made", now-runs)
	}

	held := func(source string, a harness.Answer) {
		w.t.Helper()
		var out struct {
			ID    string
			RunID string `json:"run_id"`
		}
		if a.JSON(w.t, &out); a.Status >= http.StatusBadRequest {
			w.t.Fatalf("%s: %d %s", source, a.Status, a.Body)
		}
		h, _ := w.look(out.ID + out.RunID)
		if h.Status != "pending_approval" || h.Source != source || h.HeldBy.Name != "split require_approval" {
			w.t.Errorf("%s: %s from %s, held by %s", source, h.Status, h.Source, h.HeldBy.Name)
		}
		w.decided(w.decide("bob", "reject", h.ID), http.StatusOK, "")
	}
	_, propose := w.planning(labels)
	held("plan", propose("e"))
	for _, p := range ways {
		held(p.source, w.take(p)) // a refused delivery may be sent again
	}
	if got := w.lastError(trigger); got != "" {
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
