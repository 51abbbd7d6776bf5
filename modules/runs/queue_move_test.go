package runs_test

import (
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

func TestARunMovesToAnotherQueue(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(script())
		woken, stop := b.d.Signals().Watch(events.TopicQueue)
		defer stop()
		if _, err := b.Controller.SetQueue(t.Context(), r.ID, "dmz", r.Revision+7); !access.RevisionChanged.Is(err) {
			t.Errorf("for another revision: %v", err)
		}
		moved := must[*runs.Run](t)(b.Controller.SetQueue(t.Context(), r.ID, "dmz", b.get(r.ID).Revision))
		if moved.Spec.Queue != "dmz" || moved.Status != runs.Pending {
			t.Errorf("%s in %q", moved.Status, moved.Spec.Queue)
		}
		e := b.trail.of(r.ID)
		last := e[len(e)-1]
		if last.Action != audit.RunQueue || last.Detail["queue"] != "dmz" || last.Detail["former_queue"] != "default" {
			t.Errorf("the entry is %+v", last)
		}
		found := false
		b.eventually("the executors of the queue are woken", func() bool {
			select {
			case queue := <-woken:
				found = found || queue == "dmz" || queue == ""
			default:
			}
			return found
		})
		b.idle()
		a := must[*runs.Assignment](t)(b.Worklist.Claim(t.Context(), runs.ClaimRequest{Worker: "w", Queues: []string{"dmz"}}))
		if a == nil || a.Run.ID != r.ID {
			t.Fatalf("claimed %+v", a)
		}
		if _, err := b.Controller.SetQueue(t.Context(), r.ID, "default", 0); !runs.RunStateChanged.Is(err) {
			t.Errorf("a running one: %v", err)
		}
	})
}

func TestRunsThatDoNotMove(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.submit(script())
		refuse := func(what, id, queue string, code fault.Code) {
			t.Helper()
			before := len(b.trail.of(id))
			_, err := b.Controller.SetQueue(t.Context(), id, queue, 0)
			if !code.Is(err) {
				t.Errorf("%s: %v, want %s", what, err, code.Name)
			}
			if code.Kind == fault.Conflict {
				explained(t, err)
			}
			if len(b.trail.of(id)) != before {
				t.Errorf("%s has an entry", what)
			}
		}
		for _, queue := range []string{"", "a b", "-x", "a\x00"} {
			if _, err := b.Controller.SetQueue(t.Context(), r.ID, queue, 0); !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", queue, err)
			}
		}
		refuse("an unknown run", "run_nobody", "dmz", runs.RunNotFound)
		b.policies.mu.Lock()
		b.policies.verdict = policy.Verdict{Holds: []runs.Hold{{Name: "strict", Needed: 1}}}
		b.policies.mu.Unlock()
		refuse("what a policy would hold", r.ID, "dmz", runs.RunNotMovable)
		p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{stage("a")}})
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), p.ID, runs.DecisionInput{}))
		refuse("a pipeline", p.ID, "dmz", runs.RunNotMovable)
		approved := b.submit(script())
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), approved.ID, runs.DecisionInput{}))
		refuse("an approved run", approved.ID, "dmz", runs.RunNotMovable)
		held := b.submit(script())
		refuse("a held run", held.ID, "dmz", runs.RunStateChanged)
		b.policies.mu.Lock()
		b.policies.verdict = policy.Verdict{Denied: &policy.Rule{ID: "pol_1", Name: "never"}}
		b.policies.mu.Unlock()
		refuse("what a policy denies", r.ID, "dmz", policy.Denied)
		b.policies.mu.Lock()
		b.policies.verdict = policy.Verdict{}
		b.policies.fails = []error{policy.PoliciesChanged.New("changed")}
		b.policies.mu.Unlock()
		must[*runs.Run](t)(b.Controller.SetQueue(t.Context(), r.ID, "dmz", 0)) // asked again
		b.policies.mu.Lock()
		b.policies.verdict.Timing = policy.Timing{Closed: &policy.WindowRule{ID: "win_1", Name: "freeze"},
			Opens: time.Now().Add(time.Hour)}
		b.policies.mu.Unlock()
		must[*runs.Run](t)(b.Controller.SetQueue(t.Context(), r.ID, "default", 0))
		for _, id := range []string{p.ID, approved.ID} {
			must[*runs.Run](t)(b.Controller.Cancel(t.Context(), id))
		}
		b.idle()
	})
}

func TestAMoveNeedsBothQueues(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, l *ledger) {
		r := b.submit(script())
		as := actor.With(t.Context(), actor.Actor{Type: actor.User, ID: "ann"})
		for _, c := range []struct {
			from, to access.Level
			code     fault.Code
		}{
			{access.Use, access.Read, runs.UseRequired}, {access.Use, "", runs.QueueNotFound},
			{access.Read, access.Use, runs.UseRequired}, {"", access.Use, runs.RunNotFound},
		} {
			for queue, level := range map[string]access.Level{"default": c.from, "dmz": c.to} {
				if err := l.restrict(t.Context(), access.Queue(queue), map[string]access.Level{"ann": level}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.Controller.SetQueue(as, r.ID, "dmz", 0); !c.code.Is(err) {
				t.Errorf("%q to %q: %v, want %s", c.from, c.to, err, c.code.Name)
			}
		}
		for _, queue := range []string{"default", "dmz"} {
			if err := l.restrict(t.Context(), access.Queue(queue), map[string]access.Level{"ann": access.Use}); err != nil {
				t.Fatal(err)
			}
		}
		must[*runs.Run](t)(b.Controller.SetQueue(as, r.ID, "dmz", 0))
		if got := must[*runs.Run](t)(b.Reader.Get(t.Context(), r.ID)); !slices.Equal(got.Objects,
			[]string{access.Queue("dmz")}) {
			t.Errorf("objects %v", got.Objects)
		}
	})
}
