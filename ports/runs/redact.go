package runs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// Redacted stands where a value is not shown.
const Redacted = "[redacted]"

// LooksSecret reports whether a variable of this name is treated as a secret: one of its words is password,
// passwd, passphrase, secret, token, key, credential or apikey, in snake, kebab or camel case, singular or plural.
func LooksSecret(name string) bool {
	for _, w := range words(name) {
		switch strings.TrimSuffix(w, "s") {
		case "password", "passwd", "pas", "passphrase", "pwd", "secret", "token", "key", "apikey", "credential":
			return true
		}
	}
	return false
}

// words splits a variable name at what is no letter or digit and where lower case turns to upper case.
func words(name string) []string {
	var b strings.Builder
	var last rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Redact returns a copy in which the value of every member that looks secret, at any depth, is Redacted.
func (v Vars) Redact() Vars {
	if v == nil {
		return nil
	}
	out := make(Vars, len(v))
	for k, raw := range v {
		out[k] = redactValue(k, raw)
	}
	return out
}

func redactValue(key string, raw json.RawMessage) json.RawMessage {
	if LooksSecret(key) {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	switch t := bytes.TrimSpace(raw); {
	case len(t) > 0 && t[0] == '{':
		var m map[string]json.RawMessage
		if json.Unmarshal(t, &m) == nil {
			return marshal(Vars(m).Redact())
		}
	case len(t) > 0 && t[0] == '[':
		var l []json.RawMessage
		if json.Unmarshal(t, &l) == nil {
			for i := range l {
				l[i] = redactValue("", l[i])
			}
			return marshal(l)
		}
	}
	return raw
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	return b
}

// Secrets returns the string values of every member that looks secret, at any depth, longest first: what output
// and events are masked for.
func (v Vars) Secrets() []string {
	var out []string
	for k, raw := range v {
		out = collect(out, LooksSecret(k), raw)
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(out)
}

func collect(out []string, secret bool, raw json.RawMessage) []string {
	var s string
	var m Vars
	var l []json.RawMessage
	switch t := bytes.TrimSpace(raw); {
	case len(t) == 0:
	case t[0] == '"' && secret && json.Unmarshal(t, &s) == nil:
		out = append(out, s)
	case t[0] == '{' && json.Unmarshal(t, &m) == nil:
		for k, x := range m {
			out = collect(out, secret || LooksSecret(k), x)
		}
	case t[0] == '[' && json.Unmarshal(t, &l) == nil:
		for _, x := range l {
			out = collect(out, secret, x)
		}
	}
	return out
}
