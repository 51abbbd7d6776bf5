package scenarios

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// stubborn starts a tree that ignores TERM, with a double fork in a session of its own.
const stubborn = `trap '' TERM
(setsid bash -c 'trap "" TERM; echo pid=$BASHPID; while :; do sleep 1; done' &)
echo pid=$$
while :; do sleep 1; done`

// TestCancelKillsTheTree cancels a run whose processes ignore TERM and left its process group.
func TestCancelKillsTheTree(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--kill-grace", "1s"}})
		r := s.Submit(harness.Body{"tool": "bash", "command": stubborn})
		var tree []int
		harness.Eventually(t, 30*time.Second, "both processes run", func() bool {
			tree = harness.PIDs(t, r.ID, s.Log(r.ID), "pid=")
			return len(tree) == 2
		})
		if a := s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil); a.Status != 200 {
			t.Fatalf("cancel: %d %s", a.Status, a.Body)
		}
		if a := s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil); a.Status != 200 && a.Status != 409 {
			t.Errorf("cancel again: %d %s", a.Status, a.Body)
		}
		if r = s.Await(r.ID); r.Status != "canceled" {
			t.Errorf("ended as %s (%s)", r.Status, r.Error)
		}
		for _, p := range tree {
			harness.Eventually(t, 5*time.Second, fmt.Sprintf("process %d is gone", p), func() bool { return !harness.Alive(p) })
		}
		if a := s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil); a.Status != 409 {
			t.Errorf("cancel of an ended run: %d", a.Status)
		}
	})
}

// TestTimeout checks that a run which takes too long ends as failed, with the reason.
func TestTimeout(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--kill-grace", "1s"}})
	r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "sleep 60", "timeout": 1}).ID)
	if r.Status != "failed" || !strings.Contains(r.Error, "timeout") {
		t.Errorf("ended as %s: %q", r.Status, r.Error)
	}
	d := harness.Start(t, harness.Options{Flags: []string{"--kill-grace", "1s", "--run-timeout", "1s"}})
	if r := d.Await(d.Submit(harness.Body{"tool": "bash", "command": "sleep 60"}).ID); r.Status != "failed" {
		t.Errorf("by the server's default it ended as %s: %q", r.Status, r.Error)
	}
}

// TestHold holds runs, checks that they do not start, and approves and rejects them.
func TestHold(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		mark := filepath.Join(harness.Shared(t), "ran")
		body := harness.Body{"tool": "bash", "command": "touch " + mark, "require_approval": true}
		held := s.Submit(body)
		if held.Status != "pending_approval" {
			t.Fatalf("submitted as %s", held.Status)
		}
		if a := s.Do(http.MethodPost, "/v1/runs/"+held.ID+"/reject", harness.Body{"reason": "not today"}); a.Status != 200 {
			t.Fatalf("reject: %d %s", a.Status, a.Body)
		}
		if r := s.Get(held.ID); r.Status != "rejected" {
			t.Errorf("after reject: %s", r.Status)
		}
		for _, verb := range []string{"approve", "reject"} {
			if a := s.Do(http.MethodPost, "/v1/runs/"+held.ID+"/"+verb, nil); a.Status != 409 {
				t.Errorf("%s of a rejected run: %d", verb, a.Status)
			}
		}
		if _, err := os.Stat(mark); err == nil {
			t.Error("a rejected run ran")
		}
		second := s.Submit(body)
		if a := s.Do(http.MethodPost, "/v1/runs/"+second.ID+"/approve", nil); a.Status != 200 {
			t.Fatalf("approve: %d %s", a.Status, a.Body)
		}
		if r := s.Await(second.ID); r.Status != "succeeded" {
			t.Errorf("approved run: %s", r.Status)
		}
	})
}

