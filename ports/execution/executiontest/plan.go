package executiontest

import (
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Planned is the plan of a run as a plane in memory keeps it.
type Planned struct{ digest string }

// Propose takes a plan of a run and returns the id of the run that would apply it.
func (p *Planned) Propose(run string, dry bool, plan *runs.Plan) (string, error) {
	if err := plan.Check(); err != nil {
		return "", err
	}
	switch {
	case !dry:
		return "", runs.RunNotPlanned.New("the run is no dry run")
	case p.digest != "" && p.digest != plan.Digest:
		return "", runs.PlanConflict.New("the run has another plan")
	}
	p.digest = plan.Digest
	if len(plan.Findings) == 0 {
		return "", nil
	}
	return run + "_apply", nil
}

func plan(digest string, resources ...string) runs.Plan {
	p := runs.Plan{Summary: "a summary", Digest: digest}
	for _, r := range resources {
		p.Findings = append(p.Findings, runs.PlanFinding{Resource: r, Action: "update", Diff: "- a\n+ b"})
	}
	return p
}

func plans(t *testing.T, f Fixture) {
	ctx := t.Context()
	real := begun(t, f)
	if _, err := f.Plane.ProposeApply(ctx, real.Lease, plan("a", "r")); !runs.RunNotPlanned.Is(err) {
		t.Errorf("the plan of a run that is no dry run: %v", err)
	}
	id := f.SubmitDry(t, "plans")
	a := claim(t, f, "w1", "plans")
	if a.Run.ID != id || !a.Run.Spec.DryRun {
		t.Fatalf("claimed %+v", a.Run)
	}
	must(t, f.Plane.Begin(ctx, a.Lease))
	for name, p := range map[string]runs.Plan{"findings[1].resource": plan("a", "r", ""), "digest": plan("a b", "r"),
		"findings[0].resource": plan("a", strings.Repeat("r", 1025))} {
		_, err := f.Plane.ProposeApply(ctx, a.Lease, p)
		var refusal *fault.Error
		if !errors.As(err, &refusal) || refusal.Kind != fault.Invalid || len(refusal.Fields) != 1 ||
			refusal.Fields[0].Location != name {
			t.Errorf("a bad %s: %v", name, err)
		}
	}
	first, err := f.Plane.ProposeApply(ctx, a.Lease, plan("a", "r"))
	must(t, err)
	again, err := f.Plane.ProposeApply(ctx, a.Lease, plan("a", "r"))
	must(t, err)
	if first == "" || first != again || first == id {
		t.Errorf("the run %q, and again %q", first, again)
	}
	if _, err := f.Plane.ProposeApply(ctx, a.Lease, plan("b", "r")); !runs.PlanConflict.Is(err) {
		t.Errorf("another plan: %v", err)
	}
	f.Expire(t, id)
	_, err = f.Plane.ProposeApply(ctx, a.Lease, plan("a", "r"))
	refused(t, "a plan", err)

	f.SubmitDry(t, "none")
	b := claim(t, f, "w1", "none")
	must(t, f.Plane.Begin(ctx, b.Lease))
	if got, err := f.Plane.ProposeApply(ctx, b.Lease, plan("c")); got != "" || err != nil {
		t.Errorf("a plan without findings: %q, %v", got, err)
	}
}
