package runs

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/platform/db"
)

// text is a text column that may be NULL.
type text string

// textOf drops NUL, which no engine stores in text.
func textOf(s string) text { return text(clean(s)) }

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

func (t text) Value() (driver.Value, error) {
	if t == "" {
		return nil, nil
	}
	return string(t), nil
}

// decode reads a JSON document. NULL leaves the target unchanged.
func (t text) decode(into any) error {
	if t == "" {
		return nil
	}
	return db.Wrap(json.Unmarshal([]byte(t), into), "read a stored document")
}

// number is a whole number that may be NULL.
type number struct {
	n     int64
	valid bool
}

func unlessZero(n int) number { return number{int64(n), n != 0} }

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

func (n number) Value() (driver.Value, error) {
	if !n.valid {
		return nil, nil
	}
	return n.n, nil
}

func (n number) int() int { return int(n.n) }

// clean drops NUL, which no engine stores in text. The reports of tools may contain it.
func clean(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", "")
}

// marks returns n argument marks: "?, ?, ?".
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
