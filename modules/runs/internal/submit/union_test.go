package submit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/runs/internal/guard"
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
