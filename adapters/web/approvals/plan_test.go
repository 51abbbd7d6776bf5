package approvals

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// TestPlan shows the findings of a plan as text, those that destroy something first.
func TestPlan(t *testing.T) {
	t.Parallel()
	stored := &runs.StoredPlan{PlannedBy: "run_dry", Plan: runs.Plan{Summary: hostile, Digest: "sha256:1"}}
	for _, action := range []string{"create", "update", "replace", hostile, "delete"} {
		stored.Findings = append(stored.Findings, runs.PlanFinding{Resource: action + "_" + hostile, Action: action,
			Diff: "+ " + hostile + strings.Repeat("\n- line", 150)})
	}
	plan, err := shell.PlanOf(stored, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := extreme()
	v.plan, v.run.Spec.PlanDigest, v.preview = plan, "sha256:1", nil
	html := render(t, shell.Viewer{ID: "u", Name: "mara", Role: identity.Admin}, both(waiting{}, v, true))
	at := -1
	for _, action := range []string{"replace_", "delete_", "update_", "create_"} {
		next := strings.Index(html, action)
		if next <= at {
			t.Errorf("%s is at %d, after %d", action, next, at)
		}
		at = next
	}
	for _, text := range []string{"asks to apply a plan with", "It would change 5 resources and destroy 2 of them.",
		"/ui/runs/run_dry", "sha256:1", "51 further lines", "If the plan differs when it is applied"} {
		if !strings.Contains(html, text) {
			t.Errorf("no %q", text)
		}
	}
	if strings.Contains(html, unknownChange) {
		t.Error("the page says that nothing is known")
	}
	none, err := shell.PlanOf(nil, runs.PlanNotFound.New("none"))
	if none != nil || err != nil {
		t.Errorf("%+v, %v", none, err)
	}
	_, err = shell.PlanOf(nil, runs.RunNotFound.New("none"))
	if !runs.RunNotFound.Is(err) {
		t.Error(err)
	}
}
