package drift

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// plans are the plans of runs by their ids.
type plans struct {
	runs.PlanStore
	of map[string]*runs.StoredPlan
}

func (p plans) PlanOf(_ context.Context, id string) (*runs.StoredPlan, error) {
	if s := p.of[id]; s != nil {
		return s, nil
	}
	return nil, runs.PlanNotFound.New("no plan")
}

// targets tells runs apart by their commands.
type targets struct{}

func (targets) PlanTarget(r *runs.Run) (string, error) { return r.Spec.Command, nil }

type templates struct{ catalog.TemplateStore }

func (templates) TemplateByID(context.Context, string) (t catalog.Template, err error) {
	t.Name = "Web"
	return t, nil
}

func planning() *fixture {
	w := &fixture{runs: map[string]*runs.Run{
		"run_1": {ID: "run_1", Spec: runs.Spec{Tool: "tofu", DryRun: true, TemplateID: "tpl_1"}},
		"run_2": {ID: "run_2", Status: runs.Succeeded, EndedAt: epoch(9),
			Spec: runs.Spec{Tool: "tofu", TemplateID: "tpl_1", PlanDigest: "d"}},
	}}
	p := runs.StoredPlan{RunID: "run_1", Target: "t", At: epoch(5), Plan: runs.Plan{Digest: "d"}}
	p.Findings = []runs.PlanFinding{{Resource: "a", Action: "update", Diff: "- 1\n+ 2"},
		{Resource: "b", Action: "delete"}, {Resource: "b", Action: "delete"},
		{Resource: "c", Action: "create", Diff: strings.Repeat("x", estate.MaxDiff)}}
	apply := p
	apply.RunID, apply.PlannedBy = "run_2", "run_1"
	w.plans.of = map[string]*runs.StoredPlan{"run_1": &p, "run_2": &apply}
	return w
}

// TestPlansAreDrift stores the findings of a plan under the name of its template, and clears them when it is applied.
func TestPlansAreDrift(t *testing.T) {
	t.Parallel()
	w := planning()
	c := newConsumer(w)
	c.Names.Templates = templates{}
	w.found = []estate.Finding{{Host: "Web", Resource: "a"}}
	data, err := json.Marshal(runs.Planned{RunID: "run_1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.PlanSubscription().Handle(t.Context(), events.Message{Data: data}); err != nil {
		t.Fatal(err)
	}
	c.report(t, "run_2")
	if len(w.applied) != 2 {
		t.Fatalf("applied %+v", w.applied)
	}
	found, cleared := w.applied[0], w.applied[1]
	h := found.Hosts[0]
	if found.Real || h.Host != "Web" || !h.At.Equal(epoch(5)) || !h.Whole || h.States[0] != estate.Known ||
		len(h.Findings) != 3 {
		t.Errorf("found %+v", found)
	}
	for i, want := range []estate.Confidence{estate.ConfidentDiff, estate.ConfidentPredicted, estate.ConfidentDiff} {
		if f := h.Findings[i]; f.Confidence != want || f.Task != found.Tasks[0] || f.Host != "Web" {
			t.Errorf("%d: %+v", i, f)
		}
	}
	if h.Findings[0].Diff == nil || h.Findings[2].Diff != nil {
		t.Error("a large difference is kept, or a small one is not")
	}
	if !cleared.Real || cleared.Target.ID != found.Target.ID || !cleared.Hosts[0].At.Equal(epoch(9)) ||
		cleared.Hosts[0].States[0] != estate.Known || !slices.Equal(cleared.Hosts[0].Changed, []int{0}) ||
		len(cleared.Hosts[0].Findings) != 0 {
		t.Errorf("cleared %+v", cleared)
	}
	if e, ok := w.published[0].(estate.DriftFound); !ok || len(w.published) != 1 || e.New != 1 || e.Playbook != "Web" ||
		!e.At.Equal(epoch(5)) {
		t.Errorf("published %+v", w.published)
	}
	w.runs["run_3"] = &runs.Run{ID: "run_3", Status: runs.Succeeded, EndedAt: epoch(11),
		Spec: runs.Spec{Tool: "tofu", Command: "t"}}
	if c.report(t, "run_3"); len(w.applied) != 3 || !w.applied[2].Real ||
		w.applied[2].Target.ID != found.Target.ID || !w.applied[2].Hosts[0].At.Equal(epoch(11)) {
		t.Errorf("a run without a plan clears %+v", w.applied[2:])
	}
	w.applied = w.applied[:2]
	for _, other := range []runs.Run{
		{Status: runs.Succeeded, Spec: runs.Spec{Tool: "tofu", Command: "t", DryRun: true}},
		{Status: runs.Failed, Spec: runs.Spec{Tool: "tofu", Command: "t"}},
		{Status: runs.Succeeded, Spec: runs.Spec{Tool: "bash", Command: "t"}},
		{Status: runs.Succeeded, Kind: runs.Split, Spec: runs.Spec{Tool: "tofu", Command: "t"}},
	} {
		w.runs["run_3"] = &other
		if c.report(t, "run_3"); len(w.applied) != 2 {
			t.Errorf("%+v is applied", other)
		}
	}
	w.runs["run_2"].Status = runs.Failed
	c.report(t, "run_2")
	delete(w.plans.of, "run_1")
	if err := c.PlanSubscription().Handle(t.Context(), events.Message{Data: data}); err != nil || len(w.applied) != 2 {
		t.Errorf("a failed run, or a deleted plan, is applied: %v", err)
	}
}

// TestReconcilePlans asks for the run that applies a plan, unless there is one that has not ended.
func TestReconcilePlans(t *testing.T) {
	t.Parallel()
	w := planning()
	w.found = []estate.Finding{{ID: "drf_1", Host: "h", RunID: "run_1", Target: estate.Target{ID: "tgt_1"}}}
	s := &Drift{Store: driftOf{w}, Runs: w, Plans: w, Reconciler: reconciler{w}, Licenses: licence{}, Guard: everybody{},
		Clock: w}
	if _, err := s.Reconcile(t.Context(), "h", ""); err != nil || w.asked.PlanDigest != "d" {
		t.Errorf("asked %+v, %v", w.asked, err)
	}
	w.plans.of["run_1"].ApplyID = "run_2"
	w.runs["run_2"].Status = runs.PendingApproval
	if _, err := s.Reconcile(t.Context(), "h", ""); !estate.Reconciling.Is(err) {
		t.Errorf("a held one: %v", err)
	}
}
