package show

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// shortest is the length of the shortest secret that is masked inside of a text. A shorter one would match parts of
// other words.
const shortest = 4

// Run returns a copy of r in its public form.
func Run(r *runs.Run) *runs.Run {
	m := secrets(r)
	r = r.Conceal()
	out := *r
	out.Vars = redacted(r.Vars)
	out.Outputs = m.vars(r.Outputs.Redact())
	out.Error = m.text(r.Error)
	out.Warnings = append([]runs.Warning(nil), r.Warnings...)
	for i := range out.Warnings {
		out.Warnings[i].Message = m.text(out.Warnings[i].Message)
	}
	if r.Spec.Env != nil {
		out.Spec.Env = make(map[string]string, len(r.Spec.Env))
		for k, v := range r.Spec.Env {
			out.Spec.Env[k] = m.whole(v)
		}
	}
	out.Spec.Notifications = make([]runs.Notification, len(r.Spec.Notifications))
	for i, n := range r.Spec.Notifications {
		out.Spec.Notifications[i] = n.Masked()
	}
	out.Graph = m.graph(r.Graph)
	return &out
}

// masker masks the values that the run's variables mark as secrets.
type masker map[string]struct{}

func secrets(r *runs.Run) masker {
	m := masker{}
	m.add(r.Vars)
	if r.Graph != nil {
		m.add(r.Graph.Vars)
		for i := range r.Graph.Steps {
			m.add(r.Graph.Steps[i].ExtraVars)
		}
	}
	return m
}

// add ignores the empty text: it is no secret, and every unset value would equal it.
func (m masker) add(v runs.Vars) {
	for _, s := range v.Secrets() {
		if s != "" {
			m[s] = struct{}{}
		}
	}
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

func (m masker) whole(s string) string {
	if _, secret := m[s]; secret {
		return runs.Redacted
	}
	return s
}

func (m masker) text(s string) string {
	for x := range m {
		if len(x) >= shortest {
			s = strings.ReplaceAll(s, x, runs.Redacted)
		}
	}
	return s
}

func (m masker) graph(g *runs.Graph) *runs.Graph {
	if g == nil {
		return nil
	}
	out := &runs.Graph{Vars: redacted(g.Vars), Steps: append([]runs.StepState(nil), g.Steps...)}
	for i := range out.Steps {
		s := &out.Steps[i]
		s.ExtraVars = redacted(s.ExtraVars)
		s.Outputs = m.vars(s.Outputs.Redact())
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
	var s string
	var o runs.Vars
	var l []json.RawMessage
	switch {
	case len(t) == 0:
	case t[0] == '"' && json.Unmarshal(t, &s) == nil:
		if _, secret := m[s]; secret {
			return json.RawMessage(`"` + runs.Redacted + `"`)
		}
	case t[0] == '{' && json.Unmarshal(t, &o) == nil:
		return encoded(m.vars(o))
	case t[0] == '[' && json.Unmarshal(t, &l) == nil:
		for i := range l {
			l[i] = m.value(l[i])
		}
		return encoded(l)
	}
	return raw
}

func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`"` + runs.Redacted + `"`)
	}
	return b
}
