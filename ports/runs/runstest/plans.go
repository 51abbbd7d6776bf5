package runstest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func planCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a plan is read as it was stored":      planKept,
		"held runs that apply a target's plan": planHeld,
		"plans of one target wait":             planRace,
		"a plan goes with its run":             planPurged,
	}
}

// planOf returns a plan of a run, of an applying one if plannedBy is not empty.
func planOf(run, target, plannedBy string) *runs.StoredPlan {
	return &runs.StoredPlan{Plan: runs.Plan{Summary: "1 to add", Digest: "sha256:1", Findings: []runs.PlanFinding{
		{Resource: "terraform_data.web", Action: "create", Diff: "+ " + txtest.Odd}, {Resource: "b", Action: "delete"}}},
		RunID: run, Target: target, PlannedBy: plannedBy, At: at(time.Minute)}
}

func (e *env) putPlan(t *testing.T, p *runs.StoredPlan) {
	t.Helper()
	e.must(t, func(ctx context.Context) error { return e.Plans.PutPlan(ctx, p) })
}

func (e *env) wantPlan(t *testing.T, want *runs.StoredPlan) {
	t.Helper()
	got, err := e.Plans.PlanOf(t.Context(), want.RunID)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

func (e *env) heldApplies(t *testing.T, target string) (out []runs.StoredPlan) {
	t.Helper()
	e.must(t, func(ctx context.Context) (err error) {
		out, err = e.Plans.HeldApplies(ctx, target)
		return err
	})
	return out
}

func planKept(t *testing.T, e *env) {
	dry, large, none := e.add(t), e.add(t), e.add(t)
	p := planOf(dry.ID, "tgt_1", "")
	e.putPlan(t, p)
	big := planOf(large.ID, "tgt_1", "")
	one := runs.PlanFinding{Resource: "r", Action: "update", Diff: strings.Repeat("d", 500)}
	big.Findings = slices.Repeat([]runs.PlanFinding{one}, 5000)
	e.putPlan(t, big)
	e.wantPlan(t, p)
	e.wantPlan(t, big)
	if err := e.do(t, func(ctx context.Context) error { return e.Plans.PutPlan(ctx, p) }); err == nil {
		t.Error("a run has two plans")
	}
	e.must(t, func(ctx context.Context) error { return e.Plans.LinkPlan(ctx, dry.ID, none.ID) })
	p.ApplyID = none.ID
	e.wantPlan(t, p)
	_, err := e.Plans.PlanOf(t.Context(), none.ID)
	wantFault(t, err, runs.PlanNotFound)
	err = e.do(t, func(ctx context.Context) error { return e.Plans.PutPlan(ctx, planOf("run_none", "tgt_1", "")) })
	wantFault(t, err, runs.RunNotFound)
}

func planHeld(t *testing.T, e *env) {
	hold := func(at time.Duration) func(*runs.Run) {
		return func(r *runs.Run) { r.Status, r.CreatedAt = runs.PendingApproval, r.CreatedAt.Add(at) }
	}
	dry := e.add(t, hold(0))
	late, early, other, decided := e.add(t, hold(time.Second)), e.add(t, hold(-time.Second)), e.add(t, hold(0)), e.add(t)
	e.putPlan(t, planOf(dry.ID, "tgt_1", ""))
	for _, r := range []*runs.Run{late, early, decided} {
		e.putPlan(t, planOf(r.ID, "tgt_1", dry.ID))
	}
	e.putPlan(t, planOf(other.ID, "tgt_2", dry.ID))
	var want []runs.StoredPlan
	for _, r := range []*runs.Run{early, late} {
		p := planOf(r.ID, "tgt_1", dry.ID)
		p.Findings = nil
		want = append(want, *p)
	}
	if d := cmp.Diff(want, e.heldApplies(t, "tgt_1")); d != "" {
		t.Error(d)
	}
	if got := e.heldApplies(t, "tgt_3"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// planRace stores a run only if the target has none: one of many units does.
func planRace(t *testing.T, e *env) {
	dry := e.add(t)
	made := make([]*runs.Run, txtest.Crowd)
	for i := range made {
		made[i] = e.add(t, func(r *runs.Run) { r.Status = runs.PendingApproval })
	}
	txtest.Together(txtest.Crowd, func(i int) {
		err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
			held, err := e.Plans.HeldApplies(ctx, "tgt_1")
			if err != nil || len(held) > 0 {
				return err
			}
			return e.Plans.PutPlan(ctx, planOf(made[i].ID, "tgt_1", dry.ID))
		})
		if err != nil {
			t.Error(err)
		}
	})
	if got := e.heldApplies(t, "tgt_1"); len(got) != 1 {
		t.Errorf("%d units stored a plan", len(got))
	}
}

func planPurged(t *testing.T, e *env) {
	old := e.lived(t)
	e.wantPlan(t, planOf(old.ID, "tgt_1", ""))
	if n := e.purge(t, at(time.Hour), 10); n != 1 {
		t.Fatalf("purged %d", n)
	}
	_, err := e.Plans.PlanOf(t.Context(), old.ID)
	wantFault(t, err, runs.PlanNotFound)
}
