package record

import (
	"bytes"
	"encoding/json"

	"github.com/writ-automation/writ/ports/runs"
)

// Redact returns a copy of r that readers may see: hidden texts and variables that look secret are redacted, and so is
// every value of the variables, outputs, environment and steps that equals such a secret or one of the further ones.
func Redact(r *runs.Run, further ...string) *runs.Run {
	if r == nil {
		return nil
	}
	m := masker{}
	m.add(further)
	m.add(Secrets(r))
	out := *r.Conceal()
	out.Vars = m.vars(out.Vars.Redact())
	out.Outputs = m.vars(out.Outputs)
	out.Spec.Env = m.env(out.Spec.Env)
	out.Graph = m.graph(out.Graph)
	return &out
}

// Secrets returns the values of a run's variables that look secret.
func Secrets(r *runs.Run) []string {
	out := r.Vars.Secrets()
	if r.Graph != nil {
		out = append(out, r.Graph.Vars.Secrets()...)
		for i := range r.Graph.Steps {
			out = append(out, r.Graph.Steps[i].ExtraVars.Secrets()...)
		}
	}
	return out
}

type masker map[string]struct{}

// add skips the empty string, since every unset value equals it.
func (m masker) add(secrets []string) {
	for _, s := range secrets {
		if s != "" {
			m[s] = struct{}{}
		}
	}
}

func (m masker) env(env map[string]string) map[string]string {
	if len(m) == 0 || env == nil {
		return env
	}
	out := make(map[string]string, len(env))
	for k, v := range env {
		if _, secret := m[v]; secret {
			v = runs.Redacted
		}
		out[k] = v
	}
	return out
}

func (m masker) graph(g *runs.Graph) *runs.Graph {
	if g == nil {
		return nil
	}
	out := &runs.Graph{Vars: m.vars(g.Vars.Redact()), Steps: append([]runs.StepState(nil), g.Steps...)}
	for i := range out.Steps {
		s := &out.Steps[i]
		s.ExtraVars = m.vars(s.ExtraVars.Redact())
		s.Outputs = m.vars(s.Outputs)
	}
	return out
}

func (m masker) vars(v runs.Vars) runs.Vars {
	if len(m) == 0 || v == nil {
		return v
	}
	out := make(runs.Vars, len(v))
	for k, raw := range v {
		out[k] = m.value(raw)
	}
	return out
}

func (m masker) value(raw json.RawMessage) json.RawMessage {
	t := bytes.TrimSpace(raw)
	if len(t) == 0 {
		return raw
	}
	var s string
	var o map[string]json.RawMessage
	var l []json.RawMessage
	switch {
	case t[0] == '"' && json.Unmarshal(t, &s) == nil:
		if _, secret := m[s]; secret {
			return json.RawMessage(`"` + runs.Redacted + `"`)
		}
	case t[0] == '{' && json.Unmarshal(t, &o) == nil:
		return encode(m.vars(o), raw)
	case t[0] == '[' && json.Unmarshal(t, &l) == nil:
		for i := range l {
			l[i] = m.value(l[i])
		}
		return encode(l, raw)
	}
	return raw
}

func encode(v any, fallback json.RawMessage) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return fallback
	}
	return b
}
