package runs_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/waittest"
)

func heldStage(name string, after ...string) runs.StepSpec {
	s := stage(name, after...)
	s.RequireApproval = true
	return s
}

// child returns the newest run of a step.
func (b *bundle) child(p *runs.Run, step string) *runs.Run {
	b.t.Helper()
	list := b.children(p.ID)
	for _, k := range slices.Backward(list) {
		if k.StepName == step {
			return k
		}
	}
	b.t.Fatalf("no run of the step %q", step)
	return nil
}

func (b *bundle) held() (out []string) {
	b.heard.mu.Lock()
	defer b.heard.mu.Unlock()
	for _, e := range b.heard.all {
		if h, ok := e.(runs.Held); ok {
			out = append(out, h.RunID)
		}
	}
	return out
}

// TestAStepIsHeld holds a step when it is due, goes on with the steps that do not depend on it, and releases it once it
// is approved.
func TestAStepIsHeld(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		p := b.pipeline(runs.PipelineSubmission{
			Notifications: []runs.Notification{{Kind: "webhook", URL: "https://hooks.example.org/x"}},
			Steps:         []runs.StepSpec{heldStage("gate"), stage("after", "gate"), stage("beside", "early"), stage("early")},
		})
		k := b.child(p, "gate")
		if k.Status != runs.PendingApproval || k.HeldBy() == nil || k.HeldBy().Name != runs.RequestedApproval ||
			!k.QueuedAt.IsZero() || len(k.Spec.Notifications) != 1 || !k.Spec.RequireApproval {
			t.Errorf("%s, %+v", k.Status, k)
		}
		if got := b.held(); !slices.Equal(got, []string{k.ID}) {
			t.Errorf("held %v", got)
		}
		if r := b.get(p.ID); r.Graph.Step("gate").Status != runs.PendingApproval || r.Graph.Step("gate").RunID != k.ID {
			t.Errorf("%+v", r.Graph)
		}
		why := must[*runs.Explanation](t)(b.Insight.Why(t.Context(), p.ID))
		if !slices.ContainsFunc(why.Reasons, func(r runs.Reason) bool {
			return r.Code == "held_for_approval" && r.Object == k.ID && strings.HasPrefix(r.Text, `step "gate": `)
		}) {
			t.Errorf("%+v", why.Reasons)
		}
		b.run(runs.Succeeded) // early
		b.run(runs.Succeeded) // beside
		b.idle()
		b.status(p.ID, runs.Running)
		_, err := b.Approver.Approve(admin(t.Context()), k.ID, runs.DecisionInput{Digest: "other"})
		if !runs.ApprovalStale.Is(err) {
			t.Errorf("another digest: %v", err)
		}
		current := b.get(k.ID).Approvals
		if current.Current.Digest() == "" || len(current.Parts.Changed(current.Current)) > 0 {
			t.Errorf("%+v", current)
		}
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), k.ID, runs.DecisionInput{Digest: current.Current.Digest()}))
		if r := b.get(p.ID); r.Graph.Step("gate").Status != runs.Pending {
			t.Errorf("after the approval the step is %s", r.Graph.Step("gate").Status)
		}
		if a := b.run(runs.Succeeded); a.Run.ID != k.ID || a.Run.Approvals.Approved.Digest() != current.Current.Digest() {
			t.Errorf("claimed %s, %+v", a.Run.Name, a.Run.Approvals)
		}
		b.run(runs.Succeeded)
		b.status(p.ID, runs.Succeeded)
		b.happened(k.ID, audit.RunHold, audit.RunApprove, audit.RunStart, audit.RunFinal)
	})
}

// TestAnApprovalCoversRetries does not hold a retry of an approved step again, and binds it to the same.
func TestAnApprovalCoversRetries(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := heldStage("gate")
		s.Retries = 1
		p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{s}})
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), b.child(p, "gate").ID, runs.DecisionInput{}))
		first := b.run(runs.Failed)
		again := b.run(runs.Succeeded)
		if again.Run.Attempt != 2 || again.Run.HeldBy() != nil ||
			again.Run.Approvals.Approved.Digest() != first.Run.Approvals.Approved.Digest() {
			t.Errorf("%+v", again.Run)
		}
		b.status(p.ID, runs.Succeeded)
	})
}

// TestARejectedStep ends the step as rejected, skips what depends on it and continues where the step allows it.
func TestARejectedStep(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		reject := func(p *runs.Run) {
			must[*runs.Run](t)(b.Approver.Reject(admin(t.Context()), b.child(p, "gate").ID, runs.DecisionInput{Reason: "no"}))
		}
		p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{heldStage("gate"), stage("after")}})
		reject(p)
		b.idle()
		got := b.status(p.ID, runs.Canceled)
		if got.Graph.Step("gate").Status != runs.Rejected || got.Graph.Step("after").Status != runs.Skipped ||
			got.Error != `step "gate" rejected` {
			t.Errorf("%s, %+v", got.Error, got.Graph)
		}
		soft := heldStage("gate")
		soft.ContinueOnFailure = true
		p = b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{soft, stage("after")}})
		reject(p)
		b.run(runs.Succeeded)
		if got := b.status(p.ID, runs.Succeeded); !runs.HasWarning(got.Warnings, runs.WarnStepFailedContinued) {
			t.Errorf("%+v", got.Warnings)
		}
	})
}

