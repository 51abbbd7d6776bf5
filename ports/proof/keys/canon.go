package keys

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

const (
	// MaxInteger is the largest integer of a canonical document: the largest that every reader of JSON holds exactly.
	MaxInteger = 1<<53 - 1
	maxDepth   = 32
)

// Encode returns the one canonical form of a value: RFC 8785 order and escapes, no white space, and of numbers only
// integers up to MaxInteger. Fault: FormatInvalid for null, other numbers and what lies too deep.
func Encode(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, FormatInvalid.New("the value has no JSON form").Because(err)
	}
	return canonical(raw)
}

// Decode reads a document that has to be, byte for byte, the canonical form of what was understood of it. A duplicate
// or unknown member, a name in other case, white space, a lone surrogate and trailing data are all refused by that one
// comparison.
func Decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return FormatInvalid.New("the document cannot be read").Because(err)
	}
	again, err := Encode(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return FormatInvalid.New("the document is not in its canonical form")
	}
	return nil
}

func canonical(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, FormatInvalid.New("the document is no JSON").Because(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, FormatInvalid.New("something follows the document")
	}
	return appendValue(make([]byte, 0, len(raw)), v, 0)
}

func appendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, FormatInvalid.New("the document is nested deeper than %d", maxDepth)
	}
	switch x := v.(type) {
	case bool:
		if x {
			return append(b, "true"...), nil
		}
		return append(b, "false"...), nil
	case string:
		return appendString(b, x)
	case json.Number:
		return appendInteger(b, x.String())
	case []any:
		return appendList(b, x, depth)
	case map[string]any:
		return appendObject(b, x, depth)
	default:
		return nil, FormatInvalid.New("the document holds null; a missing value is an absent member")
	}
}

func appendList(b []byte, list []any, depth int) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, v, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, members map[string]any, depth int) ([]byte, error) {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	var err error
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendString(b, name); err != nil {
			return nil, err
		}
		if b, err = appendValue(append(b, ':'), members[name], depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// compareNames orders by UTF-16 code units, as RFC 8785 asks. Below the surrogates that is the order of the bytes.
func compareNames(a, b string) int {
	if plain(a) && plain(b) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func appendInteger(b []byte, n string) ([]byte, error) {
	digits := strings.TrimPrefix(n, "-")
	var v int64
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' {
			return nil, FormatInvalid.New("the document holds a number that is no integer")
		}
		if v = v*10 + int64(c-'0'); v > MaxInteger {
			return nil, FormatInvalid.New("the document holds an integer beyond %d", int64(MaxInteger))
		}
	}
	if v == 0 && n != "0" {
		return nil, FormatInvalid.New("the document holds a zero with a sign")
	}
	return append(b, n...), nil
}

// appendString appends a string in the one form that leaves have as well.
func appendString(b []byte, s string) ([]byte, error) {
	b, flaw := jcs.Append(b, s)
	if flaw != jcs.None {
		return nil, FormatInvalid.New("the document holds a string that has no canonical form (%s)", flaw)
	}
	return b, nil
}
