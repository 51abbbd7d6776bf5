package runs

import (
	"context"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// PlanBody is the plan of a run.
type PlanBody struct {
	Summary   string             `json:"summary"`
	Digest    string             `json:"digest" doc:"What an approval of the run that applies it is bound to."`
	Findings  []runs.PlanFinding `json:"findings"`
	Count     int                `json:"count"`
	RunID     string             `json:"run_id,omitempty" doc:"The run that applies it. Absent for a plan without findings, and if no run was made."`
	PlannedBy string             `json:"planned_by" doc:"The dry run that reported it."`
}

// PlanInput names a run.
type PlanInput struct {
	ID string `path:"id"`
}

func (h *handlers) plan(ctx context.Context, in *PlanInput) (*httpapi.Output[PlanBody], error) {
	return httpapi.Show(planBody)(h.Plans.Plan(ctx, in.ID))
}

func planBody(p *runs.StoredPlan) PlanBody {
	b := PlanBody{Summary: p.Summary, Digest: p.Digest, Findings: append([]runs.PlanFinding{}, p.Findings...),
		Count: len(p.Findings), RunID: p.ApplyID, PlannedBy: p.PlannedBy}
	if b.PlannedBy == "" {
		b.PlannedBy = p.RunID
	}
	return b
}

func (h *handlers) planning(r *httpapi.Router) {
	part(r, "plan", httpapi.Route{
		ID: "get-run-plan", Summary: "Read the plan of a run",
		Description: "Of a dry run that reported one, and of the run that applies it. A run without one is 404 with " +
			"plan_not_found.",
		Example: planBody(&runs.StoredPlan{RunID: exampleID, ApplyID: exampleID, Plan: runs.Plan{
			Summary: "1 to change", Digest: "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
			Findings: []runs.PlanFinding{{Resource: "terraform_data.web", Action: "update", Diff: "- 1.4.1\n+ 1.4.2"}},
		}}),
	}, h.plan)
}
