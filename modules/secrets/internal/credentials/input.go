package credentials

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/secrets/internal/check"
	"github.com/writ-automation/writ/modules/secrets/internal/types"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// input is the content of a request, validated as far as possible without the stored credential.
type input struct {
	now    secrets.Credential
	fields map[string]any // as supplied, for a custom type
	secret secrets.Values // as supplied
	source *check.Source
}

// parseInput validates a request. Invalid faults name the member.
func parseInput(engines map[string]extension.Engine, c secrets.Change) (input, error) {
	s := input{fields: c.Fields, secret: c.Secret}
	s.now.Org = c.Org
	var err error
	if s.now.Name, err = object.Name(c.Name); err != nil {
		return s, err
	}
	if err := s.kind(c); err != nil {
		return s, err
	}
	if s.now.Kind == secrets.Custom {
		if len(c.Settings) > 0 {
			return s, fault.BadField("settings", "is for built-in kinds; one of a custom type has fields")
		}
	} else {
		if len(c.Fields) > 0 {
			return s, fault.BadField("fields", "is for custom types; a built-in kind has settings and secret")
		}
		if s.now.Settings, err = check.Settings(c.Kind, c.Settings); err != nil {
			return s, err
		}
		if err := check.Secret(c.Kind, c.Secret); err != nil {
			return s, err
		}
	}
	if s.source, err = check.NewSource(engines, c.Source, c.SourceSecret); err != nil {
		return s, err
	}
	s.now.Source = s.source.Stored()
	return s, nil
}

// kind validates the kind or the type of a credential.
func (s *input) kind(c secrets.Change) error {
	s.now.Kind, s.now.TypeID = c.Kind, c.TypeID
	switch {
	case c.TypeID != "" && c.Kind != "" && c.Kind != secrets.Custom:
		return fault.BadField("type_id", "is for the kind custom")
	case c.TypeID != "" && !ids.Valid(ids.CredentialType, c.TypeID):
		return fault.BadField("type_id", "expected the id of a credential type")
	case c.TypeID != "":
		s.now.Kind = secrets.Custom
		return nil
	case c.Kind == secrets.Custom:
		return fault.BadField("type_id", "is required for the kind custom")
	case c.Kind == "":
		return fault.BadField("kind", "is required, unless there is a type_id")
	case c.Kind.Members() == nil:
		return fault.NoneOf("kind", c.Kind, append(secrets.Kinds(), secrets.Custom)...)
	default:
		return nil
	}
}

// of splits and validates the fields of a custom credential.
func (s *input) of(t secrets.Type) error {
	if s.now.Kind != secrets.Custom {
		return nil
	}
	v, err := types.Split(t, s.fields, s.secret)
	if err != nil {
		return err
	}
	s.now.Fields, s.secret = v.Fields, v.Secret
	s.fields = nil
	return nil
}

// secretNames are the secret members that the credential can have.
func (s *input) secretNames(t secrets.Type) []string {
	var out []string
	for _, m := range s.now.Kind.Members() {
		if m.Secret {
			out = append(out, m.Name)
		}
	}
	for _, f := range t.Fields {
		if f.Secret && s.now.Kind == secrets.Custom {
			out = append(out, f.Name)
		}
	}
	return out
}

// complete reports whether the credential has every required secret.
func (s *input) complete(t secrets.Type, values secrets.Values) bool {
	switch {
	case s.source != nil:
		return true
	case s.now.Kind == secrets.Custom:
		return types.Complete(t, values)
	default:
		return check.Complete(s.now.Kind, values)
	}
}

// warnings returns warnings about input that may not have the expected effect.
func (s *input) warnings(c secrets.Credential) []secrets.Warning {
	var short []string
	for _, name := range names(s.secret) {
		text := s.secret[name]
		if c.Kind == secrets.Env {
			for v, value := range check.Vars(text) {
				if check.Short(value) {
					short = append(short, "secret."+name+"."+v)
				}
			}
		} else if check.Short(text.Reveal()) {
			short = append(short, "secret."+name)
		}
	}
	slices.Sort(short)
	var out []secrets.Warning
	if len(short) > 0 {
		out = append(out, secrets.Warning{Code: secrets.WarnShortSecret, Message: fmt.Sprintf(
			"%s: fewer than four bytes are not masked in what a run prints", strings.Join(short, ", "))})
	}
	if !c.HasSecret {
		out = append(out, secrets.Warning{
			Code:    secrets.WarnNoSecret,
			Message: "the credential has no secret yet: runs that need it are refused until it has one",
		})
	}
	return out
}
