package contract

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// state is a kind of run in one of its states, and the actions that it allows. Every other action is refused.
type state struct {
	kind, status string
	make         func(c harness.Client) harness.Run
	allowed      []string
}

// states are all kinds in all states that the kind can be in. The bodies of broken have hosts of which one fails.
func states(broken func() harness.Body) []state {
	submit := func(body harness.Body, then ...string) func(c harness.Client) harness.Run {
		return func(c harness.Client) harness.Run {
			path := "/v1/runs"
			if body["steps"] != nil {
				path = "/v1/pipelines"
			}
			var r harness.Run
			_ = json.Unmarshal(c.Do(http.MethodPost, path, body).Body, &r)
			for _, verb := range then {
				c.Do(http.MethodPost, "/v1/runs/"+r.ID+"/"+verb, nil)
			}
			return r
		}
	}
	held, queue := harness.Body{"require_approval": true}, harness.Body{"queue": "parked"}
	sleeps := bash("trap '' TERM; echo up; while true; do sleep 1; done")
	pipe := func(command string, more harness.Body) harness.Body {
		return merged(harness.Body{"steps": []harness.Body{merged(bash(command), harness.Body{"name": "a"})}}, more)
	}
	split := func(more harness.Body) harness.Body { return merged(merged(broken(), harness.Body{"shards": 2}), more) }
	waits, runs := []string{"cancel", "rerun"}, []string{"cancel", "rerun"}
	decides, over := []string{"approve", "cancel", "preview", "reject", "rerun"}, []string{"rerun"}
	return []state{
		{"single", "pending_approval", submit(merged(bash("true"), held)), decides},
		{"single", "pending", submit(merged(bash("true"), queue)), waits},
		{"single", "running", submit(sleeps), runs},
		{"single", "running", canceling(submit(sleeps)), runs}, // it was asked to end, and does not
		{"single", "succeeded", submit(bash("true")), over},
		{"single", "failed", submit(bash("false")), over},
		{"single", "failed", submit(broken()), []string{"relaunch-failed", "rerun"}},
		{"single", "canceled", submit(merged(bash("true"), queue), "cancel"), over},
		{"single", "rejected", submit(merged(bash("true"), held), "reject"), over},
		{"pipeline", "pending_approval", submit(pipe("true", held)), decides},
		{"pipeline", "running", submit(pipe("sleep 600", nil)), runs},
		{"pipeline", "succeeded", submit(pipe("true", nil)), over},
		{"pipeline", "failed", submit(pipe("false", nil)), over},
		{"pipeline", "canceled", submit(pipe("true", queue), "cancel"), over},
		{"pipeline", "rejected", submit(pipe("true", held), "reject"), over},
		{"split", "pending_approval", submit(split(held)), decides},
		{"split", "pending", submit(split(queue)), waits},
		{"split", "failed", submit(split(nil)), []string{"relaunch-failed", "rerun", "retry"}},
		{"split", "canceled", submit(split(queue), "cancel"), over},
		{"split", "rejected", submit(split(held), "reject"), over},
	}
}

// begun reports whether the tool of a run has printed something.
func begun(r harness.Run) bool { return r.LogBytes > 0 }

// canceling asks a run to end once its tool has begun.
func canceling(submit func(c harness.Client) harness.Run) func(c harness.Client) harness.Run {
	return func(c harness.Client) harness.Run {
		r := c.Until(submit(c).ID, time.Minute, begun)
		c.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil)
		return r
	}
}

// TestEveryActionInEveryState tries every action on every kind of run in every state: what the state allows is done,
// and everything else is a conflict that changes nothing. Every view of the run is answered in every state.
// Keeps T61.
func TestEveryActionInEveryState(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		o := harness.Options{DB: dbURL, Flags: []string{"--kill-grace", "10m"}}
		s := harness.Start(t, o)
		lost := s.Submit(bash("echo up; sleep 600"))
		s.Until(lost.ID, time.Minute, begun)
		s.Kill()
		s = s.Again()
		defer s.Kill() // it would wait for runs that do not end
		hosts, playbook := fleet(t, "a", "b"), file(t, "p.yml", quick())
		all := states(func() harness.Body {
			return harness.Body{"playbook": playbook, "inventory": hosts, "extra_vars": harness.Body{"broken": []string{"a",
				"b"}}}
		})
		all = append(all, state{"single", "interrupted", func(harness.Client) harness.Run { return lost }, []string{"rerun"}})
		if dbURL != "" && !depthtest.Long { // plays take long, and their runs move like all others
			all = slices.DeleteFunc(all, func(st state) bool { return slices.Contains(st.allowed, "relaunch-failed") })
		}
		made := make([]harness.Run, len(all))
		for i, st := range all {
			made[i] = st.make(s.Client)
		}
		for i, st := range all {
			made[i] = arrived(t, s, st, made[i])
			tryAll(t, s, st, made[i])
		}
		children(t, s, "step", made)
		children(t, s, "shard", made)
		s.Intact()
	})
}

