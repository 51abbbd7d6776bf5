package check

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

const below = "source.config."

// Source is the source of a credential in a request, split into public and sealed members.
type Source struct {
	Engine string
	Public map[string]any
	Secret map[string]any // an empty text clears the stored one

	engine any // the extension itself
	fields []extension.ConfigField
	known  bool // the config has no other fields
}

// NewSource validates and splits the source of a request. If an engine does not describe its config, all members are
// secret. Invalid faults name source.engine or source.config.<member>.
func NewSource(engines map[string]extension.Engine, s *secrets.Source, extra secrets.Values) (*Source, error) {
	if s == nil {
		if len(extra) > 0 {
			return nil, fault.BadField("source", "is required")
		}
		return nil, nil
	}
	out := &Source{Engine: s.Engine}
	engine, ok := engines[s.Engine]
	if !ok {
		return nil, fault.BadField("source.engine", "is none that this install has; it has %s", listed(engines))
	}
	if out.engine = any(engine.Resolver); engine.Minter != nil {
		out.engine = engine.Minter
	}
	if d, ok := out.engine.(extension.ConfigDescriber); ok {
		out.fields, out.known = d.ConfigFields(), true
	}
	config, err := plain(s.Config)
	if err != nil {
		return nil, err
	}
	for name, text := range extra {
		config[name] = text.Reveal()
	}
	return out, out.split(config)
}

func listed(engines map[string]extension.Engine) string {
	if len(engines) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(engines)), ", ")
}

// plain returns a config as JSON represents it, so that an engine validates what it will receive later.
func plain(config map[string]any) (map[string]any, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fault.BadField("source.config", "is not JSON")
	}
	if err := Multiline("source.config", string(text)); err != nil {
		return nil, err
	}
	out := map[string]any{}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fault.BadField("source.config", "is not JSON")
	}
	if out == nil {
		out = map[string]any{}
	}
	return out, nil
}

func (s *Source) field(name string) (extension.ConfigField, bool) {
	i := slices.IndexFunc(s.fields, func(f extension.ConfigField) bool { return f.Name == name })
	if i >= 0 {
		return s.fields[i], true
	}
	return extension.ConfigField{Name: name, Secret: true}, !s.known
}

func (s *Source) split(config map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		f, ok := s.field(name)
		v := config[name]
		switch {
		case !ok:
			return fault.BadField(below+name, "is no member of the config of %s", s.Engine)
		case v == nil:
			continue
		}
		if text, ok := v.(string); ok {
			if err := Multiline(below+name, text); err != nil {
				return err
			}
		}
		switch to := &s.Public; {
		case f.Secret:
			put(&s.Secret, name, v)
		case v != "":
			put(to, name, v)
		}
	}
	return nil
}

func put(to *map[string]any, name string, v any) {
	if *to == nil {
		*to = map[string]any{}
	}
	(*to)[name] = v
}

// Stored returns the source in its stored form.
func (s *Source) Stored() *secrets.Source {
	if s == nil {
		return nil
	}
	return &secrets.Source{Engine: s.Engine, Config: s.Public}
}

// Same reports whether the source equals a stored one.
func (s *Source) Same(was *secrets.Source) bool {
	if s == nil || was == nil {
		return s == nil && was == nil
	}
	return s.Engine == was.Engine && len(s.Secret) == 0 && alike(s.Public, was.Config)
}

// RetainsSecrets reports whether a stored source may have secret members that the request does not contain.
func (s *Source) RetainsSecrets(was *secrets.Source) bool {
	if s == nil || was == nil || s.Engine != was.Engine {
		return false
	}
	reported := func(f extension.ConfigField) bool { _, ok := s.Secret[f.Name]; return ok || !f.Secret }
	return !s.known || !all(s.fields, reported)
}

func all[T any](list []T, match func(T) bool) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return !match(x) })
}

// alike compares two configs by their JSON.
func alike(a, b map[string]any) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	x, err := plain(a)
	y, other := plain(b)
	return err == nil && other == nil && reflect.DeepEqual(x, y)
}

// Join returns the secret members of the source, completed with stored ones, after the engine has validated the whole
// config. A stored secret is only sent to the address for which it was stored; with another address the caller has to
// supply it again. Invalid faults name source.config.<member>.
func (s *Source) Join(was *secrets.Source, stored map[string]any) (map[string]any, error) {
	if s == nil {
		return nil, nil
	}
	sealed := map[string]any{}
	if s.RetainsSecrets(was) {
		for name, v := range stored {
			if f, ok := s.field(name); ok && f.Secret {
				sealed[name] = v
			}
		}
	}
	kept := maps.Clone(sealed)
	for name, v := range s.Secret {
		delete(kept, name)
		if sealed[name] = v; v == "" {
			delete(sealed, name)
		}
	}
	now := maps.Clone(sealed)
	maps.Copy(now, s.Public)
	if len(kept) > 0 {
		before := maps.Clone(stored)
		maps.Copy(before, was.Config)
		if where := moved(before, now); where != "" {
			at := slices.Min(slices.Collect(maps.Keys(kept)))
			return nil, fault.BadField(below+at, "has to be given anew where %s%s is another one", below, where)
		}
	}
	return sealed, s.validate(now)
}

// moved returns the address member of the config that differs from the stored one.
func moved(before, now map[string]any) string {
	for _, name := range []string{"address", "url", "endpoint", "host", "server", "vault"} {
		if !reflect.DeepEqual(before[name], now[name]) {
			return name
		}
	}
	return ""
}

// validate lets the engine validate a whole config.
func (s *Source) validate(config map[string]any) error {
	for _, f := range s.fields {
		if _, ok := config[f.Name]; f.Required && !ok {
			return fault.BadField(below+f.Name, "is required")
		}
	}
	v, ok := s.engine.(extension.ConfigValidator)
	if !ok {
		return nil
	}
	err := v.ValidateConfig(maps.Clone(config))
	if err == nil {
		return nil
	}
	var reported *extension.ConfigError
	switch {
	case !errors.As(err, &reported) || s.leaks(config, reported):
		return fault.BadField("source.config", "is refused by the engine %s", s.Engine)
	case reported.Field == "":
		return fault.BadField("source.config", "%s", reported.Message)
	default:
		return fault.BadField(below+reported.Field, "%s", reported.Message)
	}
}

// leaks reports whether the engine's message contains a secret member of the config.
func (s *Source) leaks(config map[string]any, reported *extension.ConfigError) bool {
	for name, v := range config {
		f, _ := s.field(name)
		if text, ok := v.(string); ok && f.Secret && !Short(text) && text != "" &&
			(strings.Contains(reported.Message, text) || strings.Contains(reported.Field, text)) {
			return true
		}
	}
	return false
}
