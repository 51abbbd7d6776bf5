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
	"github.com/writ-automation/writ/ports/runs"
)

const maxReason = 500 // characters

// Owner returns the account with whose rights a record fires: the caller, or "" if that is the application.
func Owner(ctx context.Context) string {
	if by := actor.From(ctx); by.Type == actor.User {
		return by.ID
	}
	return ""
}

// Reason returns one line for people about why no run was created: the message, what its reasons say beyond that, and
// what has to happen next. An error that is no fault is only logged.
func Reason(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Message == "" || f.Kind == fault.Internal {
		return "an internal error, which the server's log names"
	}
	message := f.Message
	for _, r := range runs.ReasonsOf(err) {
		for _, more := range []string{r.Text, r.Next} {
			if more != "" && !strings.Contains(message, more) {
				message += "; " + more
			}
		}
	}
	text := strings.Map(func(r rune) rune {
		if object.LineBreak(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(message, "\uFFFD"))
	if utf8.RuneCountInString(text) > maxReason {
		text = string([]rune(text)[:maxReason])
	}
	return text
}
