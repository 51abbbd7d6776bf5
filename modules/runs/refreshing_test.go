package runs_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/waittest"
)

// fakeMaterials refreshes the inventories of fakeReferences.
type fakeMaterials struct {
	catalog.Materials
	s *fakeReferences
}

func (m fakeMaterials) Inventory(
	ctx context.Context, _ string, _ bool,
) (catalog.InventoryText, []runs.Warning, error) {
	m.s.mu.Lock()
	m.s.refreshed++
	fresh := m.s.fresh
	m.s.mu.Unlock()
	content, err := fresh(ctx)
	if err != nil {
		return catalog.InventoryText{}, nil, err
	}
	m.s.setContent(content)
	return catalog.InventoryText{}, []runs.Warning{{Code: runs.WarnInventoryStale, Message: "one source failed"}}, nil
}

func (s *fakeReferences) source(fresh func(context.Context) (string, error)) {
	s.setInherited(keyInventory)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sourced, s.fresh, s.content = true, fresh, "old"
}

func (s *fakeReferences) refreshes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshed
}

func (b *bundle) background() {
	b.Background.Start()
	b.t.Cleanup(func() {
		if err := b.Background.Stop(context.WithoutCancel(b.t.Context())); err != nil {
			b.t.Error(err)
		}
	})
}

func (b *bundle) bound(id string) *runs.Run {
	b.t.Helper()
	waittest.Eventually(b.t, 30*time.Second, "the run to be bound", func() bool { return !b.get(id).Approvals.Awaiting() })
	return b.get(id)
}

// refreshingOf submits a run over an inventory whose sources are refreshed before it, which asks for approval.
func (b *bundle) refreshingOf() *runs.Run {
	b.t.Helper()
	x := over(keyInventory)
	x.RequireApproval = true
	r := b.submit(x)
	if r.Status != runs.PendingApproval || !r.Approvals.Awaiting() || r.Approvals.Current != nil {
		b.t.Fatalf("%s, %+v", r.Status, r.Approvals)
	}
	return r
}

// TestRefreshedBeforeTheDecision checks that nobody decides about a held run before the sources of its inventory are
// refreshed, and that it is bound to what they say then.
//
// Keeps T35.
func TestRefreshedBeforeTheDecision(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		s.source(func(context.Context) (string, error) { return "new", nil })
		r := b.refreshingOf()
		decide := func(do func(context.Context, string, runs.DecisionInput) (*runs.Run, error)) error {
			_, err := do(admin(t.Context()), r.ID, runs.DecisionInput{})
			return err
		}
		_, _, preview := b.Controller.Preview(admin(t.Context()), r.ID)
		for what, err := range map[string]error{"approve": decide(b.Approver.Approve), "reject": decide(b.Approver.Reject),
			"preview": preview} {
			if reasons := runs.ReasonsOf(err); !runs.RunRefreshing.Is(err) || reasons[0].Code != "refreshing" ||
				reasons[0].Object != keyInventory || reasons[0].Next == "" {
				t.Errorf("%s: %v %+v", what, err, reasons)
			}
		}
		why := must[*runs.Explanation](t)(b.Insight.Why(t.Context(), r.ID))
		if len(why.Reasons) != 2 || why.Reasons[0].Code != "refreshing" {
			t.Errorf("%+v", why)
		}
		canceled := b.refreshingOf()
		must[*runs.Run](t)(b.Controller.Cancel(t.Context(), canceled.ID))
		b.background()
		got := b.bound(r.ID)
		if a := got.Approvals; a.Parts["inventory "+keyInventory] != "new" || len(a.Parts.Changed(a.Current)) != 0 ||
			!runs.HasWarning(got.Warnings, runs.WarnInventoryStale) {
			t.Errorf("%+v, %+v", a, got.Warnings)
		}
		s.setContent("newer")
		if a := b.get(r.ID).Approvals; !slices.Equal(a.Parts.Changed(a.Current), []string{"inventory"}) {
			t.Errorf("a later change: %v", a.Parts.Changed(a.Current))
		}
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), r.ID,
			runs.DecisionInput{Digest: b.get(r.ID).Approvals.Current.Digest()}))
		if err := b.get(r.ID).Approvals.Confirm("inventory", keyInventory, "newer"); err != nil || s.refreshes() != 1 {
			t.Errorf("%v after %d refreshes", err, s.refreshes())
		}
	})
}

