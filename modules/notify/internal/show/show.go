package show

import (
	"encoding/json"
	"strings"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// shortest is the length of the shortest secret that is masked inside of a text. A shorter one would match parts of
// other words.
const shortest = 4

// Run returns a copy of r in its public form.
func Run(r *runs.Run) *runs.Run {
	m := runs.Masker{}
	m.Add(r.Secrets())
	r = r.Conceal()
	out := *r
	out.Vars = redacted(r.Vars)
	out.Outputs = m.Vars(r.Outputs.Redact())
	out.Error = inside(m, r.Error)
	out.Warnings = append([]runs.Warning(nil), r.Warnings...)
	for i := range out.Warnings {
		out.Warnings[i].Message = inside(m, out.Warnings[i].Message)
	}
	out.Spec.Env = m.Env(r.Spec.Env)
	out.Spec.Notifications = make([]runs.Notification, len(r.Spec.Notifications))
	for i, n := range r.Spec.Notifications {
		out.Spec.Notifications[i] = n.Masked()
	}
	out.Graph = graph(m, r.Graph)
	return &out
}

// Drift returns a copy of what a run found, in its public form.
func Drift(r *runs.Run, d *estate.DriftFound) *estate.DriftFound {
	if d == nil {
		return nil
	}
	m := runs.Masker{}
	m.Add(r.Secrets())
	out := *d
	out.Playbook, out.Hosts = inside(m, d.Playbook), make([]string, len(d.Hosts))
	for i, host := range d.Hosts {
		out.Hosts[i] = inside(m, host)
	}
	return &out
}

// redacted keeps only the names.
func redacted(v runs.Vars) runs.Vars {
	if v == nil {
		return nil
	}
	out := make(runs.Vars, len(v))
	for k := range v {
		out[k] = json.RawMessage(`"` + runs.Redacted + `"`)
	}
	return out
}

// inside masks the secrets inside of a text.
func inside(m runs.Masker, s string) string {
	for x := range m {
		if len(x) >= shortest {
			s = strings.ReplaceAll(s, x, runs.Redacted)
		}
	}
	return s
}

func graph(m runs.Masker, g *runs.Graph) *runs.Graph {
	if g == nil {
		return nil
	}
	out := &runs.Graph{Vars: redacted(g.Vars), Steps: append([]runs.StepState(nil), g.Steps...)}
	for i := range out.Steps {
		s := &out.Steps[i]
		s.ExtraVars = redacted(s.ExtraVars)
		s.Outputs = m.Vars(s.Outputs.Redact())
	}
	return out
}
