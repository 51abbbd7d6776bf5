package rundeck

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/plaintext"
)

// fields are the members of an object of an export. Reading a member removes it, so that rest names those that nobody
// has read.
type fields map[string]any

func asFields(v any) fields {
	switch v := v.(type) {
	case fields:
		return v
	case map[string]any:
		return v
	default:
		return nil
	}
}

func (f fields) take(name string) any {
	v := f[name]
	delete(f, name)
	return v
}

// drop removes members that mean nothing.
func (f fields) drop(names ...string) {
	for _, n := range names {
		delete(f, n)
	}
}

// raw returns a member as it is written, empty if it is no plain value.
func (f fields) raw(name string) string { return plainText(f.take(name)) }

// text returns a member without surrounding space.
func (f fields) text(name string) string { return strings.TrimSpace(f.raw(name)) }

// flag returns a member that is true or false, and otherwise if it is absent or neither.
func (f fields) flag(name string, otherwise bool) bool {
	if b, err := strconv.ParseBool(strings.ToLower(f.text(name))); err == nil {
		return b
	}
	return otherwise
}

// object returns a member that is an object, nil if it is none.
func (f fields) object(name string) fields {
	o := asFields(f[name])
	if o != nil {
		delete(f, name)
	}
	return o
}

// list returns a member that is a list, or one value in its place.
func (f fields) list(name string) []any {
	switch v := f.take(name).(type) {
	case []any:
		return v
	default:
		if !set(v) {
			return nil
		}
		return []any{v}
	}
}

// rest returns the names of the members that are set and were not read.
func (f fields) rest() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if set(f[name]) {
			out = append(out, name)
		}
	}
	return out
}

// set reports whether a value says anything: it is not empty, and not an object or a list of values that say nothing.
func set(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return strings.TrimSpace(v) != ""
	case bool:
		return v
	case []any:
		return slices.ContainsFunc(v, set)
	case fields:
		return len(v.rest()) > 0
	case map[string]any:
		return len(fields(v).rest()) > 0
	}
	return plainText(v) != "0"
}

func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	default:
		return ""
	}
}

// commaList returns the texts of a list, or of a text with commas between them, without empty ones.
func commaList(v any, separator string) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			add(plainText(x))
		}
	default:
		for part := range strings.SplitSeq(plainText(v), separator) {
			add(part)
		}
	}
	return out
}

// oneLine returns a text for a message: on one line and not long.
func oneLine(s string) string {
	return plaintext.Line(s, 80)
}