// TestHoldsOfATemplate launches a workflow that holds itself and one of its steps, and tries a policy on what it did.
func TestHoldsOfATemplate(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	post := func(path string, body any, want int) (out struct {
		ID, Status    string
		Matched, Held int
	}) {
		t.Helper()
		a := s.Do(http.MethodPost, path, body)
		if a.Status != want {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		if want < 300 {
			a.JSON(t, &out)
		}
		return out
	}
	step := func(name, command string) harness.Body {
		return harness.Body{"name": name, "tool": "bash", "command": command}
	}
	gate := step("gate", "echo gate")
	gate["require_approval"] = true
	tpl := post("/v1/templates", harness.Body{"name": "flow", "require_approval": true,
		"steps": []any{step("first", "true"), gate, step("last", "true")}}, 201)
	launch := "/v1/templates/" + tpl.ID + "/launch"
	post(launch, harness.Body{"require_approval": false}, 400)
	p := post(launch, harness.Body{}, 201)
	if p.Status != "pending_approval" {
		t.Fatalf("launched as %s", p.Status)
	}
	post("/v1/runs/"+p.ID+"/approve", harness.Body{}, 200)
	var steps struct{ Steps []harness.Run }
	harness.Eventually(t, time.Minute, "the step to be held", func() bool {
		s.Do(http.MethodGet, "/v1/runs/"+p.ID+"/steps", nil).JSON(t, &steps)
		return len(steps.Steps) == 2 && steps.Steps[1].Status == "pending_approval"
	})
	why := s.Do(http.MethodGet, "/v1/runs/"+p.ID+"/why", nil)
	if !strings.Contains(string(why.Body), steps.Steps[1].ID) {
		t.Errorf("why: %s", why.Body)
	}
	post("/v1/runs/"+steps.Steps[1].ID+"/approve", harness.Body{"reason": "go"}, 200)
	if r := s.Await(p.ID); r.Status != "succeeded" {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
	match := harness.Body{"template_ids": []string{tpl.ID}, "command_contains": "echo gate"}
	draft := harness.Body{"name": "a", "effect": "require_approval", "match": match}
	if got := post("/v1/policies/simulate", harness.Body{"policy": draft}, 200); got.Matched != 1 || got.Held != 1 {
		t.Errorf("%+v", got)
	}
}

// TestIdempotency sends one request many times concurrently: one run exists.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		body := harness.Body{"tool": "bash", "command": "echo once"}
		type result struct {
			id     string
			status int
		}
		results := make(chan result, 20)
		for range cap(results) {
			go func() {
				a := s.Do(http.MethodPost, "/v1/runs", body, "Idempotency-Key", "deploy-1")
				var r harness.Run
				a.JSON(t, &r)
				results <- result{r.ID, a.Status}
			}()
		}
		ids := map[string]bool{}
		for range cap(results) {
			r := <-results
			ids[r.id] = true
			if r.status != 201 {
				t.Errorf("status %d", r.status)
			}
		}
		if len(ids) != 1 {
			t.Errorf("%d runs were made: %v", len(ids), ids)
		}
		if a := s.Do(http.MethodPost, "/v1/runs", body, "Idempotency-Key",
			"deploy-1"); a.Header.Get("Idempotent-Replay") != "true" {
			t.Error("a replay does not say so")
		}
		if a := s.Do(http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "echo other"}, "Idempotency-Key",
			"deploy-1"); a.Status != 409 {
			t.Errorf("the key with another body: %d", a.Status)
		}
	})
}

// TestPipeline runs steps as a graph with outputs, a failure, skipped dependents and a continued one.
func TestPipeline(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		step := func(name, command string, more ...harness.Body) harness.Body {
			b := harness.Body{"name": name, "tool": "bash", "command": command}
			for _, m := range more {
				for k, v := range m {
					b[k] = v
				}
			}
			return b
		}
		submit := func(steps ...harness.Body) harness.Run {
			a := s.Do(http.MethodPost, "/v1/pipelines", harness.Body{"name": "p", "steps": steps})
			if a.Status != 201 {
				t.Fatalf("submit: %d %s", a.Status, a.Body)
			}
			var r harness.Run
			a.JSON(t, &r)
			return s.Await(r.ID)
		}
		r := submit(step("build", `echo '{"version":"1.2.3"}' > $WRIT_OUTPUTS`),
			step("ship", "echo shipping $WRIT_VAR_VERSION"))
		if r.Status != "succeeded" || len(r.Steps) != 2 {
			t.Fatalf("in order: %+v", r)
		}
		if log := s.Log(r.Steps[1].RunID); log != "shipping 1.2.3\n" {
			t.Errorf("the second step said %q", log)
		}
		r = submit(step("a", "true"), step("b", "exit 3", harness.Body{"depends_on": []string{"a"}}),
			step("c", "true", harness.Body{"depends_on": []string{"b"}}),
			step("d", "true", harness.Body{"depends_on": []string{"a"}}))
		got := map[string]string{}
		for _, st := range r.Steps {
			got[st.Name] = st.Status
		}
		if r.Status != "failed" || got["a"] != "succeeded" || got["b"] != "failed" || got["c"] != "skipped" ||
			got["d"] != "succeeded" {
			t.Errorf("graph: %s %v", r.Status, got)
		}
		r = submit(step("x", "exit 1", harness.Body{"continue_on_failure": true, "retries": 1}), step("y", "true"))
		if r.Status != "succeeded" || !r.Warned("step_failed_continued") {
			t.Errorf("continued: %s %v", r.Status, r.Warnings)
		}
		var steps struct {
			Steps []harness.Run `json:"steps"`
		}
		s.Do(http.MethodGet, "/v1/runs/"+r.ID+"/steps", nil).JSON(t, &steps)
		if len(steps.Steps) != 3 {
			t.Errorf("a retried step and its successor are %d runs", len(steps.Steps))
		}
	})
}
