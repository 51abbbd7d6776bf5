package runs

import (
	"bytes"
	"encoding/json"
)

// Masker replaces values that are secrets. It never changes what it is given.
type Masker map[string]struct{}

// Add adds secrets. It skips the empty text, which every unset value equals.
func (m Masker) Add(secrets []string) {
	for _, s := range secrets {
		if s != "" {
			m[s] = struct{}{}
		}
	}
}

// Whole returns Redacted for a text that is a secret.
func (m Masker) Whole(s string) string {
	if _, secret := m[s]; secret {
		return Redacted
	}
	return s
}

// Env returns an environment with masked values.
func (m Masker) Env(env map[string]string) map[string]string {
	if env == nil {
		return nil
	}
	out := make(map[string]string, len(env))
	for k, v := range env {
		out[k] = m.Whole(v)
	}
	return out
}

// Vars returns variables in which every text that is a secret is Redacted, at any depth.
func (m Masker) Vars(v Vars) Vars {
	if len(m) == 0 || v == nil {
		return v
	}
	out := make(Vars, len(v))
	for k, raw := range v {
		out[k] = m.value(raw)
	}
	return out
}

func (m Masker) value(raw json.RawMessage) json.RawMessage {
	t := bytes.TrimSpace(raw)
	var s string
	var o Vars
	var l []json.RawMessage
	switch {
	case len(t) == 0:
	case t[0] == '"' && json.Unmarshal(t, &s) == nil:
		if m.Whole(s) != s {
			return marshal(Redacted)
		}
	case t[0] == '{' && json.Unmarshal(t, &o) == nil:
		return marshal(m.Vars(o))
	case t[0] == '[' && json.Unmarshal(t, &l) == nil:
		for i := range l {
			l[i] = m.value(l[i])
		}
		return marshal(l)
	}
	return raw
}

// Secrets returns the values of a run's variables that look secret.
func (r *Run) Secrets() []string {
	out := r.Vars.Secrets()
	if r.Graph != nil {
		out = append(out, r.Graph.Vars.Secrets()...)
		for i := range r.Graph.Steps {
			out = append(out, r.Graph.Steps[i].ExtraVars.Secrets()...)
		}
	}
	return out
}
