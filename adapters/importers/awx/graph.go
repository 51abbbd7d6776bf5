package awx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/runs"
)

// graph translates the nodes of a workflow to steps.
//
// A node starts if an edge to it is taken, or all of them. A step starts if all steps before it succeeded, one of them
// failed, or in any case, also if they were skipped. So a node is described by conditions, of which one has to hold,
// and becomes a step for each condition if no two of them can hold at once. What cannot be expressed starts less often
// than before, or is left out, with a warning.
type graph struct {
	x      *reader
	object *importer.Object
	flow   *record
	vars   map[string]bool
	nodes  []*node
	steps  []made
	names  map[string]bool
	copies []string // the keys of the copies of templates that were made
}

// cond is a condition: outcomes of steps, all of which are needed. An empty one always holds.
type cond []outcome

type outcome struct {
	step int
	on   string
}

// made is a step with what is known of it.
type made struct {
	importer.Step
	sure bool // it is never skipped
	// needs has the outcomes of other steps without which it is skipped.
	needs map[int]string
}

const maxConds = 64

// connect lets approvals hold the step after them, where that is the same.
func (g *graph) connect() {
	for i, n := range g.nodes {
		if n.sort != approval || n.next[runs.OnFailure]+n.next[runs.OnAlways] > 0 || n.next[runs.OnSuccess] != 1 {
			continue
		}
		at := slices.IndexFunc(g.nodes, func(m *node) bool { return slices.Contains(m.edges, edge{i, runs.OnSuccess}) })
		if after := g.nodes[at]; after.sort == job && len(after.edges) == 1 {
			n.sort, after.holds = passed, true
			draft.Map(g.object, "The approval %q holds the step after it.", n.name)
		}
	}
}

// build makes the steps, those before others first.
func (g *graph) build() (reason string) {
	waiting, queue := make([]int, len(g.nodes)), []int(nil)
	after := make([][]int, len(g.nodes))
	for i, n := range g.nodes {
		if waiting[i] = len(n.edges); len(n.edges) == 0 {
			queue = append(queue, i)
		}
		for _, e := range n.edges {
			after[e.from] = append(after[e.from], i)
		}
	}
	done := 0
	for ; len(queue) > 0; queue = queue[1:] {
		n := g.nodes[queue[0]]
		done++
		for _, j := range after[queue[0]] {
			if waiting[j]--; waiting[j] == 0 {
				queue = append(queue, j)
			}
		}
		if g.conditions(n); n.sort == job || n.sort == approval {
			g.emit(n)
		}
		if len(g.steps) > maxSteps {
			return fmt.Sprintf("The workflow needs more than %d steps.", maxSteps)
		}
	}
	switch {
	case done < len(g.nodes):
		return "The nodes form a cycle."
	case len(g.steps) == 0:
		return "None of its nodes can be a step."
	}
	return ""
}

// conditions sets the conditions under which a node starts.
func (g *graph) conditions(n *node) {
	if len(n.edges) == 0 {
		n.conds = []cond{{}}
		return
	}
	if n.all {
		n.conds = []cond{{}}
	}
	for _, e := range n.edges {
		taken := g.taken(e)
		if len(taken) == 0 && n.sort != lost {
			draft.Need(g.object, n.place(), "The edge from %q to %q is never taken, because that node is left out.",
				g.nodes[e.from].name, n.name)
		}
		if !n.all {
			n.conds = append(n.conds, taken...)
			continue
		}
		var both []cond
		for _, a := range n.conds {
			for _, b := range taken {
				if len(both) < maxConds {
					both = append(both, slices.Concat(a, b))
				}
			}
		}
		n.conds = both
	}
	if len(n.conds) > maxConds || len(n.conds) == 0 {
		n.conds = nil
		if n.sort != lost {
			n.sort = lost
			draft.Need(g.object, n.place(), "The node %q is left out, because no condition of steps starts it as before.",
				n.name)
		}
	}
}

// taken returns the conditions under which an edge is taken. An edge from a node that is passed is taken with it.
func (g *graph) taken(e edge) (out []cond) {
	from := g.nodes[e.from]
	switch from.sort {
	case lost:
		return nil
	case passed:
		if e.outcome == runs.OnFailure {
			return nil
		}
		return from.conds
	}
	for _, s := range from.steps {
		switch {
		case e.outcome != runs.OnAlways:
			out = append(out, cond{{s, e.outcome}})
		case g.steps[s].ContinueOnFailure:
			out = append(out, cond{{s, runs.OnSuccess}})
		case g.steps[s].sure:
			out = append(out, cond{{s, runs.OnAlways}})
		default:
			out = append(out, cond{{s, runs.OnSuccess}}, cond{{s, runs.OnFailure}})
		}
	}
	return out
}

