package leaf

import (
	"fmt"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

// Code names the flaw of a leaf. It is the detail after format_invalid or chain_break, and every verifier reports the
// same one: the first flaw from left to right, in the order of the README of the vectors.
type Code string

// The codes.
const (
	CodeSize       Code = "size"            // more than MaxSize bytes
	CodeSyntax     Code = Code(jcs.Syntax)  // not JSON, truncated, or a value of another type
	CodeSpace      Code = "space"           // white space between the tokens
	CodeControl    Code = Code(jcs.Control) // a control character in a string
	CodeEscape     Code = Code(jcs.Escape)  // an escape that is not canonical, or half a surrogate pair
	CodeUTF8       Code = Code(jcs.UTF8)    // invalid UTF-8
	CodeNUL        Code = Code(jcs.NUL)     // U+0000
	CodeKeyUnknown Code = "key_unknown"     // an unknown key
	CodeKeyTwice   Code = "key_twice"       // a repeated key
	CodeKeyOrder   Code = "key_order"       // a key after one that it sorts before
	CodeKeyMissing Code = "key_missing"     // the end, or a later key, instead of a required one
	CodeNumber     Code = "number"          // an integer that is not in plain digits
	CodeRange      Code = "range"           // an integer below one or above MaxInt
	CodeForm       Code = "form"            // an empty value, or one in the wrong form for its key
	CodeVersion    Code = "version"         // an integer v other than Version
	CodeTrailing   Code = "trailing"        // bytes after the end
)

// Error is the refusal of a leaf. It never contains a value of the leaf.
type Error struct {
	Code Code
	Key  string // the key of the flaw; empty if there is none
	At   int    // offset in the scanned bytes, zero for refused values
}

// Error returns the code, the key and the offset.
func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("leaf: %s at byte %d", e.Code, e.At)
	}
	return fmt.Sprintf("leaf: %s in %q at byte %d", e.Code, e.Key, e.At)
}
