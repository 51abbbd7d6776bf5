package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// Secret judges the secret members that a caller gives a credential of a built-in kind. Private keys are judged by
// who reads them. Invalid faults name secret.<member> and say nothing of a value. An empty member is one that is
// cleared.
func Secret(kind secrets.Kind, values secrets.Values) error {
	members := kind.Members()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at, text := "secret."+name, values[name].Reveal()
		m, ok := member(members, name)
		if !ok || !m.Secret {
			return fault.BadField(at, "is no secret of the kind %s", kind)
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

// decode reads JSON with nothing behind it.
func decode(text string, to any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(to); err != nil {
		return err // nobody is told of it: it may hold what it read
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind it")
	}
	return nil
}

// jsonObject refuses what is not a JSON object.
func jsonObject(at, text string) error {
	var members map[string]json.RawMessage
	if decode(text, &members) != nil || members == nil {
		return fault.BadField(at, "expected a JSON object")
	}
	return nil
}

// vars refuses what is not an object of environment variables.
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
			// Of what is no name nobody knows whether it is a secret at the wrong place.
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

// Stored returns secret members in the form in which they are kept: without those that are empty. An object without
// members is empty.
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

// Vars returns the variables of a credential of the kind env, none of what holds none.
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
