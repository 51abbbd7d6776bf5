package objects

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
)

// Members are members of an object by name. Numbers are json.Number.
type Members map[string]any

// Stored is a stored object with the members that an import may set.
type Stored struct {
	object.Record
	Members Members
}

// Kind finds and writes the objects of one kind.
type Kind interface {
	// Named returns for each name the objects that are in no organization, or else those that are in one.
	Named(ctx context.Context, names ...string) (map[string][]Stored, error)
	// Create stores an object in no organization and returns its id.
	Create(ctx context.Context, name string, m Members) (id string, err error)
	// Update replaces the members of an object.
	Update(ctx context.Context, s Stored, m Members) error
	// Differs returns those of the members that Stored does not tell, or not as they are, and that an update changes.
	// Known are the members about which it decides.
	Differs(ctx context.Context, s Stored, m Members) (changed []string, known []string, err error)
}

// Ports are the contexts that store the objects.
type Ports struct {
	Types       secrets.Types
	Credentials secrets.Credentials
	Projects    catalog.Projects
	Inventories catalog.Inventories
	Sources     catalog.Sources
	Templates   catalog.Templates
	Schedules   scheduling.Schedules
}

// Kinds returns all kinds.
func Kinds(p Ports) map[importer.Kind]Kind {
	return map[importer.Kind]Kind{
		importer.CredentialType: types{port: p.Types}, importer.Credential: credentials{port: p.Credentials},
		importer.Project: projects{port: p.Projects}, importer.Inventory: inventories{port: p.Inventories},
		importer.Source: sources{port: p.Sources}, importer.Template: templates{p.Templates},
		importer.Schedule: schedules{p.Schedules},
	}
}

// Changes returns the members of m that differ from those of a stored object, sorted. A member that is missing equals
// one that is empty.
func Changes(ctx context.Context, k Kind, s Stored, m Members) ([]string, error) {
	merged := Merged(s, m)
	changed, known, err := k.Differs(ctx, s, merged)
	if err != nil {
		return nil, err
	}
	var out []string
	for name, value := range m {
		if slices.Contains(known, name) {
			if slices.Contains(changed, name) {
				out = append(out, name)
			}
		} else if !equal(value, s.Members[name]) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Merged returns the members of a stored object, replaced by those of m. Stored members that exclude one of m are left
// out.
func Merged(s Stored, m Members) Members {
	out := maps.Clone(s.Members)
	for name := range m {
		others := importer.Excluded(name)
		maps.DeleteFunc(out, func(other string, _ any) bool { return slices.Contains(others, other) })
	}
	maps.Copy(out, m)
	return out
}

// equal compares values of JSON. Empty ones equal each other, also within objects and lists.
func equal(a, b any) bool { return reflect.DeepEqual(stripped(a), stripped(b)) }

// stripped returns a value without its empty members, nil for an empty value.
func stripped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			if x = stripped(x); x != nil {
				out[k] = x
			}
		}
		if len(out) > 0 {
			return out
		}
	case []any:
		if len(v) > 0 {
			out := make([]any, len(v))
			for i, x := range v {
				out[i] = stripped(x)
			}
			return out
		}
	case json.Number:
		if v != "0" {
			return v.String()
		}
	case string:
		if v != "" {
			return v
		}
	case bool:
		if v {
			return v
		}
	}
	return nil
}

// MembersOf returns the members of a value that JSON describes.
func MembersOf(v any) (Members, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode members: %w", err)
	}
	var m Members
	return m, decode(text, &m)
}

// into sets a value from members.
func into(m Members, v any) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode members: %w", err)
	}
	return decode(text, v)
}

func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("decode members: %w", err)
	}
	return nil
}

// namesAtOnce is the largest number of names in one query.
const namesAtOnce = 500

// named reads the objects of names by list. Of each name those in no organization are alone, if there are any.
func named[T any](names []string, list func(names []string, w page.Window) ([]T, int, error),
	record func(T) object.Record, members func(T) (Members, error)) (map[string][]Stored, error) {
	out := make(map[string][]Stored)
	for some := range slices.Chunk(names, namesAtOnce) {
		for at, total := 0, 1; at < total; {
			found, n, err := list(some, page.Window{Offset: at})
			if err != nil {
				return nil, err
			}
			for _, v := range found {
				m, err := members(v)
				if err != nil {
					return nil, err
				}
				out[record(v).Name] = append(out[record(v).Name], Stored{record(v), m})
			}
			if at, total = at+len(found), n; len(found) == 0 {
				break
			}
		}
	}
	inOrg := func(s Stored) bool { return s.Org != "" }
	for name, all := range out {
		if slices.ContainsFunc(all, func(s Stored) bool { return !inOrg(s) }) {
			out[name] = slices.DeleteFunc(all, inOrg)
		}
	}
	return out, nil
}

// plain decides about no member.
type plain struct{}

func (plain) Differs(context.Context, Stored, Members) (changed, known []string, err error) {
	return nil, nil, nil
}
