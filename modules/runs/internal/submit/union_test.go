package submit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/runs/internal/executors"
	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// TestTooManyCredentials counts the credentials of the inventory too.
func TestTooManyCredentials(t *testing.T) {
	t.Parallel()
	list := func(from, n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("crd_%026d", from+i)
		}
		return out
	}
	for _, c := range []struct {
		requested, inherited []string
		ok                   bool
	}{
		{list(0, 1000), nil, true}, {list(0, 1001), nil, false}, {list(0, 500), list(0, 1000), true},
		{list(0, 500), list(400, 1000), false},
		{nil, list(0, 1001), false},
	} {
		s := submitterOver(inventories{"i": ""}, nil)
		refs := s.refs.(withDefaults)
		refs.of[inventories{}.id("i")] = c.inherited
		v := s.credentials.(vault)
		for _, id := range slices.Concat(c.requested, c.inherited) {
			v.knows[id] = true
		}
		s.gate = guard.NewGate(open{}, nil)
		q := playbook(func(x *runs.Submission) { x.CredentialIDs, x.InventoryID = c.requested, inventories{}.id("i") })
		single := s.complete(t.Context(), &q, nil)
		p := runs.PipelineSubmission{InventoryID: inventories{}.id("i"), Steps: []runs.StepSpec{
			{Name: "a", Tool: "bash", Command: "true", CredentialIDs: c.requested},
			{Name: "b", Tool: "bash", Command: "true", CredentialIDs: c.requested},
		}}
		asked := len(v.asked)
		steps := s.completePipeline(t.Context(), &runs.Run{}, &p, nil, nil)
		if (single == nil) != c.ok || (steps == nil) != c.ok {
			t.Errorf("%d and %d: %v, %v", len(c.requested), len(c.inherited), single, steps)
		}
		if !c.ok && (!cmp.Equal(locations(single), []string{"credential_ids"}) ||
			!cmp.Equal(locations(steps), []string{"steps[0].credential_ids", "steps[1].credential_ids"})) {
			t.Error(locations(single), locations(steps))
		}
		if len(v.asked) != asked && c.ok {
			t.Errorf("what was not asked for a run was asked for its steps")
		}
		for id, n := range v.asked {
			if n > 2 {
				t.Errorf("%.40s was asked for %d times", id, n)
			}
		}
	}
}

// TestUnion checks that each id appears once, in the order of first appearance.
func TestUnion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.SampledFrom(strings.Split("abcdef", "")), 0, 8)
		a, b := lists.Draw(t, "a"), lists.Draw(t, "b")
		got := union(a, b)
		var want []string
		for _, id := range slices.Concat(a, b) {
			if !slices.Contains(want, id) {
				want = append(want, id)
			}
		}
		if !slices.Equal(got, want) || got == nil {
			t.Fatalf("%v and %v: %v", a, b, got)
		}
		if union(nil, nil) != nil || union(nil, []string{}) == nil {
			t.Fatal("nothing and an empty list are one")
		}
	})
}

// carried returns the credentials of a step's run after the record was stored and read.
func carried(r *runs.Run, step int) []string {
	b, err := json.Marshal(r.Graph)
	var g runs.Graph
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err != nil {
		return []string{err.Error()}
	}
	return g.Steps[step].Of(&r.Spec).CredentialIDs
}

// nobody is a fleet without executors.
type nobody struct{ execution.WorkerStore }

func (nobody) Workers(context.Context, page.Window) ([]execution.Worker, int, error) {
	return nil, 0, nil
}

// TestUnservedQueuesAreNamed checks the warnings of runs and pipelines: one for each queue, with its steps.
func TestUnservedQueuesAreNamed(t *testing.T) {
	t.Parallel()
	s := &Submitter{served: executors.New([]string{"default"}, nobody{}, clock.New())}
	step := func(name, queue string) runs.StepState {
		return runs.StepState{StepSpec: runs.StepSpec{Name: name, Queue: queue}}
	}
	graph := &runs.Graph{Steps: []runs.StepState{step("a", "gpu"), step("b", ""), step("c", "gpu"), step("d", "arm")}}
	for name, c := range map[string]struct {
		run  *runs.Run
		want []string
	}{
		"served":   {&runs.Run{Spec: runs.Spec{Queue: "default"}}, nil},
		"unserved": {&runs.Run{Spec: runs.Spec{Queue: "gpu"}}, []string{`"gpu". Start a worker with --queue gpu`}},
		"steps": {&runs.Run{Spec: runs.Spec{Queue: "default"}, Graph: graph},
			[]string{`"arm" of the step d.`, `"gpu" of the steps a, c.`}},
		"every step": {&runs.Run{Spec: runs.Spec{Queue: "x"}, Graph: &runs.Graph{Steps: []runs.StepState{
			step("a", ""), step("b", ""), step("c", ""), step("d", "")}}}, []string{`"x" of 4 steps.`}},
	} {
		if err := s.warnUnserved(t.Context(), c.run); err != nil {
			t.Fatal(err)
		}
		ok := len(c.run.Warnings) == len(c.want)
		for i := range c.want {
			ok = ok && c.run.Warnings[i].Code == runs.WarnQueueUnserved && strings.Contains(c.run.Warnings[i].Message, c.want[i])
		}
		if !ok {
			t.Errorf("%s: %s", name, cmp.Diff(c.want, c.run.Warnings))
		}
	}
	if runs.FailsOn(runs.FailOnWarnings, runs.WarnQueueUnserved) || !runs.FailsOn(runs.FailOnWarnings, "other") {
		t.Error("a run fails on what was so before it began")
	}
}
