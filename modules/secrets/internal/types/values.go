package types

import (
	"maps"
	"slices"
	"strconv"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// Values are the fields and secrets of a credential of a custom type.
type Values struct {
	Fields map[string]any // fields that are not secret, with their defaults
	Secret secrets.Values // an empty text clears the stored one
}

// Split validates input and splits it into public fields and secrets. A secret may be among the fields or apart from
// them; a boolean that is apart is the text true or false. Invalid faults name fields.<name> or secret.<name> and
// contain no value.
func Split(t secrets.Type, input map[string]any, beside secrets.Values) (Values, error) {
	out := Values{Fields: map[string]any{}, Secret: secrets.Values{}}
	for _, name := range slices.Sorted(maps.Keys(input)) {
		i := slices.IndexFunc(t.Fields, func(f secrets.Field) bool { return f.Name == name })
		at, v := "fields."+name, input[name]
		if i < 0 {
			return out, fault.BadField(at, "is no field of the type")
		}
		f := t.Fields[i]
		empty := v == "" && (f.Secret || f.Type != secrets.Bool)
		if v == nil || empty && !f.Secret {
			continue
		}
		if !empty {
			if err := value(at, f, v); err != nil {
				return out, err
			}
		}
		if f.Secret {
			out.Secret[name] = textOf(v)
		} else {
			out.Fields[name] = v
		}
	}
	if err := out.beside(t, beside); err != nil {
		return out, err
	}
	for _, f := range t.Fields {
		if _, ok := out.Fields[f.Name]; ok || f.Secret {
			continue
		}
		switch {
		case f.Default != nil:
			out.Fields[f.Name] = f.Default
		case f.Required:
			return out, fault.BadField("fields."+f.Name, "is required")
		}
	}
	return out, nil
}

// beside reads the secrets that are supplied outside of the fields.
func (v *Values) beside(t secrets.Type, input secrets.Values) error {
	for _, name := range slices.Sorted(maps.Keys(input)) {
		at, text := "secret."+name, input[name].Reveal()
		i := slices.IndexFunc(t.Fields, func(f secrets.Field) bool { return f.Name == name && f.Secret })
		if i < 0 {
			return fault.BadField(at, "is no secret of the type")
		}
		if _, twice := v.Secret[name]; twice {
			return fault.BadField(at, "is given among the fields as well")
		}
		if text != "" {
			if err := value(at, t.Fields[i], typed(t.Fields[i], text)); err != nil {
				return err
			}
		}
		v.Secret[name] = input[name]
	}
	return nil
}

// typed converts a text to the type of its field.
func typed(f secrets.Field, text string) any {
	if f.Type == secrets.Bool && (text == "true" || text == "false") {
		return text == "true"
	}
	return text
}

func textOf(v any) secret.Text {
	if b, ok := v.(bool); ok {
		return secret.Text(strconv.FormatBool(b))
	}
	s, _ := v.(string)
	return secret.Text(s)
}

// Complete reports whether every secret that a type requires is among the values.
func Complete(t secrets.Type, values secrets.Values) bool {
	for _, f := range t.Fields {
		if f.Secret && f.Required && values[f.Name] == "" {
			return false
		}
	}
	return true
}