// TestCancelOfAHeldStep ends a held step with its pipeline, and alone.
func TestCancelOfAHeldStep(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for _, whole := range []bool{true, false} {
			p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{heldStage("gate"), stage("after")}})
			k := b.child(p, "gate")
			id := k.ID
			if whole {
				id = p.ID
			}
			must[*runs.Run](t)(b.Controller.Cancel(t.Context(), id))
			b.status(k.ID, runs.Canceled)
			b.status(p.ID, runs.Canceled)
			if _, err := b.Approver.Approve(admin(t.Context()), k.ID, runs.DecisionInput{}); !runs.RunNotHeld.Is(err) {
				t.Errorf("approve: %v", err)
			}
		}
	})
}

// TestApprovalOfAStepRacesCancel checks that a step which was approved while its pipeline was canceled never starts.
// Keeps T35.
func TestApprovalOfAStepRacesCancel(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		for range depthtest.Of(12, 100) {
			p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{heldStage("gate"), stage("after")}})
			k := b.child(p, "gate")
			yes, stop := both(
				func() error { _, err := b.Approver.Approve(admin(t.Context()), k.ID, runs.DecisionInput{}); return err },
				func() error { _, err := b.Controller.Cancel(t.Context(), p.ID); return err },
			)
			if stop != nil || yes != nil && !runs.RunNotHeld.Is(yes) {
				t.Fatalf("approve: %v, cancel: %v", yes, stop)
			}
			b.status(k.ID, runs.Canceled)
			b.status(p.ID, runs.Canceled)
			b.endedOnce(p.ID)
			b.idle()
		}
	})
}

// TestHeldStepsExpire rejects a step that nobody approves in time.
func TestHeldStepsExpire(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		b := setup(t, d, module.Config{ApprovalTTL: time.Millisecond})
		p := b.pipeline(runs.PipelineSubmission{Steps: []runs.StepSpec{heldStage("gate")}})
		b.Background.Start()
		defer func() {
			if err := b.Background.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}()
		waittest.Eventually(t, 30*time.Second, "the step to expire",
			func() bool { return b.get(p.ID).Status == runs.Canceled })
		if k := b.child(p, "gate"); k.Status != runs.Rejected || k.Decision.Reason != "nobody approved the run within 1ms" {
			t.Errorf("%s, %+v", k.Status, k.Decision)
		}
	})
}

// TestAHeldStepIsBound fails a step whose inventory was changed after the approval, of the step or of its pipeline.
func TestAHeldStepIsBound(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		s.setInherited(keyInventory)
		s.setContent("first")
		p := b.pipeline(runs.PipelineSubmission{InventoryID: keyInventory, RequireApproval: true,
			Steps: []runs.StepSpec{heldStage("gate")}})
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), p.ID, runs.DecisionInput{}))
		s.setContent("second")
		k := b.child(p, "gate")
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), k.ID,
			runs.DecisionInput{Digest: b.get(k.ID).Approvals.Current.Digest()}))
		if a := b.get(k.ID).Approvals; a.Confirm("inventory", keyInventory, "first") != nil ||
			!runs.ApprovalStale.Is(a.Confirm("inventory", keyInventory, "second")) {
			t.Errorf("of the pipeline: %+v", a)
		}
		p = b.pipeline(runs.PipelineSubmission{InventoryID: keyInventory, Steps: []runs.StepSpec{heldStage("gate")}})
		k = b.child(p, "gate")
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), k.ID, runs.DecisionInput{}))
		if a := b.get(k.ID).Approvals; a.Confirm("inventory", keyInventory, "second") != nil ||
			!runs.ApprovalStale.Is(a.Confirm("inventory", keyInventory, "third")) {
			t.Errorf("of the step: %+v", a)
		}
	})
}

// TestAHeldStepIsBoundAtItsHold refuses a decision about a step whose inventory or credential was changed while it was
// held, also if nobody has looked at the step before.
func TestAHeldStepIsBoundAtItsHold(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		s.setInherited(keyInventory)
		s.setContent("first")
		b.policies.say(policy.Verdict{Risk: runs.Risk{Level: runs.HighRisk, Reasons: []string{"why"}}})
		p := b.pipeline(runs.PipelineSubmission{InventoryID: keyInventory,
			Steps: []runs.StepSpec{stage("early"), heldStage("gate", "early")}})
		b.run(runs.Succeeded)
		k := b.child(p, "gate")
		s.setContent("second")
		_, err := b.Approver.Approve(admin(t.Context()), k.ID, runs.DecisionInput{})
		if !runs.ApprovalStale.Is(err) {
			t.Errorf("without a digest: %v", err)
		}
		got := b.get(k.ID)
		if changed := got.Approvals.Parts.Changed(got.Approvals.Current); !slices.Equal(changed, []string{"inventory"}) ||
			got.Risk.Level != runs.HighRisk || len(got.Risk.Reasons) != 1 {
			t.Errorf("changed %v, risk %+v", changed, got.Risk)
		}
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), k.ID,
			runs.DecisionInput{Digest: got.Approvals.Current.Digest()}))
	})
}

// TestRerunsAreHeldAsTheirTemplateHolds holds a rerun of a run from before its template held runs.
func TestRerunsAreHeldAsTheirTemplateHolds(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		q := script()
		q.TemplateID = "tpl_1"
		r := b.submit(q)
		p := b.pipeline(runs.PipelineSubmission{TemplateID: "tpl_1", Steps: []runs.StepSpec{stage("a"), stage("b", "a")}})
		s.setHolds(false, "a")
		again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), p.ID))
		if b.child(again, "a").Status != runs.PendingApproval || again.Status != runs.Pending {
			t.Errorf("%s", again.Status)
		}
		s.setHolds(true)
		for _, id := range []string{r.ID, p.ID} {
			if again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), id)); again.Status != runs.PendingApproval {
				t.Errorf("%s", again.Status)
			}
		}
	})
}
