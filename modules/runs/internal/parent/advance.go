package parent

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/reserved"
	"github.com/writ-automation/writ/ports/runs"
)

// Plan is the next change of a pipeline. Graph is a new graph with the state of each step; it lacks the ids of the
// runs in Starts.
type Plan struct {
	Graph    *runs.Graph
	Changed  bool
	Starts   []Start
	Warnings []runs.Warning
	Done     bool
	Status   runs.Status // of a pipeline that is done
	Error    string
	Outputs  runs.Vars
}

// Start asks for one run of one step.
type Start struct {
	Step    int // its place in the graph
	Attempt int // from 1
	Vars    runs.Vars
	// Templated names the members of Vars that the tool may evaluate. They have the saved values.
	Templated []string
}

// Advance compares a pipeline's graph with the step runs that exist. It depends on its arguments only, so that any
// server may repeat it after a crash with the same result.
//
// A failed step is retried while it has retries left. An interrupted one is not, since a step that may have run is
// never repeated automatically, and neither is a rejected one. A step starts or is skipped by the ends of its
// dependencies; see runs.OnSuccess. No step starts in a canceled pipeline.
func Advance(g *runs.Graph, children []*runs.Run, canceled bool) Plan {
	p := Plan{Graph: &runs.Graph{Vars: g.Vars, Templated: g.Templated, Steps: slices.Clone(g.Steps)}}
	latest := LatestAttempts(children)
	for i := range p.Graph.Steps {
		p.observe(i, latest[p.Graph.Steps[i].Name], canceled)
	}
	p.release(canceled)
	p.conclude(canceled)
	p.Changed = len(p.Starts) > 0 || !reflect.DeepEqual(g.Steps, p.Graph.Steps)
	return p
}

// LatestAttempts returns the newest attempt of each step by its name.
func LatestAttempts(children []*runs.Run) map[string]*runs.Run {
	out := make(map[string]*runs.Run, len(children))
	for _, c := range children {
		if was := out[c.StepName]; was == nil || was.Attempt < c.Attempt {
			out[c.StepName] = c
		}
	}
	return out
}

// observe copies the state of the newest attempt to step i.
func (p *Plan) observe(i int, c *runs.Run, canceled bool) {
	if c == nil {
		return
	}
	s := &p.Graph.Steps[i]
	before := s.Status
	s.Status, s.RunID, s.Attempt = c.Status, c.ID, c.Attempt
	if !c.Status.Terminal() {
		return
	}
	s.Outputs = c.Outputs
	if !s.Refused() {
		return
	}
	if c.Status == runs.Failed && c.Attempt <= s.Retries && !canceled {
		s.Status = runs.Pending
		p.Starts = append(p.Starts, Start{Step: i, Attempt: c.Attempt + 1})
		return
	}
	if s.ContinueOnFailure && before != c.Status {
		ended := map[runs.Status]string{runs.Failed: "failed", runs.Rejected: "was rejected"}[c.Status]
		p.Warnings = append(p.Warnings, runs.Warning{Code: runs.WarnStepFailedContinued,
			Message: fmt.Sprintf("step %q %s and the pipeline continued", s.Name, ended)})
	}
}

// release starts the steps that are ready and skips those that never will be. Each round decides at least one step or
// is the last.
func (p *Plan) release(canceled bool) {
	for range p.Graph.Steps {
		again := false
		for i := range p.Graph.Steps {
			s := &p.Graph.Steps[i]
			if s.Status != "" {
				continue
			}
			ready, never := p.ready(s)
			switch {
			case canceled || never:
				s.Status, again = runs.Skipped, true
			case ready:
				s.Status, s.Attempt = runs.Pending, 1
				p.Starts = append(p.Starts, Start{Step: i, Attempt: 1})
			}
		}
		if !again {
			break
		}
	}
	for i := range p.Starts {
		p.Starts[i].Vars, p.Starts[i].Templated = p.vars(p.Starts[i].Step)
	}
}

