package keys

import (
	"errors"
	"fmt"
)

// Code is the stable name of why something signed was refused. A verdict carries it as its reason.
type Code string

// The codes of everything that is read or verified here and in the packages beside.
const (
	// FormatInvalid says that bytes are not of the form that they have to have. Nothing was checked behind it.
	FormatInvalid Code = "format_invalid"
	// SignatureInvalid says that a signature does not fit its key, or that one that has to be there is missing.
	SignatureInvalid Code = "signature_invalid"
	// KeyUntrusted says that whoever signed is not trusted, or not for this.
	KeyUntrusted Code = "key_untrusted"
	// KeyRetired says that a retired key signed a tree larger than its last one.
	KeyRetired Code = "key_retired"
	// ProofInvalid says that what is signed well speaks of something else.
	ProofInvalid Code = "proof_invalid"
)

// Error is a refusal. Its text names what was wrong and never repeats key material.
type Error struct {
	Code  Code
	Text  string
	Cause error
}

// New makes a refusal of this code.
func (c Code) New(format string, args ...any) *Error {
	return &Error{Code: c, Text: fmt.Sprintf(format, args...)}
}

// Is reports whether err is, or wraps, a refusal of this code.
func (c Code) Is(err error) bool { return CodeOf(err) == c }

// Because returns a copy with its cause set.
func (e *Error) Because(cause error) *Error {
	made := *e
	made.Cause = cause
	return &made
}

// Error returns the code and the text, with the cause behind them.
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
