package jcs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

const (
	// MaxInteger is the largest integer that every JSON reader represents exactly.
	MaxInteger = 1<<53 - 1
	// MaxDepth is the default limit of nesting.
	MaxDepth = 32
)

// Form defines the allowed values of a document. The zero value is the strictest: text, booleans, lists, objects and
// integers from 0 to MaxInteger.
type Form struct {
	Negative bool // negative integers
	Written  bool // a json.Number, unchanged
	Null     bool // null; without it a nil value is an absent member
	NUL      bool // U+0000 in a text
	// Text and Name map each text and each member name before it is written; nil changes nothing.
	Text, Name func(string) string
	Depth      int // zero is MaxDepth
	Bytes      int // limit of the output; zero is unlimited
}

// Error is the refusal of a value that the form does not allow.
type Error struct{ What string }

// Error returns the refusal as a sentence.
func (e *Error) Error() string { return "a canonical document cannot have " + e.What }

func unsupported(what string) error { return &Error{What: what} }

// Append appends the canonical form of a value: RFC 8785 order and escapes, no white space. It accepts the values that
// encoding/json decodes into any, integers, and lists and objects of those.
func (f Form) Append(b []byte, v any) ([]byte, error) {
	f.Depth = cmp.Or(f.Depth, MaxDepth)
	return f.value(b, v, 0)
}

// Transform appends the canonical form of a JSON text.
func (f Form) Transform(b, text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, unsupported("data after its value")
	}
	return f.Append(b, v)
}

func (f *Form) value(b []byte, v any, depth int) ([]byte, error) {
	switch {
	case depth > f.Depth:
		return nil, unsupported("a value that is nested deeper than " + strconv.Itoa(f.Depth))
	case f.Bytes > 0 && len(b) > f.Bytes:
		return nil, unsupported("more than " + strconv.Itoa(f.Bytes) + " bytes")
	}
	switch x := v.(type) {
	case nil:
		if !f.Null {
			return nil, unsupported("null; a missing value is an absent member")
		}
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, x), nil
	case string:
		return f.text(b, x, f.Text)
	case []any:
		return list(f, b, x, depth)
	case []string:
		return list(f, b, x, depth)
	case []int64:
		return list(f, b, x, depth)
	case []map[string]any:
		return list(f, b, x, depth)
	case map[string]any:
		return object(f, b, x, depth)
	case map[string]string:
		return object(f, b, x, depth)
	case json.Number:
		return f.number(b, x.String())
	}
	n, ok := whole(v)
	if !ok || n < 0 && !f.Negative && !f.Written {
		return nil, unsupported("a value that is not a text, boolean, integer up to 2^53-1, list or object")
	}
	return strconv.AppendInt(b, n, 10), nil
}

func (f *Form) text(b []byte, s string, mend func(string) string) ([]byte, error) {
	if mend != nil {
		s = mend(s)
	}
	b, flaw := appendText(b, s, f.NUL)
	if flaw != None {
		return nil, unsupported("a string that has no canonical form (" + string(flaw) + ")")
	}
	return b, nil
}

// number appends a json.Number.
func (f *Form) number(b []byte, n string) ([]byte, error) {
	if f.Written {
		return append(b, n...), nil
	}
	v, err := strconv.ParseInt(n, 10, 64)
	switch {
	case err != nil && strings.Trim(n, "-0123456789") != "":
		return nil, unsupported("a number that is not an integer")
	case err != nil || v > MaxInteger || v < -MaxInteger:
		return nil, unsupported("an integer beyond " + strconv.Itoa(MaxInteger))
	case v < 0 && !f.Negative:
		return nil, unsupported("an integer below zero")
	case strconv.FormatInt(v, 10) != n:
		return nil, unsupported("an integer that is not plain decimal")
	}
	return append(b, n...), nil
}

// whole returns an integer that every JSON reader represents exactly.
func whole(v any) (n int64, ok bool) {
	switch x := v.(type) {
	case int:
		n = int64(x)
	case int64:
		n = x
	case int32:
		n = int64(x)
	case uint32:
		n = int64(x)
	case uint64:
		n = int64(min(x, MaxInteger+1)) //nolint:gosec // bounded
	case float64: // encoding/json decodes numbers to it
		if n = int64(x); float64(n) != x {
			return 0, false
		}
	default:
		return 0, false
	}
	return n, n >= -MaxInteger && n <= MaxInteger
}

func list[T any](f *Form, b []byte, values []T, depth int) (_ []byte, err error) {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = f.value(b, v, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func object[T any](f *Form, b []byte, members map[string]T, depth int) (_ []byte, err error) {
	b = append(b, '{')
	for i, name := range slices.SortedFunc(maps.Keys(members), compareNames) {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = f.text(b, name, f.Name); err != nil {
			return nil, err
		}
		if b, err = f.value(append(b, ':'), members[name], depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// compareNames orders by UTF-16 code units, as RFC 8785 requires. For ASCII that is the order of the bytes.
func compareNames(a, b string) int {
	if ascii(a) && ascii(b) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
