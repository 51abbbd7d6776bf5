package rundeck

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of workflows. The last one is of all bytes of an export in which the steps of jobs stand for references.
const (
	maxSteps    = 256
	maxDepth    = 16
	maxStepName = 200
	maxInlined  = 32 << 20
)

// graph is a workflow in the making.
type graph struct {
	r     *reader
	j     *job
	steps []importer.Step
	names map[string]bool
	open  []*job // whose steps are being added
	works int    // steps that do something
	full  bool
}

// entry says after what a step starts.
type entry struct {
	after []string
	on    string
}

// exit names what follows a step: what has to succeed for it to have succeeded, and all that it consists of.
type exit struct{ success, all []string }

// sequence adds the steps of a job, whose names begin with prefix.
func (g *graph) sequence(s scope, in entry, prefix string) exit {
	k := s.of
	goOn := k.keepGoing
	if goOn && len(in.after) > 0 && in.on != runs.OnAlways {
		goOn = false
		g.j.warnOnce(s.at, "the referenced job goes on after a failed step, and ends here as part of this one")
	}
	var out exit
	before := in
	for i, c := range k.steps {
		if g.full {
			return out
		}
		x := g.step(s, c, before, prefix, fmt.Sprintf("Step %d", i+1))
		if h := c.handler; h != nil {
			y := g.step(s, h, entry{x.success, runs.OnFailure}, prefix, fmt.Sprintf("Step %d error handler", i+1))
			x.all = append(x.all, y.all...)
			if h.goesOn && !goOn {
				g.j.warnOnce(h.at, "the job goes on after its error handler succeeded, and ends here after the handler")
			} else if h.goesOn {
				g.j.warnOnce(h.at, "the run counts as failed although the error handler succeeded")
			}
			g.j.say("The error handler of step %d starts when that step has failed.", i+1)
		}
		out.all = append(out.all, x.all...)
		switch {
		case k.parallel:
			out.success = append(out.success, x.success...)
		case goOn:
			out.success = append(out.success, x.success...)
			before = entry{x.all, runs.OnAlways}
		default:
			out.success = x.success
			before = entry{x.success, ""}
		}
	}
	return out
}

// step adds what a step of a job does.
func (g *graph) step(s scope, c *command, in entry, prefix, name string) exit {
	if s.of == g.j {
		s.at = c.at
	}
	if c.description != "" {
		name = masked(strings.SplitN(c.description, "\n", 2)[0])
	}
	if c.ref != nil {
		return g.reference(s, c, in, prefix)
	}
	step, reason := s.render(c)
	if s.of != g.j {
		const size = 200 // of a step without its script
		g.r.inlined += size + len(step.Command)
		g.full = g.full || g.r.inlined > maxInlined
	}
	if reason != "" {
		return g.fail(s.at, prefix+name, c.kind(), reason, in)
	}
	g.works++
	return g.add(prefix+name, step, in)
}

// fail adds a step that fails in the place of one that cannot be translated.
func (g *graph) fail(at, name, kind, reason string, in entry) exit {
	g.j.needOnce(at, "the "+kind+" is not translated: "+reason+"; a step that fails is in its place")
	return g.add(name, failing(kind, reason), in)
}

// add adds a step under a name that is free.
func (g *graph) add(name string, step importer.Step, in entry) exit {
	if len(g.steps) == maxSteps {
		g.full = true
		return exit{}
	}
	step.Name = g.free(name)
	step.DependsOn = slices.Clone(in.after)
	if len(in.after) > 0 {
		step.On = in.on
	}
	g.steps = append(g.steps, step)
	return exit{[]string{step.Name}, []string{step.Name}}
}

func (g *graph) free(name string) string {
	name = strings.Join(strings.Fields(strings.ReplaceAll(strings.ToValidUTF8(name, "?"), "\x00", "")), " ")
	out := name
	for n := 2; g.names[out] || utf8.RuneCountInString(out) > maxStepName; n++ {
		suffix := fmt.Sprintf(" (%d)", n)
		r := []rune(name)
		out = string(r[:min(len(r), maxStepName-len(suffix))])
		if g.names[out] {
			out += suffix
		}
	}
	if g.names == nil {
		g.names = map[string]bool{}
	}
	g.names[out] = true
	return out
}

// reference adds a step that launches the template of a job, or the steps of that job.
func (g *graph) reference(s scope, c *command, in entry, prefix string) exit {
	name := path.Join(c.ref.group, c.ref.name)
	t := g.r.target(c.ref)
	switch {
	case t == nil:
		return g.fail(s.at, prefix+"Job "+oneLine(name+c.ref.id), c.kind(), "the job "+oneLine(name+" "+c.ref.id)+
			" is not in the export", in)
	case slices.Contains(g.open, t):
		return g.fail(s.at, prefix+t.object.Name, c.kind(), "the job "+t.object.Name+" refers to itself", in)
	case t.reason != "":
		return g.fail(s.at, prefix+t.object.Name, c.kind(), "the job "+t.object.Name+" has no template", in)
	case len(g.open) == maxDepth:
		g.full = true
		return exit{}
	}
	p := g.passed(s, c.ref, t)
	if p.whole {
		g.works++
		g.j.say("The reference to %s is a step that launches its template.", t.object.Name)
		return g.add(prefix+t.object.Name, importer.Step{Template: t.object.Name, Answers: p.answers}, in)
	}
	g.j.say("The reference to %s is replaced by the steps of that job.", t.object.Name)
	if t.object.Class == importer.NeedsYou {
		g.j.needOnce(s.at, "the referenced job "+t.object.Name+" has to be completed, and so have its steps here")
	}
	for _, name := range t.credentials {
		if !slices.Contains(g.j.credentials, name) {
			g.j.credentials = append(g.j.credentials, name)
		}
	}
	inner := scope{r: g.r, job: g.j, of: t, at: s.at, sets: append(slices.Clone(s.sets), p.sets...), nodes: t.nodes}
	if c.ref.nodes.remote {
		inner.nodes = c.ref.nodes
	}
	g.open = append(g.open, t)
	out := g.sequence(inner, in, prefix+t.object.Name+" / ")
	g.open = g.open[:len(g.open)-1]
	if len(out.all) == 0 && !g.full {
		return g.fail(s.at, prefix+t.object.Name, c.kind(), "the job "+t.object.Name+" has no step that is enabled", in)
	}
	return out
}

// start adds a step before all others if they have no order: without one they would run one after the other.
func (g *graph) start() {
	for _, s := range g.steps {
		if len(s.DependsOn) > 0 {
			return
		}
	}
	if len(g.steps) < 2 {
		return
	}
	name := g.free("Start")
	for i := range g.steps {
		g.steps[i].DependsOn = []string{name}
	}
	g.steps = append([]importer.Step{{Name: name, Tool: "bash", Command: "true"}}, g.steps...)
	g.j.say("The steps run at the same time, after a first step that does nothing.")
}
