package provide

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/modules/secrets/internal/inject"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// members returns the members of a credential; for a custom type, its fields.
func members(o inject.Opened) []secrets.Member {
	if o.Kind != secrets.Custom {
		return o.Kind.Members()
	}
	out := make([]secrets.Member, 0, len(o.Type.Fields))
	for _, f := range o.Type.Fields {
		out = append(out, secrets.Member{Name: f.Name, Secret: f.Secret, Required: f.Required, Type: f.Type})
	}
	return out
}

// lacks returns the name of a missing required secret, or "".
func lacks(o inject.Opened) string {
	for _, m := range members(o) {
		if m.Secret && m.Required && o.Secret[m.Name] == "" {
			return m.Name
		}
	}
	return ""
}

// other maps the names of members that engines without knowledge of credentials use, such as Vault's engine for AWS.
func other(k secrets.Kind) map[string]string {
	if k != secrets.AWS {
		return nil
	}
	return map[string]string{
		"access_key": "access_key_id", "secret_key": "secret_access_key", "security_token": "session_token",
	}
}

// fill sets the members of a credential to the value of an engine, which overrides stored ones: an object by the names
// of its members, a text as the only secret of the credential. The returned text is empty on success. Otherwise it
// continues a sentence after the engine's name and contains nothing of the value.
func fill(u *unsealed, value string) string {
	u.Secret, u.Settings, u.Fields = cloneValues(u.Secret), clone(u.Settings), clone(u.Fields)
	object, isObject := object(value)
	text := ""
	switch {
	case u.Kind == secrets.Env:
		text = fillVariables(u, object, isObject, value)
	case isObject && named(u.Opened, object):
		text = fillMembers(u, object)
	default:
		text = fillText(u, value)
	}
	if text == "" {
		if name := lacks(u.Opened); name != "" {
			text = "gave no " + name
		}
	}
	return text
}

func cloneValues(v secrets.Values) secrets.Values {
	if v == nil {
		return secrets.Values{}
	}
	return maps.Clone(v)
}

// object reads a JSON object whose members stay as they are written.
func object(value string) (map[string]json.RawMessage, bool) {
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(value)))
	var out map[string]json.RawMessage
	if decoder.Decode(&out) != nil || out == nil {
		return nil, false
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, false
	}
	return out, true
}

// named reports whether an object contains members of the credential, at least one of its secrets. The key file of a
// service account is an object too, and does not.
func named(o inject.Opened, object map[string]json.RawMessage) bool {
	names := other(o.Kind)
	for name := range object {
		if n, ok := names[name]; ok {
			name = n
		}
		if slices.ContainsFunc(members(o), func(m secrets.Member) bool {
			return m.Name == name && (m.Secret || o.Kind == secrets.Custom)
		}) {
			return true
		}
	}
	return false
}

// fillVariables accepts an object of strings, or one with such an object as its only member vars.
func fillVariables(u *unsealed, object map[string]json.RawMessage, isObject bool, value string) string {
	if inner, ok := object["vars"]; ok && len(object) == 1 && strings.HasPrefix(strings.TrimSpace(string(inner)), "{") {
		value = string(inner)
	}
	if _, err := inject.Variables(secret.Text(value)); !isObject || err != nil {
		return "gave no object of strings"
	}
	u.Secret["vars"] = secret.Text(value)
	return ""
}

// fillText sets the secret of a credential to a text. A custom type with several secrets needs an object.
func fillText(u *unsealed, value string) string {
	var hidden []secrets.Member
	for _, m := range members(u.Opened) {
		if m.Secret && (m.Required || u.Kind == secrets.Custom) {
			hidden = append(hidden, m)
		}
	}
	switch {
	case len(hidden) == 0:
		return "gave a text, and the type of the credential has no secret field"
	case u.Kind == secrets.Custom && len(hidden) > 1:
		return "gave no object with a field of the credential's type, which has several secret ones"
	case value == "":
		return "gave nothing"
	}
	return set(u, hidden[0], value)
}

// fillMembers sets the members that the credential has and ignores others and nulls.
func fillMembers(u *unsealed, object map[string]json.RawMessage) string {
	names := other(u.Kind)
	for _, written := range slices.Sorted(maps.Keys(object)) {
		name := written
		if n, ok := names[written]; ok {
			if raw, own := object[n]; own && string(raw) != "null" {
				continue
			}
			name = n
		}
		i := slices.IndexFunc(members(u.Opened), func(m secrets.Member) bool { return m.Name == name })
		if i < 0 || string(object[written]) == "null" {
			continue
		}
		m := members(u.Opened)[i]
		value := string(object[written])
		if strings.HasPrefix(value, `"`) {
			if json.Unmarshal(object[written], &value) != nil {
				return "gave no text as " + name
			}
		} else if !m.Secret && m.Type != secrets.Bool || m.Type == secrets.Text && strings.ContainsAny(value[:1], "{[") {
			return "gave no text as " + name
		}
		if text := set(u, m, value); text != "" {
			return text
		}
	}
	return ""
}

// set sets a member to a value of its type.
func set(u *unsealed, m secrets.Member, value string) string {
	if strings.ContainsRune(value, 0) {
		return "gave a NUL character as " + m.Name
	}
	var typed any = value
	switch m.Type {
	case secrets.Bool:
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Sprintf("gave neither true nor false as %s", m.Name)
		}
		typed, value = on, strconv.FormatBool(on)
	case secrets.Object:
		if _, ok := object(value); !ok {
			return "gave no object as " + m.Name
		}
	case secrets.Choice:
		for _, f := range u.Type.Fields {
			if f.Name == m.Name && !slices.Contains(f.Choices, value) {
				return "gave none of the choices as " + m.Name
			}
		}
	}
	switch {
	case m.Secret:
		u.Secret[m.Name] = secret.Text(value)
	case u.Kind == secrets.Custom:
		u.Fields[m.Name] = typed
	default:
		u.Settings[m.Name] = typed
	}
	return ""
}