// ready reports whether a step may start, or never will.
func (p *Plan) ready(s *runs.StepState) (ready, never bool) {
	ended, failed, succeeded := true, false, true
	for _, name := range s.DependsOn {
		d := p.Graph.Step(name)
		if d.Status != runs.Skipped && !d.Status.Terminal() {
			ended = false
			continue
		}
		failed = failed || d.Refused() || d.Status == runs.Interrupted
		succeeded = succeeded && (d.Status == runs.Succeeded || d.Refused() && d.ContinueOnFailure)
	}
	switch s.On {
	case runs.OnAlways:
		return ended, false
	case runs.OnFailure:
		return ended && failed, ended && !failed
	default:
		return ended && succeeded, !succeeded
	}
}

// vars merges the variables of a step: the outputs of all its dependencies, the most distant first, then those of the
// pipeline, then its own. Later ones override earlier ones. An output never replaces a variable of the pipeline's
// author, nor one that a script sees under the same name.
func (p *Plan) vars(i int) (vars runs.Vars, templated []string) {
	s := &p.Graph.Steps[i]
	inherited := inherited(p.Graph.Vars, s.Preset)
	authored, outputs, taken := inherited.Merge(s.ExtraVars), runs.Vars{}, map[string]bool{}
	for name := range authored {
		taken[reserved.Upper(name)] = true
	}
	if s.Preset != nil {
		for _, name := range s.Preset.Closed {
			taken[reserved.Upper(name)] = true
		}
	}
	for _, name := range p.ancestors(s) {
		outputs = outputs.Merge(p.Graph.Step(name).Outputs)
	}
	outputs, _ = outputs.StripReserved() // those of steps that ended before outputs were stored without
	maps.DeleteFunc(outputs, func(name string, _ json.RawMessage) bool { return taken[reserved.Upper(name)] })
	own := func(name string) bool { _, ok := s.ExtraVars[name]; return ok }
	for _, name := range p.Graph.Templated {
		if _, ok := inherited[name]; ok && !own(name) {
			templated = append(templated, name)
		}
	}
	for _, name := range s.Templated {
		if own(name) {
			templated = append(templated, name)
		}
	}
	slices.Sort(templated)
	return outputs.Merge(authored), slices.Compact(templated)
}

// inherited returns the variables of a pipeline that reach a step. Those that reach the step of a template are launch
// values, of which none is reserved or asked for by its survey.
func inherited(v runs.Vars, x *runs.Preset) runs.Vars {
	if x == nil {
		return v
	}
	if !x.Open {
		return nil
	}
	out, _ := v.StripReserved()
	maps.DeleteFunc(out, func(name string, _ json.RawMessage) bool {
		return slices.ContainsFunc(x.Closed, func(c string) bool { return reserved.Upper(c) == reserved.Upper(name) })
	})
	return out
}

func (p *Plan) ancestors(s *runs.StepState) []string {
	var out []string
	seen := map[string]bool{}
	var visit func(s *runs.StepState)
	visit = func(s *runs.StepState) {
		for _, name := range s.DependsOn {
			if !seen[name] {
				seen[name] = true
				visit(p.Graph.Step(name))
				out = append(out, name)
			}
		}
	}
	visit(s)
	return out
}

func (p *Plan) conclude(canceled bool) {
	if len(p.Starts) > 0 {
		return
	}
	var states []runs.Status
	var problems []string
	skipped := false
	for i := range p.Graph.Steps {
		s := &p.Graph.Steps[i]
		if s.Status != runs.Skipped && !s.Status.Terminal() {
			return
		}
		skipped = skipped || s.Status == runs.Skipped
		p.Outputs = p.Outputs.Merge(s.Outputs)
		if s.Refused() && s.ContinueOnFailure {
			continue
		}
		states = append(states, s.Status)
		if s.Status.Terminal() && s.Status != runs.Succeeded {
			problems = append(problems, fmt.Sprintf("step %q %s", s.Name, s.Status))
		}
	}
	p.Done, p.Status, p.Error = true, runs.Roll(states), strings.Join(problems, ", ")
	if p.Status == runs.Succeeded && canceled && skipped {
		p.Status = runs.Canceled
	}
}
