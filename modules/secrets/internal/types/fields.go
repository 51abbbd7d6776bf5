package types

import (
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/secrets/internal/check"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// These bounds apply to types.
const (
	maxFields   = 50
	maxLabel    = 200 // characters
	maxChoices  = 200
	maxChoice   = 200 // characters
	maxInjected = 100 // members of one sort of injector
)

// filesName is the name of the paths of files in templates, and reserved.
const filesName = "files"

// Checked returns a type in the form that is stored. Invalid faults name the member.
func Checked(t secrets.Type) (secrets.Type, error) {
	out := secrets.Type{Fields: t.Fields, Inject: t.Inject}
	var err error
	if out.Name, err = object.Name(t.Name); err != nil {
		return out, err
	}
	if t.Org != "" {
		return out, fault.BadField("org_id", "types belong to no organization")
	}
	if len(t.Fields) == 0 {
		return out, fault.BadField("fields", "needs at least one")
	}
	if len(t.Fields) > maxFields {
		return out, fault.BadField("fields", "has more than %d members", maxFields)
	}
	for i, f := range t.Fields {
		at := fmt.Sprintf("fields[%d]", i)
		if slices.ContainsFunc(t.Fields[:i], func(x secrets.Field) bool { return x.Name == f.Name }) {
			return out, fault.BadField(at+".name", "is named before")
		}
		if err := field(at, f); err != nil {
			return out, err
		}
	}
	return out, injectors(t)
}

func field(at string, f secrets.Field) error {
	switch {
	case !check.Identifier(f.Name):
		return fault.BadField(at+".name", "expected letters, digits and underscores, and no digit first")
	case f.Name == filesName:
		return fault.BadField(at+".name", "is what templates call files")
	case !object.Line(f.Label, maxLabel):
		return fault.BadField(at+".label", "expected at most %d characters on one line", maxLabel)
	}
	switch f.Type {
	case secrets.Text, secrets.Multiline, secrets.Bool:
		if len(f.Choices) > 0 {
			return fault.BadField(at+".choices", "is for the type choice alone")
		}
	case secrets.Choice:
		if err := choices(at+".choices", f.Choices); err != nil {
			return err
		}
	default:
		return fault.NoneOf(at+".type", f.Type, secrets.Text, secrets.Multiline, secrets.Bool, secrets.Choice)
	}
	switch {
	case f.Default == nil:
		return nil
	case f.Secret:
		return fault.BadField(at+".default", "a secret has none")
	default:
		return value(at+".default", f, f.Default)
	}
}

func choices(at string, list []string) error {
	switch {
	case len(list) == 0:
		return fault.BadField(at, "is required for the type choice")
	case len(list) > maxChoices:
		return fault.BadField(at, "has more than %d members", maxChoices)
	}
	for i, c := range list {
		here := fmt.Sprintf("%s[%d]", at, i)
		if c == "" || !object.Line(c, maxChoice) {
			return fault.BadField(here, "expected 1 to %d characters on one line", maxChoice)
		}
		if slices.Contains(list[:i], c) {
			return fault.BadField(here, "is named before")
		}
	}
	return nil
}

// value validates a value of a field. The fault contains nothing of it.
func value(at string, f secrets.Field, v any) error {
	if f.Type == secrets.Bool {
		if _, ok := v.(bool); !ok {
			return fault.BadField(at, "expected boolean")
		}
		return nil
	}
	s, ok := v.(string)
	switch {
	case !ok:
		return fault.BadField(at, "expected string")
	case f.Type == secrets.Choice:
		if !slices.Contains(f.Choices, s) {
			return fault.BadField(at, "is none of the choices")
		}
		return nil
	case f.Type == secrets.Text:
		return check.Text(at, s)
	default:
		return check.Multiline(at, s)
	}
}

// Follows returns TypeInUse for a change of a type that is invalid for its existing credentials.
func Follows(was, now []secrets.Field) error {
	find := func(list []secrets.Field, name string) (secrets.Field, bool) {
		i := slices.IndexFunc(list, func(f secrets.Field) bool { return f.Name == name })
		if i < 0 {
			return secrets.Field{}, false
		}
		return list[i], true
	}
	for _, old := range was {
		f, ok := find(now, old.Name)
		switch {
		case !ok:
			return secrets.TypeInUse.New("credentials are of this type, so that it keeps the field %q", old.Name)
		case f.Type != old.Type:
			return secrets.TypeInUse.New("credentials are of this type, so that its field %q keeps its type", old.Name)
		case f.Secret != old.Secret:
			return secrets.TypeInUse.New("credentials are of this type, so that its field %q stays what it is: a secret or none",
				old.Name)
		case !old.Required && f.Required && f.Default == nil:
			return secrets.TypeInUse.New("credentials are of this type, so that its field %q needs a default to be required",
				old.Name)
		}
	}
	for _, f := range now {
		if _, ok := find(was, f.Name); !ok && f.Required && f.Default == nil {
			return secrets.TypeInUse.New("credentials are of this type, so that a new field, %q, needs a default to be required",
				f.Name)
		}
	}
	return nil
}
