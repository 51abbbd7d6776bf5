// Package page holds the paging types that all lists share.
package page

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/writ-automation/writ/ports/fault"
)

// BadCursor is the fault of a cursor that this server did not make.
var BadCursor = fault.Code{Name: "bad_cursor", Kind: fault.Invalid}

// Clamp returns n bounded by maximum, or fallback if n is zero. Callers refuse negative counts before.
func Clamp(n, fallback, maximum int) int {
	switch {
	case n <= 0:
		return fallback
	case n > maximum:
		return maximum
	default:
		return n
	}
}

// Encode makes an opaque cursor from a key.
func Encode(key any) string {
	b, err := json.Marshal(key)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Decode reads a cursor back into key. It returns a BadCursor fault for anything that Encode did not make.
func Decode(cursor string, key any) error {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, key)
	}
	if err == nil && Encode(key) != cursor {
		err = errors.New("the key reads otherwise than it was written")
	}
	if err != nil {
		f := BadCursor.New("cursor: not a cursor of this list")
		f.Fields = []fault.Field{{Location: "cursor", Message: "not a cursor of this list"}}
		return f.Because(err)
	}
	return nil
}

// MaxRows is the maximum number of rows in one answer of a configuration list.
const MaxRows = 1000

// Window is a part of a list: Limit rows from Offset on. A Limit of zero, or over MaxRows, is MaxRows.
type Window struct{ Offset, Limit int }

// Rows returns the limit within its bounds.
func (w Window) Rows() int { return Clamp(w.Limit, MaxRows, MaxRows) }
