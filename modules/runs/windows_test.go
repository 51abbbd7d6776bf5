package runs_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// TestRequestsOutsideOfWindows checks that a request outside of a window that denies makes no run, takes no key and
// leaves one entry, also if a policy would hold the run.
func TestRequestsOutsideOfWindows(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := script()
		s.Idempotency = &runs.Idempotency{Key: "k", Scope: "submit"}
		v := hold(runs.Hold{Name: "one", Needed: 1})
		v.Timing = policy.Timing{Closed: &policy.WindowRule{ID: "win_9", Name: "freeze", Outside: policy.OutsideDeny},
			Opens: time.Date(2026, 12, 27, 0, 0, 0, 0, time.FixedZone("", 3600))}
		b.policies.say(v)
		n := b.trail.size()
		_, _, err := b.Submitter.Submit(t.Context(), s)
		if !policy.WindowClosed.Is(err) || err.Error() != `the window "freeze" keeps the run from starting now; it may start `+
			`at 2026-12-26T23:00:00Z` {
			t.Fatalf("%v", err)
		}
		entries := b.trail.since(n)
		if len(entries) != 1 || entries[0].Action != audit.RunSubmit || entries[0].Outcome != audit.Denied ||
			entries[0].Object.ID != "win_9" || entries[0].Detail["window"] != "freeze" ||
			entries[0].Detail["reason"] != "window_closed" {
			t.Errorf("%+v", entries)
		}
		list, err := b.Reader.List(t.Context(), runs.Filter{Limit: 1})
		if err != nil || len(list.Runs) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		b.policies.say(policy.Verdict{})
		if _, replayed, err := b.Submitter.Submit(t.Context(), s); err != nil || replayed {
			t.Errorf("the key of a denied request: replayed %v, %v", replayed, err)
		}
	})
}

// shut is a window that is closed until a time.
func shut(until time.Time, version int64) policy.Verdict {
	return policy.Verdict{Timing: policy.Timing{Closed: &policy.WindowRule{ID: "win_1", Name: "freeze",
		Outside: policy.OutsideWait}, Opens: until, Again: until, Version: version}}
}

// open is a window that is open until a time.
func open(until time.Time, version int64) policy.Verdict {
	return policy.Verdict{Timing: policy.Timing{Again: until, Version: version}}
}

func inAnHour() time.Time { return time.Now().Add(time.Hour).Truncate(time.Second) }

// windows says what the windows say from now on, and that they were changed.
func (b *bundle) windows(v policy.Verdict) {
	b.t.Helper()
	b.policies.say(v)
	must[any](b.t)(nil, b.d.Do(b.t.Context(), func(ctx context.Context) error {
		return b.d.Signals().Signal(ctx, events.TopicWindow, "")
	}))
}

func (b *bundle) why(id string) runs.Reason {
	b.t.Helper()
	e := must[*runs.Explanation](b.t)(b.Insight.Why(b.t.Context(), id))
	return e.Reasons[0]
}

// TestRunsWaitForWindows checks that a run waits for its window, says so, and starts when it opens: by itself, or
// because the window was changed. A plain run that waits is bound by a new window.
func TestRunsWaitForWindows(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		until := inAnHour()
		b.policies.say(shut(until, 1))
		r := b.submit(script())
		w := b.why(r.ID)
		if r.Status != runs.Pending || w.Code != "window" || w.Object != "win_1" ||
			w.Text != `the window "freeze" keeps the run from starting` || !w.Since.Equal(r.CreatedAt) ||
			!strings.HasPrefix(w.Next, "the run may start in ") ||
			!strings.Contains(w.Next, ", at "+until.UTC().Format(time.RFC3339)) {
			t.Errorf("%s %+v", r.Status, w)
		}
		b.idle()
		b.background()
		b.windows(open(until, 2))
		b.eventually("it waits for an executor", func() bool { return b.why(r.ID).Code == "waiting_for_executor" })
		b.finish(b.claim(), runs.Ending{Status: runs.Succeeded})

		b.windows(policy.Verdict{})
		plain, p := b.submit(script()), b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{
			{Name: "a", Tool: "bash", Command: "true"}, {Name: "b", Tool: "bash", Command: "true", DependsOn: []string{"a"}}}})
		b.windows(shut(time.Now().Add(300*time.Millisecond), 3))
		for _, id := range []string{plain.ID, p.ID, b.children(p.ID)[0].ID} {
			b.eventually("the new window binds "+id, func() bool { return b.why(id).Code == "window" })
		}
		b.idle()
		b.policies.say(open(until, 3))
		b.eventually("it opens by itself", func() bool { return b.why(plain.ID).Code != "window" })
		b.eventually("the pipeline too", func() bool { return b.why(p.ID).Code != "window" })
		for range 2 {
			b.finish(b.claim(), runs.Ending{Status: runs.Succeeded})
		}
		b.windows(shut(until, 4)) // later steps are not bound
		b.finish(b.claim(), runs.Ending{Status: runs.Succeeded})
		b.status(p.ID, runs.Succeeded)
	})
}

