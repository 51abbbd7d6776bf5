package runs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// Redacted replaces a value that is not shown.
const Redacted = "[redacted]"

// LooksSecret reports whether a variable of this name is treated as a secret: one of its words, in snake, kebab or
// camel case, is password, secret, token, key or the like, singular or plural, or a word contains one that is long
// enough, as in dbpassword and authtoken.
func LooksSecret(name string) bool {
	for _, w := range terms(name) {
		w = strings.TrimSuffix(w, "s")
		switch w {
		case "pas", "pwd", "key":
			return true
		}
		for _, end := range []string{"token", "apikey", "privatekey", "secretkey", "accesskey", "sshkey", "authkey"} {
			if strings.HasSuffix(w, end) {
				return true
			}
		}
		for _, part := range []string{"password", "passwd", "passphrase", "secret", "credential"} {
			if strings.Contains(w, part) {
				return true
			}
		}
	}
	return false
}

// terms splits a variable name at characters other than letters and digits, between lower and upper case, and before
// the last of several capitals that precede a small letter.
func terms(name string) []string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(letters[i-1]) ||
			unicode.IsUpper(letters[i-1]) && i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
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

// Restore returns a copy in which stored values replace Redacted, at any depth, if a read of the stored value shows
// Redacted there: a client that sends back an object has never seen these values.
func (v Vars) Restore(stored Vars) Vars {
	if len(v) == 0 || len(stored) == 0 {
		return v
	}
	out := make(Vars, len(v))
	for name, raw := range v {
		out[name] = raw
		if was, ok := stored[name]; ok {
			out[name] = restoreValue(name, raw, was)
		}
	}
	return out
}

func restoreValue(name string, raw, stored json.RawMessage) json.RawMessage {
	if LooksSecret(name) {
		var text string
		if json.Unmarshal(raw, &text) == nil && text == Redacted {
			return stored
		}
		return raw
	}
	if !bytes.Contains(raw, []byte(Redacted)) {
		return raw
	}
	var members, were Vars
	if json.Unmarshal(raw, &members) == nil && json.Unmarshal(stored, &were) == nil {
		return marshal(members.Restore(were))
	}
	var list, was []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || json.Unmarshal(stored, &was) != nil || len(list) != len(was) {
		return raw
	}
	for i := range list {
		list[i] = restoreValue("", list[i], was[i])
	}
	return marshal(list)
}

// Secrets returns the string values of every member that looks secret, at any depth, the longest first. Output and
// events are masked for them.
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
