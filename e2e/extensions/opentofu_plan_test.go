package extensions

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// planned is the answer of GET /v1/runs/{id}/plan.
type planned struct {
	Summary  string `json:"summary"`
	Digest   string `json:"digest"`
	Count    int    `json:"count"`
	RunID    string `json:"run_id"`
	Findings []struct {
		Resource string `json:"resource"`
		Action   string `json:"action"`
		Diff     string `json:"diff"`
	} `json:"findings"`

	dryRun string // that made it
}

// plan makes a dry run and returns what it found.
func (w *tofuServer) plan(t *testing.T, size int) planned {
	t.Helper()
	p := planned{dryRun: w.run(t, size, true).ID}
	w.Do(http.MethodGet, "/v1/runs/"+p.dryRun+"/plan", nil).JSON(t, &p)
	if p.Count != len(p.Findings) || !strings.HasPrefix(p.Digest, "sha256:") || (p.Count > 0) != (p.RunID != "") {
		t.Fatalf("%+v", p)
	}
	return p
}

// approve approves the held apply of a plan as the second account, and waits for its end.
func (w *fixture) approve(t *testing.T, p planned) harness.Run {
	t.Helper()
	var held struct {
		Status     string `json:"status"`
		Source     string `json:"source"`
		PlanDigest string `json:"plan_digest"`
	}
	w.Do(http.MethodGet, "/v1/runs/"+p.RunID, nil).JSON(t, &held)
	if held.Status != "pending_approval" || held.Source != "plan" || held.PlanDigest != p.Digest {
		t.Fatalf("%+v", held)
	}
	var second struct {
		ID    string `json:"id"`
		Token string `json:"token"`
	}
	w.Do(http.MethodPost, "/v1/users", harness.Body{"username": p.RunID, "role": "admin"}).JSON(t, &second)
	w.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "approve", "user_id": second.ID}).JSON(t, &second)
	a := w.As(second.Token).Do(http.MethodPost, "/v1/runs/"+p.RunID+"/approve", nil)
	if a.Status >= http.StatusBadRequest {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return w.Await(p.RunID)
}

// drifts waits until the drift of the fleet is what some plans found, and nothing else.
func (w *tofuServer) drifts(t *testing.T, plans ...planned) {
	t.Helper()
	type row struct {
		Host       string              `json:"host"`
		Resource   string              `json:"resource"`
		Playbook   string              `json:"playbook"`
		Tasks      []string            `json:"changed_tasks"`
		Diff       []map[string]string `json:"diff"`
		Confidence string              `json:"confidence"`
		RunID      string              `json:"run_id"`
	}
	var want, got []row
	for _, p := range plans {
		for _, f := range p.Findings {
			want = append(want, row{Host: "tofu", Resource: f.Resource, Playbook: "tofu", Tasks: []string{f.Action},
				Diff: []map[string]string{{"prepared": f.Diff}}, Confidence: "diff", RunID: p.dryRun})
		}
	}
	defer func() {
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}()
	eventually(t, "the drift is that of the plans", func() bool {
		var list struct {
			Resources []row `json:"resources"`
		}
		w.Do(http.MethodGet, "/v1/drift", nil).JSON(t, &list)
		got = append([]row(nil), list.Resources...)
		return cmp.Equal(want, got)
	})
}

// TestOpenTofu plans and applies with a real OpenTofu: the apply of a plan is held and bound to the digest, fails
// without a change if the state has changed meanwhile, and what a plan finds is drift until its apply.
func TestOpenTofu(t *testing.T) {
	t.Parallel()
	w := startOpenTofu(t)
	first := w.plan(t, 1)
	if first.Summary != "1 to create" || first.Findings[0].Resource != "terraform_data.web" ||
		first.Findings[0].Action != "create" || !slices.Contains(strings.Split(first.Findings[0].Diff, "\n"), "input: 1") {
		t.Errorf("%+v", first)
	}
	if value, writes := w.states.input(t); value != nil || writes != 0 {
		t.Errorf("a dry run changed the state: %v, %d writes", value, writes)
	}
	w.drifts(t, first)
	if r := w.approve(t, first); r.Status != "succeeded" {
		t.Fatalf("%s: %s\n%s", r.Status, r.Error, w.Log(r.ID))
	}
	if value, _ := w.states.input(t); value != 1.0 {
		t.Errorf("the state has %v", value)
	}
	w.drifts(t)
	if p := w.plan(t, 1); p.Count != 0 || p.Summary != "nothing to change" {
		t.Errorf("after the apply: %+v", p)
	}

	stale := w.plan(t, 2)
	w.run(t, 3, false)
	_, before := w.states.input(t)
	r := w.approve(t, stale)
	if log := w.Log(r.ID); r.Status != "failed" || r.ExitCode == nil || *r.ExitCode != 3 ||
		!strings.Contains(log, "The plan is not the one that was approved, so nothing was applied.") {
		t.Errorf("%+v\n%s", r, log)
	}
	if value, after := w.states.input(t); value != 3.0 || after != before {
		t.Errorf("the refused apply changed the state: %v", value)
	}
	w.drifts(t, stale)
	differs := w.plan(t, 2)
	if differs.Digest == stale.Digest || differs.Summary != "1 to update" ||
		!strings.Contains(differs.Findings[0].Diff, "input: 3 -> 2") {
		t.Errorf("%+v", differs)
	}
	w.drifts(t, differs)
	w.run(t, 2, false) // for real, without a plan
	w.drifts(t)
	if p := w.plan(t, 2); p.Count != 0 {
		t.Errorf("after the run without a plan: %+v", p)
	}
	w.run(t, 3, false)
	differs = w.plan(t, 2)
	w.drifts(t, differs)
	if r := w.approve(t, differs); r.Status != "succeeded" {
		t.Fatalf("%s: %s\n%s", r.Status, r.Error, w.Log(r.ID))
	}
	if value, _ := w.states.input(t); value != 2.0 {
		t.Errorf("the state has %v", value)
	}
	w.drifts(t)
}
