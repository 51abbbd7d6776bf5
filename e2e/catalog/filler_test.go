package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// schema is a schema of the API document.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	ReadOnly             bool
	Enum                 []any
	Items                *schema
	AdditionalProperties any
	Properties           map[string]*schema
}

// filler makes bodies in which every member that a caller can set has a value that is not its zero.
type filler struct {
	t       *testing.T
	bodies  map[string]string // names of request schemas by path
	schemas map[string]*schema
	values  map[string]any  // values for members by name, if a generic text is invalid
	filled  map[string]bool // members that a body had, by schema
	leave   []string        // paths that the current body lacks
	set     map[string]any  // values of the current body, by path
}

func newFiller(t *testing.T, c harness.Client) *filler {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			}
		}
		Components struct{ Schemas map[string]*schema }
	}
	c.Do(http.MethodGet, "/openapi.json", nil).JSON(t, &doc)
	f := &filler{t: t, bodies: map[string]string{}, schemas: doc.Components.Schemas, filled: map[string]bool{}}
	for path, item := range doc.Paths {
		f.bodies[path] = nameOf(item["post"].RequestBody.Content["application/json"].Schema.Ref)
	}
	return f
}

func nameOf(ref string) string { return strings.TrimPrefix(ref, "#/components/schemas/") }

// body fills the body for a path.
func (f *filler) body(path string, v variant) map[string]any {
	f.leave, f.set = v.leave, v.set
	name := f.bodies[path]
	if f.schemas[name] == nil {
		f.t.Fatalf("%s takes no body", path)
	}
	return f.object("", name, f.schemas[name])
}

func (f *filler) object(at, name string, s *schema) map[string]any {
	out := map[string]any{}
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		p, in := s.Properties[member], strings.TrimPrefix(at+"."+member, ".")
		if p.ReadOnly || slices.Contains(f.leave, in) {
			continue
		}
		f.filled[name+"."+member] = true
		out[member] = f.value(in, member, p)
	}
	return out
}

func (f *filler) value(at, member string, s *schema) any {
	v, lastError := f.set[at]
	if !lastError {
		v, lastError = f.values[member]
	}
	if lastError {
		f.mark(s, v)
		return v
	}
	name := nameOf(s.Ref)
	for s.Ref != "" {
		s = f.schemas[nameOf(s.Ref)]
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[len(s.Enum)-1]
	case s.Type == "object" && len(s.Properties) > 0:
		return f.object(at, name, s)
	case s.Type == "object":
		return map[string]any{"a": "b"}
	case s.Type == "array" && member == "steps":
		return []any{map[string]any{"name": "first", "tool": "bash", "command": "true"}, f.value(at+"[]", "", s.Items)}
	case s.Type == "array":
		return []any{f.value(at+"[]", "", s.Items)}
	case s.Type == "boolean":
		return true
	case s.Type == "integer":
		return 2
	default:
		return "some " + member
	}
}

// mark records the members of a value that a test chose.
func (f *filler) mark(s *schema, v any) {
	name := nameOf(s.Ref)
	for s.Ref != "" {
		s = f.schemas[nameOf(s.Ref)]
	}
	switch x := v.(type) {
	case []any:
		for _, item := range x {
			f.mark(s.Items, item)
		}
	case map[string]any:
		for member, inner := range x {
			if p := s.Properties[member]; p != nil {
				f.filled[name+"."+member] = true
				f.mark(p, inner)
			}
		}
	}
}

// whole checks that every member of the bodies of the paths was filled at least once.
func (f *filler) whole(paths []string) {
	seen := map[string]bool{}
	var walk func(name string)
	inside := func(s *schema) {
		for ; s != nil; s = s.Items {
			walk(nameOf(s.Ref))
		}
	}
	walk = func(name string) {
		if name == "" || seen[name] {
			return
		}
		seen[name] = true
		for member, p := range f.schemas[name].Properties {
			if !p.ReadOnly && !f.filled[name+"."+member] {
				f.t.Errorf("no body fills %s of %s: give it a value in one of the variants", member, name)
			}
			inside(p)
		}
	}
	for _, path := range paths {
		walk(f.bodies[path])
	}
}

// unread are the members that no answer contains.
var unread = []string{"secret", "password", "expires_in"}

// lost compares the answer with the request and names every member that differs. Masked texts count as equal, and so do
// ids of another server.
func lost(at string, sent, read any, foreign bool) []string {
	switch x := sent.(type) {
	case map[string]any:
		o, _ := read.(map[string]any)
		var out []string
		for _, member := range slices.Sorted(maps.Keys(x)) {
			in := strings.TrimPrefix(at+"."+member, ".")
			v, there := o[member]
			switch reference := strings.HasSuffix(member, "_id") || strings.HasSuffix(member, "_ids"); {
			case slices.Contains(unread, member):
			case !there:
				out = append(out, in)
			case !foreign || !reference:
				out = append(out, lost(in, x[member], v, foreign)...)
			}
		}
		return out
	case []any:
		list, _ := read.([]any)
		if len(list) != len(x) {
			return []string{at}
		}
		var out []string
		for i := range x {
			out = append(out, lost(fmt.Sprintf("%s[%d]", at, i), x[i], list[i], foreign)...)
		}
		return out
	}
	if s, ok := read.(string); ok && strings.Contains(s, "***") {
		return nil
	}
	a, errA := json.Marshal(sent)
	b, errB := json.Marshal(read)
	if errA != nil || errB != nil || string(a) != string(b) {
		return []string{at + " (" + string(b) + ")"}
	}
	return nil
}
