package relay_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

// TestLargestPlan: the longest plan that is valid fits into a report. It is longer than other reports may be.
func TestLargestPlan(t *testing.T) {
	t.Parallel()
	p := runs.Plan{Digest: strings.Repeat("d", 128), Findings: make([]runs.PlanFinding, extension.PlanFindings)}
	for i := range p.Findings {
		p.Findings[i] = runs.PlanFinding{Resource: `"`, Action: `\`, Diff: "\n"}
	}
	p.Findings[0].Diff = strings.Repeat("\n", extension.PlanSize-3*extension.PlanFindings+1)
	raw, err := json.Marshal(p)
	if err == nil {
		err = p.Check()
	}
	if err != nil || len(raw) <= execution.RelayBody {
		t.Fatalf("%d bytes: %v", len(raw), err)
	}
	setup(t).report("POST", on("/propose-apply"), string(raw)).Is(200, `{"run_id":"run_apply"}`)
}