// emit adds the steps of a node.
func (g *graph) emit(n *node) {
	s, ok := g.step(n)
	if !ok {
		n.sort = lost
		return
	}
	if handled := n.next[runs.OnFailure]+n.next[runs.OnAlways] > 0; handled {
		// A failure that is handled does not fail a workflow of the product.
		if s.ContinueOnFailure = n.next[runs.OnSuccess] == 0; s.ContinueOnFailure {
			draft.Map(g.object, "The steps after %q start although it failed, as before.", n.name)
		} else {
			draft.Warn(g.object, n.place(), "The workflow fails if %q fails, although another step follows then.", n.name)
		}
	}
	conds := n.conds
	free := func(c cond) bool {
		return !slices.ContainsFunc(c, func(o outcome) bool { return o.on != runs.OnAlways })
	}
	single := func(on string) func(cond) bool {
		return func(c cond) bool { return len(c) != 1 || c[0].on != on }
	}
	switch {
	case slices.ContainsFunc(conds, free):
		g.add(n, s, slices.Concat(conds...), runs.OnAlways)
		return
	case !slices.ContainsFunc(conds, single(runs.OnFailure)):
		g.add(n, s, slices.Concat(conds...), runs.OnFailure)
		return
	}
	for i, c := range conds {
		if slices.ContainsFunc(c, func(o outcome) bool { return o.on == runs.OnFailure }) && len(c) > 1 {
			g.leave(n, "it starts after a failure together with another outcome")
			return
		}
		if slices.ContainsFunc(conds[:i], func(d cond) bool { return !g.exclude(c, d) }) {
			g.join(n, s, conds)
			return
		}
	}
	for _, c := range conds {
		on := runs.OnSuccess
		if c[0].on == runs.OnFailure {
			on = runs.OnFailure
		} else if slices.ContainsFunc(c, func(o outcome) bool { return o.on == runs.OnAlways }) {
			draft.Need(g.object, n.place(), "%q starts only if all nodes before it succeeded.", n.name)
		}
		g.add(n, s, c, on)
	}
	if len(conds) > 1 {
		draft.Map(g.object, "The node %q became %d steps, of which one at most is executed.", n.name, len(conds))
	}
}

// join adds the step of a node that starts after one of several successes, which can all happen: after all of them.
func (g *graph) join(n *node, s importer.Step, conds []cond) {
	failure := func(o outcome) bool { return o.on == runs.OnFailure }
	all := slices.Concat(conds...)
	if slices.ContainsFunc(all, failure) || g.conflict(all) {
		g.leave(n, "it starts after one of several outcomes that are not all successes")
		return
	}
	draft.Need(g.object, n.at+"all_parents_must_converge",
		"%q starts after all of the nodes before it succeeded, and not after one of them.", n.name)
	g.add(n, s, all, runs.OnSuccess)
}

func (g *graph) leave(n *node, why string) {
	n.sort = lost
	draft.Need(g.object, n.place(), "The node %q is left out: %s.", n.name, why)
}

// add adds a step that starts after outcomes.
func (g *graph) add(n *node, s importer.Step, after cond, on string) {
	name := strings.Join(strings.Fields(n.name), " ")
	if name == "" {
		name = "step"
	}
	const most = 180
	if letters := []rune(name); len(letters) > most {
		name = string(letters[:most])
	}
	s.Name = name
	for i := 2; g.names[s.Name]; i++ {
		s.Name = fmt.Sprintf("%s (%d)", name, i)
	}
	g.names[s.Name] = true
	out := made{Step: s, sure: on == runs.OnAlways, needs: map[int]string{}}
	for _, o := range after {
		if before := g.steps[o.step].Name; !slices.Contains(out.DependsOn, before) {
			out.DependsOn = append(out.DependsOn, before)
		}
		if on == runs.OnSuccess || on == runs.OnFailure && len(after) == 1 {
			g.need(out.needs, o)
		}
	}
	if out.On = on; len(out.DependsOn) == 0 {
		out.On = ""
	} else if on == runs.OnSuccess {
		out.On = ""
	}
	if len(out.DependsOn) > 0 {
		draft.Map(g.object, "The step %q starts %s %s.", s.Name, map[string]string{
			runs.OnSuccess: "if all these succeeded:", runs.OnFailure: "if one of these failed:",
			runs.OnAlways: "after these, whatever their outcome:",
		}[on], listed(out.DependsOn))
	}
	n.steps = append(n.steps, len(g.steps))
	g.steps = append(g.steps, out)
}

// need adds an outcome, and those that it needs itself. Two outcomes of one step make it both.
func (g *graph) need(needs map[int]string, o outcome) {
	const both = "both"
	enter := func(step int, on string) {
		if was := needs[step]; was != "" && was != on {
			on = both
		}
		needs[step] = on
	}
	if o.on != runs.OnAlways && !(o.on == runs.OnSuccess && g.steps[o.step].ContinueOnFailure) {
		enter(o.step, o.on)
	}
	for step, on := range g.steps[o.step].needs {
		enter(step, on)
	}
}

// conflict reports whether outcomes cannot all happen.
func (g *graph) conflict(all cond) bool {
	needs := map[int]string{}
	for _, o := range all {
		g.need(needs, o)
	}
	for _, on := range needs {
		if on != runs.OnSuccess && on != runs.OnFailure {
			return true
		}
	}
	return false
}

// exclude reports whether two conditions cannot both hold.
func (g *graph) exclude(a, b cond) bool { return g.conflict(slices.Concat(a, b)) }

// ordered returns the steps. Steps of which none waits for another would be executed in their order; then none of them
// depends on the success of the one before.
func (g *graph) ordered() []importer.Step {
	out := make([]importer.Step, len(g.steps))
	loose := true
	for i := range g.steps {
		out[i] = g.steps[i].Step
		loose = loose && len(out[i].DependsOn) == 0
	}
	if loose && len(out) > 1 {
		for i := range out[1:] {
			out[i+1].On = runs.OnAlways
		}
		draft.Warn(g.object, "related.workflow_nodes",
			"The steps are executed one after the other, and not at the same time.")
	}
	return out
}
