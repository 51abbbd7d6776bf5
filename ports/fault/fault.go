// Package fault declares the error type of all ports.
//
// A fault has a kind, which determines the answer of a driving adapter (an HTTP status, an exit code), a stable code
// that programs may switch on, and one sentence for people. Any other error is a defect or an unexpected failure: its
// kind is Internal and its text is only logged.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a fault. Each kind maps to exactly one HTTP status.
type Kind uint8

// The kinds, in the order of the checks of a request where that order matters.
const (
	Internal Kind = iota
	Unauthenticated
	Forbidden
	Invalid
	Unlicensed
	NotFound
	Conflict
	Stale // a precondition (If-Match) does not match
	TooLarge
	RateLimited
	Unavailable
)

// String returns the kind's name in snake_case; it is also the reason of a fault without a code.
func (k Kind) String() string {
	switch k {
	case Unauthenticated:
		return "unauthenticated"
	case Forbidden:
		return "forbidden"
	case Invalid:
		return "invalid"
	case Unlicensed:
		return "license_required"
	case NotFound:
		return "not_found"
	case Conflict:
		return "conflict"
	case Stale:
		return "precondition_failed"
	case TooLarge:
		return "too_large"
	case RateLimited:
		return "rate_limited"
	case Unavailable:
		return "unavailable"
	default:
		return "internal"
	}
}

// Code is a declared fault: a stable name in snake_case and its kind. Contexts declare theirs in faults.go, which the
// reference page lists.
type Code struct {
	Name string
	Kind Kind
}

// New returns a fault of this code. The message is one plain sentence for the caller; it must not contain a secret, a
// password or a profile value.
func (c Code) New(format string, args ...any) *Error {
	return &Error{Kind: c.Kind, Code: c.Name, Message: fmt.Sprintf(format, args...)}
}

// Is reports whether err is, or wraps, a fault of this code.
func (c Code) Is(err error) bool {
	var f *Error
	return errors.As(err, &f) && f.Code == c.Name
}

// Field names an invalid field of a request by its path, such as "steps[1].name".
type Field struct {
	Location string
	Message  string
}

// Error is a fault. The zero value is an internal fault without text.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	Fields  []Field
	// Detail holds extra members of the answer's body. Values must marshal to JSON and contain no secret.
	Detail map[string]any
	// RetryAfter is the time until the caller of a RateLimited or Unavailable fault should try again, zero for none.
	RetryAfter time.Duration
	// Cause is logged, never shown.
	Cause error
	// Recorded reports that the audit trail has an entry of this refusal.
	Recorded bool
}

// Error returns the message, followed by the cause for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Reason returns the code, or the kind's name for a fault without a code.
func (e *Error) Reason() string {
	if e.Code != "" {
		return e.Code
	}
	return e.Kind.String()
}

// With returns a copy with an added member in Detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Detail = make(map[string]any, len(e.Detail)+1)
	for k, v := range e.Detail {
		c.Detail[k] = v
	}
	c.Detail[key] = value
	return &c
}

// Because returns a copy with the cause.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// KindOf returns the kind of the first fault in err's chain, Internal for any other error.
func KindOf(err error) Kind {
	var f *Error
	if errors.As(err, &f) {
		return f.Kind
	}
	return Internal
}

// Is reports whether err's kind is k.
func Is(err error, k Kind) bool { return err != nil && KindOf(err) == k }

// BadField returns an Invalid fault that names one field by its path.
func BadField(location, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	return &Error{Kind: Invalid, Code: "invalid", Message: location + ": " + msg,
		Fields: []Field{{Location: location, Message: msg}}}
}

// NoneOf returns an Invalid fault for a field whose value is none of its choices. It names both.
func NoneOf[T ~string](location string, value T, choices ...T) *Error {
	return BadField(location, "%s", NoChoice(string(value), choices...))
}

// NoChoice is the text of NoneOf. It shows only a value in the form of a choice, a short word of small letters:
// another one may be a secret in the wrong place.
func NoChoice[T ~string](value string, choices ...T) string {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = string(c)
	}
	if value == "" {
		return "expected one of " + strings.Join(names, ", ")
	}
	shown := "the value"
	if len(value) <= 20 && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz_-") == "" {
		shown = strconv.Quote(value)
	}
	return shown + " is none of " + strings.Join(names, ", ")
}

// Below returns the fault of a part of a document with its fields prefixed by path. Other errors stay as they are.
func Below(path string, err error) error {
	var f *Error
	if !errors.As(err, &f) || len(f.Fields) == 0 {
		return err
	}
	c := *f
	c.Fields = slices.Clone(f.Fields)
	for i := range c.Fields {
		c.Fields[i].Location = path + "." + c.Fields[i].Location
	}
	if strings.HasPrefix(c.Message, f.Fields[0].Location+": ") {
		c.Message = path + "." + c.Message
	}
	return &c
}

// Missing returns the NotFound fault of an object, the same if the caller may not read it.
func Missing(kind, id string) *Error {
	return &Error{Kind: NotFound, Code: kind + "_not_found", Message: fmt.Sprintf("no %s %q", kind, id)}
}

// Wrap returns a fault of the given kind around a cause that is only logged.
func Wrap(kind Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Cause: cause}
}
