package execution_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// planner is a tool that returns a plan and an exit code.
func planner(p extension.Plan, code int, seen *extension.ToolSpec) toolFunc {
	return func(_ context.Context, s extension.ToolSpec, _ io.Writer) (extension.ToolResult, error) {
		*seen = s
		return extension.ToolResult{ExitCode: code, Plan: &p}, nil
	}
}

func toolPlan() extension.Plan {
	return extension.Plan{Summary: "hunter22! to add\x1b[2J", Digest: "sha256:1", Findings: []extension.PlanFinding{
		{Resource: "terraform_data.web\n", Action: "create", Diff: "+ hunter22!\n\t\xff\x00\u202e"}}}
}

func planRun(dry bool) *runs.Run {
	return &runs.Run{ID: "run_1", Spec: runs.Spec{DryRun: dry}, Vars: runs.Vars{"db_password": []byte(`"hunter22!"`)}}
}

// TestPlans reports the plan of a dry run that succeeded, with masked texts.
func TestPlans(t *testing.T) {
	t.Parallel()
	var seen extension.ToolSpec
	b := setup(t, planner(toolPlan(), 0, &seen))
	got := b.run(planRun(true))
	want := []runs.Plan{{Summary: "*** to add\ufffd[2J", Digest: "sha256:1", Findings: []runs.PlanFinding{
		{Resource: "terraform_data.web\ufffd", Action: "create", Diff: "+ ***\n\t\ufffd\ufffd\ufffd"}}}}
	if d := cmp.Diff(want, got.plans); d != "" || got.run.Status != runs.Succeeded || seen.PlanDigest != "" {
		t.Errorf("ended as %+v %s", got.end, d)
	}
}

// TestPlansThatAreIgnored has runs whose plan is not reported.
func TestPlansThatAreIgnored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dry    bool
		code   int
		status runs.Status
	}{"a real run": {false, 0, runs.Succeeded}, "a dry run that failed": {true, 1, runs.Failed}} {
		var seen extension.ToolSpec
		b := setup(t, planner(toolPlan(), c.code, &seen))
		r := planRun(c.dry)
		if !c.dry {
			r.Spec.PlanDigest = "sha256:1"
		}
		got := b.run(r)
		if got.run.Status != c.status || b.plane.count("plan") != 0 || seen.PlanDigest != r.Spec.PlanDigest {
			t.Errorf("%s: %+v, given %q", name, got.end, seen.PlanDigest)
		}
	}
}

// TestBadPlans has plans that fail their run: beyond the bounds, and refused by the plane.
func TestBadPlans(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func(p *extension.Plan){
		"digest":               func(p *extension.Plan) { p.Digest = "a b" },
		"findings":             func(p *extension.Plan) { p.Findings = make([]extension.PlanFinding, 5001) },
		"findings[0].resource": func(p *extension.Plan) { p.Findings[0].Resource = "" },
		"findings[0].action":   func(p *extension.Plan) { p.Findings[0].Action = strings.Repeat("a", extension.PlanText+1) },
		"findings[0].diff":     func(p *extension.Plan) { p.Findings[0].Diff = strings.Repeat("a", extension.PlanSize) },
	} {
		p := toolPlan()
		bad(&p)
		var seen extension.ToolSpec
		b := setup(t, planner(p, 0, &seen))
		got := b.run(planRun(true))
		if got.run.Status != runs.Failed || !strings.Contains(got.end.Error, name) || b.plane.count("plan") != 0 {
			t.Errorf("%s: %+v", name, got.end)
		}
	}
	var seen extension.ToolSpec
	b := setup(t, planner(toolPlan(), 0, &seen))
	failed := false
	b.plane.fail(func(op, _ string) error {
		switch {
		case op != "plan":
			return nil
		case !failed:
			failed = true
			return &fault.Error{Kind: fault.Unavailable, Message: "later"}
		}
		return runs.PlanConflict.New("there is another plan")
	})
	got := b.run(planRun(true))
	if got.run.Status != runs.Failed || !strings.Contains(got.end.Error, "another plan") || b.plane.count("plan") != 2 {
		t.Errorf("refused: %+v, %d calls", got.end, b.plane.count("plan"))
	}
}

func (p *plane) ProposeApply(_ context.Context, l runs.Lease, plan runs.Plan) (id string, err error) {
	saved := p.save("plan", l, func(r *record) {
		if id, err = r.plan.Propose(l.RunID, r.run.Spec.DryRun, &plan); err == nil {
			r.plans = append(r.plans, plan)
		}
	})
	if saved != nil {
		return "", saved
	}
	return id, err
}

func (p *plane) SaveTasks(_ context.Context, l runs.Lease, tasks []runs.TaskSummary) error {
	return p.save("tasks", l, func(r *record) { r.tasks = append(r.tasks, tasks...) })
}

func (p *plane) SaveFacts(_ context.Context, l runs.Lease, facts []runs.HostFacts) error {
	return p.save("facts", l, func(r *record) { r.facts = append(r.facts, facts...) })
}
