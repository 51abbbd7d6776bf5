package runs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// heldRun submits a run of ann that a policy holds. Dry runs pass.
func (b *bundle) heldRun() *runs.Run {
	b.t.Helper()
	b.policies.exempt = true
	b.policies.say(hold(runs.Hold{ID: "pol_1", Name: "one", Needed: 1}))
	s := script()
	s.Locks, s.ExclusiveHosts, s.Labels = []string{"db"}, true, map[string]string{"a": "b"}
	r, _, err := b.Submitter.Submit(account(b.t.Context(), "ann", identity.Operator), s)
	if err != nil || r.Status != runs.PendingApproval {
		b.t.Fatalf("%+v, %v", r, err)
	}
	return r
}

// TestPreview makes a dry run of a held run, shows its findings with the held run, and leaves that run's digest alone.
func TestPreview(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ann := account(t.Context(), "ann", identity.Operator)
		r := b.heldRun()
		digest := b.get(r.ID).Approvals.Current.Digest()
		if _, _, err := b.Controller.Preview(account(t.Context(), "oto", identity.Operator), r.ID); !access.NotAllowed.
			Is(err) {
			t.Errorf("by a stranger: %v", err)
		}
		p, again, err := b.Controller.Preview(ann, r.ID)
		if err != nil || again || p.ID == r.ID || !p.Spec.DryRun || p.Status != runs.Pending || p.Origin.RerunOf != r.ID ||
			len(p.Spec.Locks) != 0 || p.Spec.ExclusiveHosts || p.Labels["a"] != "b" || p.HeldBy() != nil {
			t.Fatalf("%+v, %v, %v", p, again, err)
		}
		same, again, err := b.Controller.Preview(admin(t.Context()), r.ID)
		if err != nil || !again || same.ID != p.ID {
			t.Errorf("while it has not ended: %v, %v", again, err)
		}
		now := b.get(r.ID)
		if now.Preview == nil || now.Preview.RunID != p.ID || now.Preview.Status != runs.Pending || now.Preview.Stale ||
			now.Preview.Digest != digest || now.Approvals.Current.Digest() != digest {
			t.Errorf("%+v", now.Preview)
		}
		a := b.claim()
		if a.Run.ID != p.ID || a.Run.Approvals.Binding() == nil {
			t.Fatalf("claimed %+v", a.Run)
		}
		b.begin(a)
		b.finish(a, runs.Ending{Status: runs.Succeeded, Touched: 3,
			Counts: runs.HostCounts{runs.HostChanged: 2, runs.HostFailed: 1},
			Hosts: []runs.HostSummary{{Host: "a", Changed: 1, Worst: runs.HostChanged}, {Host: "b", OK: 1, Worst: runs.HostOK},
				{Host: "c", Changed: 2, Failed: 1, Worst: runs.HostFailed}},
			Tasks: []runs.TaskSummary{{TaskID: "1", Play: "p", Task: "copy", Changed: 2, Hosts: 3},
				{Index: 1, TaskID: "2", Play: "p", Task: "look", OK: 3, Hosts: 3}}})
		want := &runs.Preview{PreviewOf: runs.PreviewOf{RunID: p.ID, Digest: digest}, Status: runs.Succeeded,
			Hosts:   runs.HostCounts{runs.HostChanged: 1, runs.HostOK: 1, runs.HostFailed: 1},
			Changes: 2, ChangedHosts: []string{"a", "c"}, Tasks: []runs.PreviewedTask{{Play: "p", Task: "copy", Hosts: 2}}}
		if diff := cmp.Diff(want, b.get(r.ID).Preview); diff != "" {
			t.Error(diff)
		}
		second, again, err := b.Controller.Preview(ann, r.ID)
		if err != nil || again || second.ID == p.ID {
			t.Errorf("after its end: %v, %v", again, err)
		}
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), r.ID, runs.DecisionInput{Digest: digest}))
		if got := b.get(r.ID); got.Preview.RunID != second.ID || got.Preview.Stale {
			t.Errorf("after the approval: %+v", got.Preview)
		}
		if _, _, err := b.Controller.Preview(ann, r.ID); !runs.RunNotHeld.Is(err) || len(runs.ReasonsOf(err)) != 1 {
			t.Errorf("of a run that is not held: %v", err)
		}
		b.happened(p.ID, audit.RunRerun, audit.RunStart, audit.RunFinal)
	})
}

// TestPoliciesOfPreviews checks that policies hold and deny a preview like any dry run.
func TestPoliciesOfPreviews(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		r := b.heldRun()
		b.policies.exempt = false
		b.policies.say(policy.Verdict{Denied: &policy.Rule{ID: "pol_9", Name: "freeze"}})
		if _, _, err := b.Controller.Preview(admin(t.Context()), r.ID); !policy.Denied.Is(err) {
			t.Errorf("denied: %v", err)
		}
		if b.get(r.ID).Preview != nil {
			t.Error("a denied preview is linked")
		}
		b.policies.say(hold(runs.Hold{ID: "pol_2", Name: "two", Needed: 1}))
		p, _, err := b.Controller.Preview(admin(t.Context()), r.ID)
		if err != nil || p.Status != runs.PendingApproval || p.HeldBy().ID != "pol_2" {
			t.Fatalf("held: %+v, %v", p, err)
		}
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), p.ID, runs.DecisionInput{}))
		if a := b.claim(); a.Run.ID != p.ID || a.Run.Approvals.Binding() == nil {
			t.Errorf("claimed %+v", a.Run)
		}
	})
}

// TestPreviewsRace makes one preview of one run, however many ask for it at once.
func TestPreviewsRace(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for range depthtest.Of(5, 50) {
			r := b.heldRun()
			var made [2]*runs.Run
			ask := func(i int) func() error {
				return func() (err error) {
					made[i], _, err = b.Controller.Preview(admin(t.Context()), r.ID)
					return err
				}
			}
			if one, two := both(ask(0), ask(1)); one != nil || two != nil || made[0].ID != made[1].ID {
				t.Fatalf("%v, %v: %v", one, two, made)
			}
			if a := b.run(runs.Succeeded); a.Run.ID != made[0].ID {
				t.Fatalf("claimed %s", a.Run.ID)
			}
			b.idle()
		}
	})
}
