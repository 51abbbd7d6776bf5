package gotemplate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// function is a function of templates with the numbers of its arguments; most is -1 without a limit.
type function struct {
	least, most int
	do          func(args []any) (any, error)
}

func functions() map[string]function {
	escaping := func(escape func(string) string) function {
		return function{0, -1, func(a []any) (any, error) { return escape(printed(a)), nil }}
	}
	ordering := func(holds func(int) bool) function {
		return function{2, 2, func(a []any) (any, error) {
			n, err := compared(a[0], a[1])
			return holds(n), err
		}}
	}
	return map[string]function{
		"and": {}, "or": {}, // evaluated by logical
		"not":      {1, 1, func(a []any) (any, error) { return !truth(a[0]), nil }},
		"eq":       {2, -1, func(a []any) (any, error) { return slices.ContainsFunc(a[1:], equalTo(a[0])), nil }},
		"ne":       {2, 2, func(a []any) (any, error) { return !equalTo(a[0])(a[1]), nil }},
		"lt":       ordering(func(n int) bool { return n < 0 }),
		"le":       ordering(func(n int) bool { return n <= 0 }),
		"gt":       ordering(func(n int) bool { return n > 0 }),
		"ge":       ordering(func(n int) bool { return n >= 0 }),
		"len":      {1, 1, func(a []any) (any, error) { return length(a[0]) }},
		"index":    {1, -1, indexed},
		"slice":    {1, 3, sliced},
		"print":    {0, -1, func(a []any) (any, error) { return printed(a), nil }},
		"println":  {0, -1, func(a []any) (any, error) { return fmt.Sprintln(plain(a)...), nil }},
		"printf":   {1, -1, formatted},
		"html":     escaping(html.EscapeString),
		"urlquery": escaping(url.QueryEscape),
		"json":     {1, 1, func(a []any) (any, error) { return encoded(a[0]) }},
		"join":     {2, 2, joined},
	}
}

// text returns a value as it is written.
func text(v any) string {
	if v == nil {
		return "<no value>"
	}
	return fmt.Sprint(v)
}

func printed(args []any) string { return fmt.Sprint(plain(args)...) }

// plain converts the numbers of a document to numbers of Go, for formats.
func plain(args []any) []any {
	out := slices.Clone(args)
	for i, v := range out {
		out[i] = number(v)
	}
	return out
}

// number converts a number of a document to one of Go; one that is too large stays a text.
func number(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	if f, err := n.Float64(); err == nil {
		return f
	}
	return n.String()
}

func formatted(args []any) (any, error) {
	format, ok := args[0].(string)
	if !ok {
		return nil, errors.New("the format is not a text")
	}
	return fmt.Sprintf(format, plain(args[1:])...), nil
}

// truth reports whether a value is not zero and not empty.
func truth(v any) bool {
	switch v := number(v).(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	}
	n, err := length(v)
	return err != nil || n > 0
}

func length(v any) (int64, error) {
	switch v := v.(type) {
	case string:
		return int64(len(v)), nil
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return 0, fmt.Errorf("%s has no length", text(v))
}

func members(o map[string]any) []string { return slices.Sorted(maps.Keys(o)) }

func equalTo(a any) func(b any) bool {
	return func(b any) bool {
		if n, err := compared(a, b); err == nil {
			return n == 0
		}
		return reflect.DeepEqual(a, b)
	}
}

// compared compares two numbers or two texts.
func compared(a, b any) (int, error) {
	a, b = number(a), number(b)
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y), nil
		}
	}
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), nil
		}
	}
	x, okX := float(a)
	y, okY := float(b)
	if !okX || !okY {
		return 0, fmt.Errorf("%s and %s can't be compared", text(a), text(b))
	}
	return cmp.Compare(x, y), nil
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// indexed returns an item of lists and objects in each other.
func indexed(args []any) (any, error) {
	v := args[0]
	for _, at := range args[1:] {
		switch o := v.(type) {
		case map[string]any:
			name, ok := at.(string)
			if !ok {
				return nil, fmt.Errorf("%s is not the name of a member", text(at))
			}
			v = o[name]
		case []any:
			i, err := position(at, len(o)-1)
			if err != nil {
				return nil, err
			}
			v = o[i]
		default:
			return nil, fmt.Errorf("%s has no items", text(v))
		}
	}
	return v, nil
}

// position checks an index.
func position(at any, most int) (int, error) {
	i, ok := number(at).(int64)
	if !ok || i < 0 || i > int64(most) {
		return 0, fmt.Errorf("index out of range: %s", text(at))
	}
	return int(i), nil
}

// sliced returns the part of a text or a list from one index to another.
func sliced(args []any) (any, error) {
	n, err := length(args[0])
	if err != nil {
		return nil, err
	}
	bounds := [2]int{0, int(n)}
	for i, at := range args[1:] {
		if bounds[i], err = position(at, int(n)); err != nil {
			return nil, err
		}
	}
	if bounds[0] > bounds[1] {
		return nil, fmt.Errorf("invalid slice index: %d > %d", bounds[0], bounds[1])
	}
	switch v := args[0].(type) {
	case string:
		return strings.ToValidUTF8(v[bounds[0]:bounds[1]], string(utf8.RuneError)), nil
	case []any:
		return v[bounds[0]:bounds[1]], nil
	}
	return nil, errors.New("an object has no order")
}

func encoded(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func joined(args []any) (any, error) {
	list, ok := args[1].([]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", text(args[1]))
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, text(args[0])), nil
}
