package secrets

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// secretOf reads the secret members of a credential. Null means absent. It returns an Invalid fault that names
// secret.<member> and contains no part of the value.
func secretOf(kind secrets.Kind, input httpapi.Values) (secrets.Values, error) {
	if len(input) == 0 {
		return nil, nil
	}
	out := make(secrets.Values, len(input))
	for _, name := range slices.Sorted(maps.Keys(input)) {
		switch v := input[name].(type) {
		case nil:
		case string:
			out[name] = secret.Text(v)
		case bool:
			if kind != secrets.Custom {
				return nil, fault.BadField("secret."+name, "expected string")
			}
			out[name] = secret.Text(strconv.FormatBool(v))
		case map[string]any:
			if typeOf(kind, name) != secrets.Object {
				return nil, fault.BadField("secret."+name, "expected string")
			}
			text, err := written(v)
			if err != nil {
				return nil, fault.BadField("secret."+name, "is not JSON")
			}
			out[name] = text
		default:
			return nil, fault.BadField("secret."+name, "expected %s", expected(typeOf(kind, name)))
		}
	}
	return out, nil
}

func expected(t secrets.FieldType) string {
	if t == secrets.Object {
		return "object"
	}
	return "string"
}

// typeOf returns the type of a secret member of a built-in kind, empty for any other member.
func typeOf(kind secrets.Kind, name string) secrets.FieldType {
	for _, m := range kind.Members() {
		if m.Name == name && m.Secret {
			return m.Type
		}
	}
	return ""
}

// written returns the JSON of an object without escapes for HTML.
func written(v map[string]any) (secret.Text, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return secret.Text(strings.TrimSuffix(b.String(), "\n")), nil
}
