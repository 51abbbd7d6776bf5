package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// maxLine is how many bytes of an attribute a diff shows.
const maxLine = 2000

// diff returns a line for each attribute that would change. Values that are sensitive before or after are not in it,
// and neither are those with a hidden text.
func (c change) diff(hidden []string) string {
	d := differ{hidden: hidden}
	d.add("", value{c.Before, c.After, c.Unknown, c.BeforeSensitive, c.AfterSensitive})
	return strings.Join(d.lines, "\n")
}

type differ struct{ hidden, lines []string }

const hiddenValue = "(sensitive value)"

// value is a part of a change, with its marks.
type value struct{ before, after, unknown, sensitiveBefore, sensitiveAfter any }

// add adds a line for each attribute below a value that would change.
func (d *differ) add(path string, v value) {
	before, object := v.before.(map[string]any)
	after, other := v.after.(map[string]any)
	unknown, _ := v.unknown.(map[string]any)
	whole := v.unknown == true || v.sensitiveBefore == true || v.sensitiveAfter == true
	if !whole && (object || v.before == nil) && (other || v.after == nil) && len(before)+len(after)+len(unknown) > 0 {
		keys := map[string]any{}
		for _, m := range []map[string]any{before, after, unknown} {
			maps.Copy(keys, m)
		}
		for _, key := range sorted(keys) {
			d.add(strings.TrimPrefix(path+"."+key, "."), value{before[key], after[key], at(v.unknown, key),
				at(v.sensitiveBefore, key), at(v.sensitiveAfter, key)})
		}
		return
	}
	line := v.line()
	if slices.ContainsFunc(d.hidden, func(text string) bool { return strings.Contains(line, text) }) {
		line = hiddenValue
	}
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "..."
	}
	if line != "" {
		d.lines = append(d.lines, strings.TrimPrefix(path+": "+line, ": "))
	}
}

// line says how a value changes, empty for not at all. A list with a sensitive element is sensitive.
func (v value) line() string {
	unknown := marked(v.unknown)
	switch {
	case !unknown && reflect.DeepEqual(v.before, v.after):
		return ""
	case marked(v.sensitiveBefore) || marked(v.sensitiveAfter):
		return hiddenValue
	case unknown && v.before == nil:
		return "(known after apply)"
	case unknown:
		return encoded(v.before) + " -> (known after apply)"
	case v.before == nil:
		return encoded(v.after)
	case v.after == nil:
		return encoded(v.before) + " -> nothing"
	default:
		return encoded(v.before) + " -> " + encoded(v.after)
	}
}

// at returns the marks of a part.
func at(marks any, key string) any {
	if m, ok := marks.(map[string]any); ok {
		return m[key]
	}
	return marks
}

// marked reports whether a value is marked, or a part of it.
func marked(marks any) bool {
	switch m := marks.(type) {
	case bool:
		return m
	case map[string]any:
		return slices.ContainsFunc(sorted(m), func(key string) bool { return marked(m[key]) })
	case []any:
		return slices.ContainsFunc(m, marked)
	default:
		return false
	}
}

// minSecret is the length from which a sensitive text or number is also hidden inside of longer ones.
const minSecret = 4

// leaves adds the texts and numbers below a value that are marked, as JSON.
func leaves(v, marks any, to []string) []string {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			to = leaves(v[key], at(marks, key), to)
		}
	case []any:
		list, parts := marks.([]any)
		for i := range v {
			switch {
			case !parts:
				to = leaves(v[i], marks, to)
			case i < len(list):
				to = leaves(v[i], list[i], to)
			}
		}
	case string, json.Number:
		text := encoded(v)
		if inner := strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`); len(inner) >= minSecret {
			text = inner
		}
		if marked(marks) && text != `""` {
			to = append(to, text)
		}
	}
	return to
}

// encoded returns a value as JSON, which is on one line.
func encoded(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "(no JSON)"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
