package record

import "github.com/writ-automation/writ/ports/runs"

// Redact returns a copy of r that readers may see: variables that look secret are redacted, and so is every value in
// the variables, outputs, environment and steps that equals one of them or one of the further secrets.
func Redact(r *runs.Run, further ...string) *runs.Run {
	if r == nil {
		return nil
	}
	out := *r
	m := runs.Masker{}
	m.Add(further)
	m.Add(r.Secrets())
	out.Vars = m.Vars(r.Vars.Redact())
	out.Outputs = m.Vars(r.Outputs)
	out.Spec.Env = m.Env(r.Spec.Env)
	if r.Graph == nil {
		return &out
	}
	out.Graph = &runs.Graph{Vars: m.Vars(r.Graph.Vars.Redact()), Steps: append([]runs.StepState(nil), r.Graph.Steps...)}
	for i := range out.Graph.Steps {
		s := &out.Graph.Steps[i]
		s.ExtraVars = m.Vars(s.ExtraVars.Redact())
		s.Outputs = m.Vars(s.Outputs)
	}
	return &out
}
