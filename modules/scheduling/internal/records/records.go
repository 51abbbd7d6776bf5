// Package records holds the common parts of the records of schedules and triggers.
package records

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
)

const maxReason = 500 // characters

// Owner returns the account with whose rights a record fires: the caller, or "" if that is the application.
func Owner(ctx context.Context) string {
	if by := actor.From(ctx); by.Type == actor.User {
		return by.ID
	}
	return ""
}

// Reason returns one sentence for people about why no run was created. An error that is no fault is only logged.
func Reason(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Message == "" || f.Kind == fault.Internal {
		return "an internal error, which the server's log names"
	}
	text := strings.Map(func(r rune) rune {
		if object.LineBreak(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(f.Message, "\uFFFD"))
	if utf8.RuneCountInString(text) > maxReason {
		text = string([]rune(text)[:maxReason])
	}
	return text
}
