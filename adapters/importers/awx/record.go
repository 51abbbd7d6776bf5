package awx

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/reserved"
)

// record is an object of an export. It knows which members were read, so that the others can be reported.
type record struct {
	ref    string
	values map[string]any
	taken  map[string]bool
}

// newRecord returns the record of a value, without members if that is not an object.
func newRecord(ref string, v any) *record {
	values, _ := v.(map[string]any)
	return &record{ref: ref, values: values, taken: make(map[string]bool, len(values))}
}

func (r *record) take(name string) any {
	r.taken[name] = true
	return r.values[name]
}

func (r *record) text(name string) string { return text(r.take(name)) }

// line returns a text without surrounding space.
func (r *record) line(name string) string { return strings.TrimSpace(r.text(name)) }

func (r *record) flag(name string) bool { return truth(r.take(name)) }

func (r *record) list(name string) []any {
	list, _ := r.take(name).([]any)
	return list
}

// number returns a whole number, 0 for anything else.
func (r *record) number(name string) int {
	n, _ := strconv.Atoi(text(r.take(name)))
	return n
}

func (r *record) child(name string) *record {
	return newRecord(r.ref+"."+name, r.take(name))
}

// skip marks members whose values have no meaning outside of the product.
func (r *record) skip(names ...string) {
	for _, name := range names {
		r.taken[name] = true
	}
}

// text returns a scalar as text.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	default:
		return ""
	}
}

func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return strings.EqualFold(v, "true") || strings.EqualFold(v, "yes")
	default:
		return false
	}
}

// blank reports whether a value is what a member has that nobody set.
func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return strings.TrimSpace(v) == ""
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(v any) bool { return !blank(v) })
	default:
		return false
	}
}

// meaningless reports whether a member says nothing about what an object does: ids, times and counts, the names of the
// object itself, and whom it belongs to.
func meaningless(name string) bool {
	switch name {
	case "id", "type", "url", "created", "modified", "created_by", "modified_by", "status", "summary_fields",
		"natural_key",
		"organization", "user", "team", "managed", "state", "wait", "update_project", "custom_virtualenv", "local_path",
		"new_question", "has_schedules", "schedules", "related", "scm_revision", "identifier", "name",
		"named_url", "user_capabilities":
		return true
	}
	for _, start := range []string{"last_", "next_", "total_", "has_", "hosts_with_", "groups_with_"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// rest warns of the members that were not read and are set. prefix is put before their names.
func (r *record) rest(o *importer.Object, prefix string) {
	for _, name := range r.unread() {
		draft.Warn(o, prefix+reserved.Shown(name), "This setting has no place here and is not kept.")
	}
}

// unread returns the members that were not read and are set, sorted.
func (r *record) unread() (names []string) {
	for name, v := range r.values {
		if !r.taken[name] && !meaningless(name) && !blank(v) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// described warns of a description, which objects here do not have.
func (r *record) described(o *importer.Object) {
	if r.line("description") != "" {
		draft.Warn(o, "description", "The description is not kept: objects have none.")
	}
}