// TestEvaluatedAfterTheRefresh evaluates a held run again once the hosts of its inventory are known: policies that hold
// it too are added, one that denies it rejects it, and the risk is the new one. A change of the policies repeats that.
func TestEvaluatedAfterTheRefresh(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		s.source(func(context.Context) (string, error) { return "new", nil })
		one, two := runs.Hold{ID: "pol_1", Name: "one", Needed: 1}, runs.Hold{ID: "pol_2", Name: "two", Needed: 2}
		b.policies.say(hold(one))
		q := runs.Submission{Spec: runs.Spec{Playbook: "/srv/site.yml", InventoryID: keyInventory, RequireApproval: true}}
		r := b.submit(q)
		if h := b.policies.reached(); len(h) != 1 || h[0] != policy.UnknownTargets() {
			t.Errorf("before the refresh: %+v", h)
		}
		b.policies.say(policy.Verdict{Holds: []runs.Hold{one, two}, Risk: runs.Risk{Level: runs.CriticalRisk}},
			policy.PoliciesChanged.New("changed"))
		b.background()
		got := b.bound(r.ID)
		if a := got.Approvals; len(a.Holds) != 3 || a.Holds[2].Name != "two" || a.Needed() != 2 ||
			got.Risk.Level != runs.CriticalRisk || b.policies.reached()[0].Hosts < 0 {
			t.Errorf("%+v, %+v, %+v", a.Holds, got.Risk, b.policies.reached())
		}
		if n := b.trail.count(r.ID, audit.RunHold); n != 3 {
			t.Errorf("%d entries of holds", n)
		}
	})
}

// TestDeniedAfterTheRefresh rejects a held run that a policy denies for its new hosts.
func TestDeniedAfterTheRefresh(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		s.source(func(context.Context) (string, error) { return "new", nil })
		r := b.refreshingOf()
		b.policies.say(policy.Verdict{Denied: &policy.Rule{ID: "pol_3", Name: "many", Message: "ask first"}})
		b.background()
		b.bound(r.ID)
		got := b.status(r.ID, runs.Rejected)
		if got.Decision.Reason != `the policy "many" denies the run: ask first` {
			t.Errorf("%+v", got.Decision)
		}
	})
}

// TestRefreshThatFails keeps the last good inventory, and says so.
func TestRefreshThatFails(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		s.source(func(context.Context) (string, error) { return "", errors.New("no answer") })
		r := b.refreshingOf()
		b.background()
		got := b.bound(r.ID)
		if got.Approvals.Parts["inventory "+keyInventory] != "old" || len(got.Warnings) != 1 ||
			got.Warnings[0].Code != runs.WarnInventoryStale {
			t.Errorf("%+v, %+v", got.Approvals, got.Warnings)
		}
	})
}

// TestRefreshOfAHeldStep refreshes the inventory of a step when the step is due, unless its pipeline was approved with
// one.
func TestRefreshOfAHeldStep(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		s.source(func(context.Context) (string, error) { return "new", nil })
		b.background()
		p := b.pipeline(runs.PipelineSubmission{InventoryID: keyInventory, Steps: []runs.StepSpec{heldStage("gate")}})
		k := b.bound(b.child(p, "gate").ID)
		if k.Approvals.Parts["inventory "+keyInventory] != "new" || s.refreshes() != 1 {
			t.Errorf("%+v after %d refreshes", k.Approvals, s.refreshes())
		}
		p = b.pipeline(runs.PipelineSubmission{InventoryID: keyInventory, RequireApproval: true,
			Steps: []runs.StepSpec{heldStage("gate")}})
		b.bound(p.ID)
		must[*runs.Run](t)(b.Approver.Approve(admin(t.Context()), p.ID, runs.DecisionInput{}))
		if k := b.child(p, "gate"); k.Approvals.Awaiting() || s.refreshes() != 2 {
			t.Errorf("what was approved is refreshed: %+v after %d refreshes", k.Approvals, s.refreshes())
		}
	})
}

// TestRefreshesSurviveACrash has one of two servers refresh a run, and the other one repeat it when that one is gone.
func TestRefreshesSurviveACrash(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, l *ledger, s *fakeReferences) {
		s.source(func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		r := b.refreshingOf()
		b.Background.Start()
		waittest.Eventually(t, 30*time.Second, "a refresh", func() bool { return s.refreshes() == 1 })
		if err := b.Background.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.source(func(context.Context) (string, error) { return "new", nil })
		a := b.get(r.ID).Approvals
		if !a.Awaiting() || !a.Refreshing.Due.After(time.Now()) {
			t.Fatalf("%+v", a.Refreshing)
		}
		a.Refreshing.Due = a.Refreshing.Since // its time is over
		if err := b.d.Do(t.Context(), func(ctx context.Context) error {
			return b.store.Amend(ctx, r.ID, runs.Amendment{Approvals: a})
		}); err != nil {
			t.Fatal(err)
		}
		second := overReferences(t, b.d, l, s)
		second.background()
		b.background()
		if got := b.bound(r.ID); got.Approvals.Parts["inventory "+keyInventory] != "new" || s.refreshes() != 2 {
			t.Errorf("%+v after %d refreshes", got.Approvals, s.refreshes())
		}
	})
}

// TestAStopEndsRefreshes leaves no goroutine of a refresh that was under way.
func TestAStopEndsRefreshes(t *testing.T) {
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	s := &fakeReferences{inherited: map[string][]string{keyInventory: nil}}
	b := overReferences(t, d, &ledger{d: d, level: map[string]map[string]access.Level{}}, s)
	s.source(func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	b.refreshingOf()
	ignore := goleak.IgnoreCurrent()
	b.Background.Start()
	waittest.Eventually(t, 30*time.Second, "a refresh", func() bool { return s.refreshes() == 1 })
	if err := b.Background.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, ignore)
}