// TestApprovedOutsideOfWindows checks that a held run is bound by the windows of its approval, also by ones that deny
// requests, and that a change of windows meanwhile has it asked again.
func TestApprovedOutsideOfWindows(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		until := inAnHour()
		v := hold(runs.Hold{Name: "one", Needed: 1})
		v.Timing = shut(until, 1).Timing
		b.policies.say(v)
		r, over := b.submit(script()), b.submit(script())
		deny := shut(until, 1)
		deny.Timing.Closed.Outside = policy.OutsideDeny
		changed := policy.PoliciesChanged.New("changed")
		b.policies.say(deny, changed, changed)
		root := admin(t.Context())
		if got := must[*runs.Run](t)(b.Approver.Approve(root, r.ID, runs.DecisionInput{})); got.Status != runs.Pending {
			t.Errorf("%s", got.Status)
		}
		if w := b.why(r.ID); w.Code != "window" {
			t.Errorf("%+v", w)
		}
		b.idle()
		must[*runs.Run](t)(b.Approver.Approve(root, over.ID, runs.DecisionInput{OverrideWindows: true}))
		if a := b.claim(); a.Run.ID != over.ID {
			t.Errorf("claimed %s", a.Run.ID)
		}
		b.idle()
		b.policies.say(hold(runs.Hold{Name: "one", Needed: 1}))
		last := b.submit(script())
		b.policies.say(deny, changed, changed, changed, changed, changed)
		if _, err := b.Approver.Approve(root, last.ID, runs.DecisionInput{}); !policy.PoliciesChanged.Is(err) {
			t.Errorf("windows that keep changing: %v", err)
		}
		b.status(last.ID, runs.PendingApproval)
	})
}

// TestOverrides lets administrators alone pass windows, and only those of a run that waits for one.
func TestOverrides(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.policies.say(shut(inAnHour(), 1))
		r := b.submit(script())
		p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{{Name: "a", Tool: "bash", Command: "true"}}})
		in := runs.DecisionInput{OverrideWindows: true, Reason: "urgent"}
		for name, ctx := range map[string]context.Context{"nobody": t.Context(),
			"an operator": account(t.Context(), "ann", identity.Operator)} {
			_, err := b.Approver.Approve(ctx, r.ID, in)
			if !access.NotAllowed.Is(err) {
				t.Errorf("%s: %v", name, err)
			}
			explained(t, err)
		}
		root := actor.With(admin(t.Context()), actor.Actor{Type: actor.User, ID: "root", Name: "root"})
		if _, err := b.Approver.Approve(root, r.ID, runs.DecisionInput{}); !runs.RunNotHeld.Is(err) {
			t.Errorf("without the override: %v", err)
		}
		step := b.children(p.ID)[0].ID
		_, err := b.Approver.Approve(root, step, in)
		if !runs.RunNotHeld.Is(err) {
			t.Errorf("a step: %v", err)
		}
		explained(t, err)
		b.idle()
		n := b.trail.size()
		got := must[*runs.Run](t)(b.Approver.Approve(root, r.ID, in))
		if d := got.Decision; d == nil || d.By.ID != "root" || d.Reason != "urgent" || d.Verdict != runs.Approved {
			t.Errorf("%+v", d)
		}
		entries := b.trail.since(n)
		if len(entries) != 1 || entries[0].Action != audit.RunApprove || entries[0].Detail["window"] != "freeze" ||
			entries[0].Detail["override_windows"] != true {
			t.Errorf("%+v", entries)
		}
		if _, err := b.Approver.Approve(root, r.ID, in); !runs.RunNotHeld.Is(err) {
			t.Errorf("again: %v", err)
		}
		if a := b.claim(); a.Run.ID != r.ID {
			t.Errorf("claimed %s", a.Run.ID)
		}
		if _, err := b.Approver.Approve(root, r.ID, in); !runs.RunNotHeld.Is(err) {
			t.Errorf("a run that runs: %v", err)
		}
		must[*runs.Run](t)(b.Approver.Approve(root, p.ID, in))
		if a := b.claim(); a.Run.ID != step {
			t.Errorf("claimed %s", a.Run.ID)
		}
	})
}

// TestServersShareWindows has the workers of two servers open and close the windows of the same runs while these are
// overridden and claimed. Each is claimed once, and none is forgotten.
func TestServersShareWindows(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		until := inAnHour()
		other := setup(t, b.d, module.Config{})
		both := func(v policy.Verdict) {
			b.windows(v)
			other.windows(v)
		}
		both(shut(until, 1))
		want := map[string]bool{}
		for range depthtest.Of(15, 100) {
			want[b.submit(script()).ID] = true
		}
		b.background()
		other.background()
		ids := slices.Sorted(maps.Keys(want))
		root := admin(t.Context())
		txtest.Together(3, func(i int) {
			switch i {
			case 0:
				for n := range depthtest.Of(20, 100) {
					v := shut(until, int64(n+2))
					if n%2 == 0 {
						v = open(until, int64(n+2))
					}
					both(v)
				}
			case 1:
				for _, id := range ids[:len(ids)/3] {
					_, err := b.Approver.Approve(root, id, runs.DecisionInput{OverrideWindows: true})
					if err != nil && !runs.RunNotHeld.Is(err) {
						t.Errorf("override: %v", err)
					}
				}
			default:
				for range len(ids) / 2 {
					a, err := other.Worklist.Claim(t.Context(), runs.ClaimRequest{Worker: "other"})
					if err != nil {
						t.Errorf("claim: %v", err)
					}
					if a != nil && !want[a.Run.ID] {
						t.Errorf("%s was claimed twice", a.Run.ID)
					} else if a != nil {
						delete(want, a.Run.ID)
					}
				}
			}
		})
		both(open(until, 1000))
		b.eventually("all are claimed", func() bool {
			a := must[*runs.Assignment](t)(b.Worklist.Claim(t.Context(), runs.ClaimRequest{Worker: "w"}))
			if a != nil {
				if !want[a.Run.ID] {
					t.Fatalf("%s was claimed twice", a.Run.ID)
				}
				delete(want, a.Run.ID)
			}
			return len(want) == 0
		})
	})
}
