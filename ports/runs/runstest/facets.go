package runstest

import (
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

func facetCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"runs by status and tool":  facetPlain,
		"of more runs than counts": facetMany,
		"of what a reader sees":    facetScoped,
	}
}

func (e *env) facets(t *testing.T, f runs.Filter) *runs.Facets {
	t.Helper()
	got, err := e.Facets.Facets(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (e *env) wantFacets(t *testing.T, what string, f runs.Filter, want runs.Facets) {
	t.Helper()
	if d := diff(&want, e.facets(t, f)); d != "" {
		t.Errorf("%s:\n%s", what, d)
	}
}

func facetPlain(t *testing.T, e *env) {
	whole := access.Everything()
	e.wantFacets(t, "none", runs.Filter{Scope: whole}, runs.Facets{Status: map[runs.Status]int{}, Tool: map[string]int{}})
	e.finish(t, e.running(t), runs.Failed, epoch)
	python := func(r *runs.Run) { r.Spec.Tool, r.Name = "python", "deploy web" }
	e.add(t, python)
	e.add(t, python, func(r *runs.Run) { r.Spec.Queue, r.Objects = "dmz", []string{access.Queue("dmz")} })
	p := e.add(t, pipelineOf())
	e.add(t, below(p, runs.Step, 1)) // children are not counted
	type st = map[runs.Status]int
	type tools = map[string]int
	pipeline := p.Spec.Tool
	for what, c := range map[string]struct {
		f    runs.Filter
		want runs.Facets
	}{
		"all": {runs.Filter{}, runs.Facets{Status: st{"failed": 1, "pending": 3},
			Tool: add(tools{"python": 2}, map[string]int{"bash": 1}, map[string]int{pipeline: 1})}},
		"a status": {runs.Filter{Statuses: []runs.Status{runs.Failed}}, runs.Facets{Status: st{"failed": 1, "pending": 3},
			Tool: tools{"bash": 1}}},
		"a tool": {runs.Filter{Tool: "python"}, runs.Facets{Status: st{"pending": 2},
			Tool: add(tools{"python": 2}, map[string]int{"bash": 1}, map[string]int{pipeline: 1})}},
		"a queue": {runs.Filter{Queue: "dmz"}, runs.Facets{Status: st{"pending": 1}, Tool: tools{"python": 1}}},
		"words":   {runs.Filter{Terms: []string{"deploy"}}, runs.Facets{Status: st{"pending": 2}, Tool: tools{"python": 2}}},
		"both": {runs.Filter{Tool: "bash", Statuses: []runs.Status{runs.Failed}}, runs.Facets{
			Status: e.facets(t, runs.Filter{Tool: "bash", Scope: whole}).Status, Tool: tools{"bash": 1}}},
		"nothing": {runs.Filter{Host: "nobody"}, runs.Facets{Status: st{}, Tool: tools{}}},
	} {
		c.f.Scope = whole
		e.wantFacets(t, what, c.f, c.want)
	}
}

// add sums maps of numbers.
func add(all ...map[string]int) map[string]int {
	out := map[string]int{}
	for _, m := range all {
		for k, n := range m {
			out[k] += n
		}
	}
	return out
}

// facetMany: the counters are exact, and all else counts the newest runs up to the cap.
func facetMany(t *testing.T, e *env) {
	most := e.totalCap()
	old := e.add(t, func(r *runs.Run) { r.Spec.Tool = "python" })
	r := e.add(t)
	if err := e.Copy(t.Context(), r.ID, most); err != nil {
		t.Fatal(err)
	}
	whole := access.Everything()
	e.wantFacets(t, "all", runs.Filter{Scope: whole}, runs.Facets{Status: map[runs.Status]int{"pending": most + 2},
		Tool: map[string]int{"bash": most}, ToolAbout: true})
	e.wantFacets(t, "a tool", runs.Filter{Scope: whole, Tool: "python"}, runs.Facets{
		Status: map[runs.Status]int{"pending": 1}, Tool: map[string]int{"bash": most}, ToolAbout: true})
	e.wantFacets(t, "before", runs.Filter{Scope: whole, Before: old.CreatedAt.Add(time.Millisecond)}, runs.Facets{
		Status: map[runs.Status]int{"pending": 1}, Tool: map[string]int{"python": 1}})
}

func facetScoped(t *testing.T, e *env) {
	e.restrict(t, access.Queue("vault"), "user:ann")
	e.add(t)
	e.add(t, func(r *runs.Run) {
		r.Spec.Queue, r.Objects, r.Spec.Tool = "vault", []string{access.Queue("vault")}, "python"
	})
	ann, eve := access.Scope{Subjects: []string{"user:ann"}}, access.Scope{Subjects: []string{"user:eve"}}
	e.wantFacets(t, "ann", runs.Filter{Scope: ann}, runs.Facets{Status: map[runs.Status]int{"pending": 2},
		Tool: map[string]int{"bash": 1, "python": 1}})
	e.wantFacets(t, "eve", runs.Filter{Scope: eve}, runs.Facets{Status: map[runs.Status]int{"pending": 1},
		Tool: map[string]int{"bash": 1}})
	e.wantFacets(t, "eve of the queue", runs.Filter{Scope: eve, Queue: "vault"}, runs.Facets{
		Status: map[runs.Status]int{}, Tool: map[string]int{}})
}