// arrived waits until a run has reached its state.
func arrived(t *testing.T, s *harness.Server, st state, r harness.Run) harness.Run {
	t.Helper()
	r = s.Until(r.ID, time.Minute, func(r harness.Run) bool {
		return r.Status == st.status && (r.Status != "running" || r.Kind != "single" || begun(r))
	})
	if r.Kind != st.kind {
		t.Fatalf("%s is a %s, and a %s was meant", r.ID, r.Kind, st.kind)
	}
	return r
}

// actions are the actions on a run, with the status of their success.
func actions() map[string]int {
	return map[string]int{"approve": 200, "cancel": 200, "reject": 200, "relaunch-failed": 201, "rerun": 201, "retry": 201,
		"preview": 201}
}

// tryAll tries the actions on a run, and those that would end its state on another one like it.
func tryAll(t *testing.T, s *harness.Server, st state, r harness.Run) {
	t.Helper()
	for verb, success := range actions() {
		what := verb + " of a " + st.kind + " that is " + st.status
		if !slices.Contains(st.allowed, verb) {
			refused(t, what, s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/"+verb, nil), http.StatusConflict)
			if now := s.Get(r.ID); now.Status != r.Status || now.EventCount != r.EventCount {
				t.Errorf("%s made it %s with %d events after %d", what, now.Status, now.EventCount, r.EventCount)
			}
			continue
		}
		on := r
		if success == http.StatusOK {
			on = arrived(t, s, st, st.make(s.Client))
		}
		a := s.Do(http.MethodPost, "/v1/runs/"+on.ID+"/"+verb, nil)
		var got harness.Run
		if a.JSON(t, &got); a.Status != success || (got.ID == on.ID) != (success == http.StatusOK) {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
			continue
		}
		if success == http.StatusCreated || verb == "approve" {
			s.Do(http.MethodPost, "/v1/runs/"+got.ID+"/cancel", nil) // nobody waits for it
		}
		if success == http.StatusOK && !slices.Contains(after(verb), got.Status) {
			t.Errorf("%s made it %s", what, got.Status)
		}
	}
	for _, op := range operations(t, s.Client) {
		if op.Method == http.MethodGet && strings.HasPrefix(op.Path, "/v1/runs/{id}") && op.ID != "follow-run" {
			path := strings.Replace(op.Path, "{id}", r.ID, 1) + rows()[op.ID].query
			if a := s.Do(op.Method, path, nil); a.Status >= 500 {
				t.Errorf("%s of a %s that is %s: %d %s", op.ID, st.kind, st.status, a.Status, a.Body)
			}
		}
	}
}

// after lists the states in which an action may leave a run.
func after(verb string) []string {
	return map[string][]string{
		"approve": {"pending", "running", "succeeded", "failed"}, "reject": {"rejected"}, "cancel": {"canceled", "running"},
	}[verb]
}

// children tries the actions on the children of runs. A child that has not ended can be cancelled; it is decided about,
// retried and relaunched with its parent alone.
func children(t *testing.T, s *harness.Server, kind string, parents []harness.Run) {
	t.Helper()
	for _, p := range parents {
		if p.Kind != map[string]string{"step": "pipeline", "shard": "split"}[kind] {
			continue
		}
		list, _ := get(t, s.Client, "/v1/runs/"+p.ID+"/"+kind+"s")[kind+"s"].([]any)
		for _, x := range list {
			child, _ := x.(map[string]any)["id"].(string)
			r := s.Get(child)
			for _, verb := range []string{"approve", "preview", "reject", "retry"} {
				refused(t, verb+" of a "+kind+" that is "+r.Status, s.Do(http.MethodPost, "/v1/runs/"+child+"/"+verb, nil),
					http.StatusConflict)
			}
			if want := map[bool]int{true: 409, false: 200}[r.Ended()]; s.Do(http.MethodPost, "/v1/runs/"+child+"/cancel",
				nil).Status != want {
				t.Errorf("cancel of a %s that was %s is not %d", kind, r.Status, want)
			}
		}
	}
}
