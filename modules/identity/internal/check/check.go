// Package check judges members of requests. Its faults name a member and never hold what it was.
package check

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Text reports whether s is at most limit characters, without any control character but those of allowed.
func Text(s string, limit int, allowed string) bool {
	bad := func(r rune) bool { return (unicode.IsControl(r) || lineEnd(r)) && !strings.ContainsRune(allowed, r) }
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsFunc(s, bad)
}

// lineEnd tells the two line ends that are no control characters.
func lineEnd(r rune) bool { return r == '\u2028' || r == '\u2029' }

// Name returns the name of a team or an organization without the space around it.
func Name(field, s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || !Text(s, identity.MaxName, "") {
		return "", fault.BadField(field, "expected 1 to %d characters on one line", identity.MaxName)
	}
	return s, nil
}

// Naming returns a fault of the code that names a member of the request where err is one, and err itself otherwise.
func Naming(err error, c fault.Code, field, message string) error {
	if !c.Is(err) {
		return err
	}
	f := c.New("%s: %s", field, message)
	f.Fields = []fault.Field{{Location: field, Message: message}}
	return f
}

// Author is what a record keeps of the actor that made it: the id, or the name of one without any.
func Author(ctx context.Context) string {
	by := actor.From(ctx)
	if by.ID != "" {
		return by.ID
	}
	return by.Name
}
