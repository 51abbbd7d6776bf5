package keys

import (
	"errors"
	"fmt"
)

// Code is the stable name of a refusal. A verdict uses it as its reason.
type Code string

// The codes of everything that this package and its neighbours read or verify.
const (
	// FormatInvalid means that bytes do not have the required form. Nothing after the flaw was checked.
	FormatInvalid Code = "format_invalid"
	// SignatureInvalid means that a signature does not match its key, or that a required one is missing.
	SignatureInvalid Code = "signature_invalid"
	// KeyUntrusted means that the signer is not trusted, or not for this use.
	KeyUntrusted Code = "key_untrusted"
	// KeyRetired means that a retired key signed a tree larger than its last one.
	KeyRetired Code = "key_retired"
	// ProofInvalid means that validly signed data is about something else.
	ProofInvalid Code = "proof_invalid"
)

// Error is a refusal. Its text describes the flaw and never contains key material.
type Error struct {
	Code  Code
	Text  string
	Cause error
}

// New makes a refusal with this code.
func (c Code) New(format string, args ...any) *Error {
	return &Error{Code: c, Text: fmt.Sprintf(format, args...)}
}

// Is reports whether err is, or wraps, a refusal of this code.
func (c Code) Is(err error) bool { return CodeOf(err) == c }

// Because returns a copy with the given cause.
func (e *Error) Because(cause error) *Error {
	made := *e
	made.Cause = cause
	return &made
}

// Error returns the code and the text, followed by the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return string(e.Code) + ": " + e.Text + ": " + e.Cause.Error()
	}
	return string(e.Code) + ": " + e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of the first refusal in err's chain, empty for any other error.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
