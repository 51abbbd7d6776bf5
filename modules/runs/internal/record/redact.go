package record

import (
	"slices"

	"github.com/writ-automation/writ/ports/runs"
)

// Redact returns a copy of r that readers may see: hidden texts and variables that look secret are redacted, and so is
// every value of the variables, outputs, environment and steps that equals such a secret or one of the further ones.
func Redact(r *runs.Run, further ...string) *runs.Run {
	if r == nil {
		return nil
	}
	m := runs.Masker{}
	m.Add(further)
	m.Add(r.Secrets())
	out := *r.Conceal()
	out.Vars = m.Vars(out.Vars.Redact())
	out.Outputs = m.Vars(out.Outputs)
	out.Spec.Env = m.Env(out.Spec.Env)
	if out.Graph == nil {
		return &out
	}
	graph := &runs.Graph{Vars: m.Vars(out.Graph.Vars.Redact()), Steps: slices.Clone(out.Graph.Steps)}
	for i := range graph.Steps {
		s := &graph.Steps[i]
		s.ExtraVars = m.Vars(s.ExtraVars.Redact())
		s.Outputs = m.Vars(s.Outputs)
	}
	out.Graph = graph
	return &out
}
