package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// text is a text column that may be NULL.
type text string

// Scan implements sql.Scanner.
func (t *text) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = ""
	case string:
		*t = text(v)
	case []byte:
		*t = text(v)
	default:
		return fmt.Errorf("scan text from %T", src)
	}
	return nil
}

// decode reads a JSON document; NULL leaves the target as it is.
func (t text) decode(into any) error {
	if t == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(t), into); err != nil {
		return fmt.Errorf("read a stored document: %w", err)
	}
	return nil
}

// number is a whole number that may be NULL.
type number struct {
	n     int64
	valid bool
}

// Scan implements sql.Scanner.
func (n *number) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*n = number{}
	case int64:
		*n = number{n: v, valid: true}
	default:
		return fmt.Errorf("scan a number from %T", src)
	}
	return nil
}

func (n number) int() int { return int(n.n) }

// document makes the JSON that is stored for v, without touching the text of raw members. Nil where there is
// nothing to store.
func document(v any, present bool) (any, error) {
	if !present {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("make a stored document: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// orNull is NULL for the empty string.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return clean(s)
}

// numberOrNull is NULL for zero.
func numberOrNull(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// clean drops the one character that no engine keeps in text. Tools put it into what they report.
func clean(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", "")
}

// marks returns n argument marks in parentheses' inside form: "?, ?, ?".
func marks(n int) string {
	if n == 0 {
		return ""
	}
	return strings.Repeat("?, ", n-1) + "?"
}

// anys makes arguments of a list.
func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

func compareText(a, b any) int {
	x, _ := a.(string)
	y, _ := b.(string)
	return strings.Compare(x, y)
}
