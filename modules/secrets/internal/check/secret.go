package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// Secret validates the secret members of a credential of a built-in kind, except private keys, which the KeyReader
// validates. Invalid faults name secret.<member> and contain no value. An empty member is cleared.
func Secret(kind secrets.Kind, values secrets.Values) error {
	members := kind.Members()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at, text := "secret."+name, values[name].Reveal()
		m, ok := member(members, name)
		if !ok || !m.Secret {
			return fault.BadField(at, "is no secret of the kind %s, which has %s", kind, secretNames(members))
		}
		if text == "" {
			continue
		}
		if err := one(at, kind, m, text); err != nil {
			return err
		}
	}
	return nil
}

func secretNames(members []secrets.Member) string {
	var names []string
	for _, m := range members {
		if m.Secret {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

func one(at string, kind secrets.Kind, m secrets.Member, text string) error {
	switch m.Type {
	case secrets.Text:
		return Text(at, text)
	case secrets.Object:
		if err := Multiline(at, text); err != nil {
			return err
		}
		if kind == secrets.Env {
			return vars(at, text)
		}
		return jsonObject(at, text)
	default:
		return Multiline(at, text)
	}
}

// decode reads a JSON value with no data after it.
func decode(text string, to any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(to); err != nil {
		return err // not shown to callers: the error may contain what it read
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind it")
	}
	return nil
}

// jsonObject refuses text that is not a JSON object.
func jsonObject(at, text string) error {
	var members map[string]json.RawMessage
	if decode(text, &members) != nil || members == nil {
		return fault.BadField(at, "expected a JSON object")
	}
	return nil
}

// vars refuses text that is not an object of environment variables.
func vars(at, text string) error {
	var members map[string]any
	if decode(text, &members) != nil || members == nil {
		return fault.BadField(at, "expected an object of strings")
	}
	if len(members) > maxVars {
		return fault.BadField(at, "has more than %d members", maxVars)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !envName.MatchString(name) {
			// An invalid name may be a secret in the wrong place, so the fault does not repeat it.
			return fault.BadField(at, "has a member that is not the name of an environment variable")
		}
		value, ok := members[name].(string)
		if !ok {
			return fault.BadField(at+"."+name, "expected string")
		}
		if err := EnvName(at+"."+name, name); err != nil {
			return err
		}
		if err := Multiline(at+"."+name, value); err != nil {
			return err
		}
	}
	return nil
}

// Stored returns secret members in their stored form, without empty ones. An object without members is empty.
func Stored(kind secrets.Kind, values secrets.Values) secrets.Values {
	out := make(secrets.Values, len(values))
	for name, text := range values {
		if kind == secrets.Env && len(Vars(text)) == 0 || text == "" {
			continue
		}
		out[name] = text
	}
	return out
}

// Vars returns the variables of a credential of the kind env, or none if it holds none.
func Vars(text secret.Text) map[string]string {
	var members map[string]string
	if decode(text.Reveal(), &members) != nil {
		return nil
	}
	return members
}

// Complete reports whether every secret that a built-in kind requires is among the values.
func Complete(kind secrets.Kind, values secrets.Values) bool {
	for _, m := range kind.Members() {
		if m.Secret && m.Required && values[m.Name] == "" {
			return false
		}
	}
	return true
}
