package leaf

import (
	"fmt"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

// Code names why a leaf is refused. It stands behind format_invalid or chain_break as the detail, and every verifier
// finds the same one: the first flaw from left to right, as the README of the vectors orders them.
type Code string

// The codes.
const (
	CodeSize       Code = "size"            // more than MaxSize bytes
	CodeSyntax     Code = Code(jcs.Syntax)  // no JSON, cut short, or a value of another type
	CodeSpace      Code = "space"           // white space between the tokens
	CodeControl    Code = Code(jcs.Control) // a control character within a string
	CodeEscape     Code = Code(jcs.Escape)  // an escape that is not canonical, half surrogate pairs included
	CodeUTF8       Code = Code(jcs.UTF8)    // bytes that are no UTF-8
	CodeNUL        Code = Code(jcs.NUL)     // U+0000
	CodeKeyUnknown Code = "key_unknown"     // a key that a leaf does not have
	CodeKeyTwice   Code = "key_twice"       // a key for the second time
	CodeKeyOrder   Code = "key_order"       // a key behind one that it sorts before
	CodeKeyMissing Code = "key_missing"     // the end, or a later key, where a required one has to be
	CodeNumber     Code = "number"          // an integer in another form than plain digits
	CodeRange      Code = "range"           // an integer below one or above MaxInt
	CodeForm       Code = "form"            // a value that is not of its key's form; an empty one
	CodeVersion    Code = "version"         // an integer v that is not Version
	CodeTrailing   Code = "trailing"        // anything behind the end
)

// Error says why a leaf is refused. It never holds a value of the leaf.
type Error struct {
	Code Code
	Key  string // the key whose value is refused or that is out of place; empty where there is none
	At   int    // offset in the scanned bytes, zero where values were refused
}

// Error returns the code, the key and the offset.
func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("leaf: %s at byte %d", e.Code, e.At)
	}
	return fmt.Sprintf("leaf: %s in %q at byte %d", e.Code, e.Key, e.At)
}
