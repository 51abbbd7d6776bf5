package parent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// NewGraph makes the graph of a pipeline with explicit dependencies. It returns BadGraph for a duplicate or unknown
// name, for a cycle, with its path in the message, and for a step that waits for a failure of nothing. It does not
// check the names themselves.
func NewGraph(steps []runs.StepSpec, vars runs.Vars) (*runs.Graph, error) {
	g := &runs.Graph{Vars: vars, Steps: make([]runs.StepState, len(steps))}
	index := make(map[string]int, len(steps))
	ordered := true
	for i, s := range steps {
		if at, ok := index[s.Name]; ok {
			return nil, bad(i, "name", "%q is the name of steps[%d] too", s.Name, at)
		}
		index[s.Name] = i
		s.DependsOn = distinct(s.DependsOn)
		ordered = ordered && len(s.DependsOn) == 0
		g.Steps[i] = runs.StepState{StepSpec: s}
	}
	if ordered {
		for i := 1; i < len(g.Steps); i++ {
			g.Steps[i].DependsOn = []string{g.Steps[i-1].Name}
		}
	} else if err := check(g, index); err != nil {
		return nil, err
	}
	for i := range g.Steps {
		if g.Steps[i].On == runs.OnFailure && len(g.Steps[i].DependsOn) == 0 {
			return nil, bad(i, "on", "no step is before this one that could fail")
		}
	}
	return g, nil
}

func distinct(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func check(g *runs.Graph, index map[string]int) error {
	for i := range g.Steps {
		for j, d := range g.Steps[i].DependsOn {
			if _, ok := index[d]; !ok {
				return bad(i, fmt.Sprintf("depends_on[%d]", j), "no step is named %q", d)
			}
		}
	}
	w := walk{graph: g, index: index, mark: make([]int8, len(g.Steps))}
	for i := range g.Steps {
		if at, path := w.cycle(i, nil); path != nil {
			return bad(at, "depends_on", "the steps form a cycle: %s", strings.Join(path, " -> "))
		}
	}
	return nil
}

type walk struct {
	graph *runs.Graph
	index map[string]int
	mark  []int8 // 0 unseen, 1 on the path, 2 done
}

// cycle follows the dependencies of step i. It returns the entry and the names of the first cycle, or nil. The depth
// is bounded by the number of steps.
func (w *walk) cycle(i int, path []string) (int, []string) {
	name := w.graph.Steps[i].Name
	switch w.mark[i] {
	case 2:
		return 0, nil
	case 1:
		return i, append(path[slices.Index(path, name):], name)
	}
	w.mark[i] = 1
	path = append(path, name)
	for _, d := range w.graph.Steps[i].DependsOn {
		if at, found := w.cycle(w.index[d], path); found != nil {
			return at, found
		}
	}
	w.mark[i] = 2
	return 0, nil
}

func bad(step int, member, format string, args ...any) error {
	at := fmt.Sprintf("steps[%d].%s", step, member)
	f := runs.BadGraph.New("%s: %s", at, fmt.Sprintf(format, args...))
	f.Fields = []fault.Field{{Location: at, Message: fmt.Sprintf(format, args...)}}
	return f
}
