package object

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
)

// The faults of this package. Those of package access are common to all contexts.
var (
	NotFound        = access.ObjectNotFound
	NotAllowed      = access.NotAllowed
	NameTaken       = access.NameTaken
	RevisionChanged = access.RevisionChanged
	// UseRequired is a reference to an object that the caller may read but not use.
	UseRequired = access.UseRequired
	// InUse carries Detail used_by, a list of {kind, id} that the caller may read, and others, the number of the rest.
	InUse = fault.Code{Name: "in_use", Kind: fault.Conflict}
)

// Record holds the common fields of named objects. Names are unique per kind within an organization, on one line and
// at most 200 characters long.
type Record struct {
	ID   string
	Name string
	Org  string // empty for none
	// CreatedBy is the account's id, or the name of an actor without one.
	CreatedBy string
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64 // counts the changes by callers; the ETag
}

const maxName = 200 // characters

// Line reports whether s is at most limit characters of UTF-8 on one line, without control characters.
func Line(s string, limit int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsFunc(s, LineBreak)
}

// LineBreak reports whether r is a line break or another control character.
func LineBreak(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// Name returns the name of an object with surrounding space removed. An Invalid fault names the field name.
func Name(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || !Line(s, maxName) {
		return "", fault.BadField("name", "expected 1 to %d characters on one line", maxName)
	}
	return s, nil
}

// Author returns the id of the actor of ctx, or its name if it has no id.
func Author(ctx context.Context) string {
	by := actor.From(ctx)
	if by.ID != "" {
		return by.ID
	}
	return by.Name
}

// Noun returns the word for an object in messages, by its id or the prefix of its kind.
func Noun(id string) string {
	if kind := ids.KindOf(id); kind != "" {
		return strings.ReplaceAll(kind, "_", " ")
	}
	return "object"
}
