package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

// planned has the plan of one dry run and of the run that applies it.
type planned struct{}

func (planned) Plan(_ context.Context, id string) (*runs.StoredPlan, error) {
	p := &runs.StoredPlan{RunID: id, ApplyID: "run_2", Plan: runs.Plan{Summary: "s", Digest: "d",
		Findings: []runs.PlanFinding{{Resource: "r", Action: "create"}}}}
	switch id {
	case "run_1":
		return p, nil
	case "run_2":
		p.PlannedBy = "run_1"
		return p, nil
	case "run_3":
		return &runs.StoredPlan{RunID: id, Plan: runs.Plan{Digest: "d"}}, nil
	}
	return nil, runs.PlanNotFound.New("no plan")
}

// TestPlans reads plans.
func TestPlans(t *testing.T) {
	t.Parallel()
	f := setup(t)
	both := `{"summary":"s","digest":"d","findings":[{"resource":"r","action":"create"}],"count":1,"run_id":"run_2",` +
		`"planned_by":"run_1"}`
	for id, want := range map[string]string{"run_1": both, "run_2": both,
		"run_3": `{"summary":"","digest":"d","findings":[],"count":0,"planned_by":"run_3"}`} {
		got := f.call(http.MethodGet, "/v1/runs/"+id+"/plan", "viewer", "")
		if got.json(t, http.StatusOK); strings.TrimSpace(string(got.body)) != want {
			t.Errorf("%s: %s", id, got.body)
		}
	}
	none := f.call(http.MethodGet, "/v1/runs/run_4/plan", "viewer", "")
	if none.problem(t, http.StatusNotFound); !strings.Contains(string(none.body), "plan_not_found") {
		t.Errorf("%s", none.body)
	}
}
