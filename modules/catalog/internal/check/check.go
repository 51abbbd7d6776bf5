package check

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of what a request may say.
const (
	maxName   = 200  // characters
	MaxPath   = 4096 // bytes of a path
	maxListed = 1000 // ids in one list
)

var queue = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)

// Line reports whether s is at most limit characters of UTF-8 on one line, without control characters.
func Line(s string, limit int) bool {
	bad := func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsFunc(s, bad)
}

// Name returns the name of an object without the space around it. An Invalid fault names name.
func Name(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || !Line(s, maxName) {
		return "", fault.BadField("name", "expected 1 to %d characters on one line", maxName)
	}
	return s, nil
}

// ID refuses what has not the form of an id of the kind. An empty one passes: whether there has to be one is the caller's.
func ID(field string, kind ids.Prefix, id string) error {
	if id == "" || ids.Valid(kind, id) {
		return nil
	}
	return fault.BadField(field, "expected the id of %s", Article(string(kind)))
}

// IDs refuses a list with something that has not the form of an id of the kind, or with one twice.
func IDs(field string, kind ids.Prefix, list []string) error {
	if len(list) > maxListed {
		return fault.BadField(field, "has more than %d members", maxListed)
	}
	for i, id := range list {
		at := At(field, i)
		if !ids.Valid(kind, id) {
			return fault.BadField(at, "expected the id of %s", Article(string(kind)))
		}
		if slices.Contains(list[:i], id) {
			return fault.BadField(at, "is named before")
		}
	}
	return nil
}

// Queue refuses what is not the name of a queue. An empty one passes.
func Queue(name string) error {
	if name == "" || queue.MatchString(name) {
		return nil
	}
	return fault.BadField("queue", "is not the name of a queue")
}

// Path returns an Invalid fault for what cannot be the path of a file in a repository. Whether there is one is left to who reads it.
func Path(field, path string) error {
	switch {
	case len(path) > MaxPath:
		return fault.BadField(field, "is longer than %d bytes", MaxPath)
	case !Line(path, MaxPath):
		return fault.BadField(field, "expected text on one line")
	case strings.HasPrefix(path, "/"), strings.HasPrefix(path, "-"):
		return fault.BadField(field, "expected a path from the root of the repository")
	case slices.Contains(strings.Split(path, "/"), ".."):
		return fault.BadField(field, "leaves the repository")
	default:
		return nil
	}
}

// At is the path of a member of a list.
func At(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// Article returns the noun with its article.
func Article(object string) string {
	noun := Noun(object)
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Noun returns the word for what an object is, as faults say it.
func Noun(object string) string {
	switch kind := ids.KindOf(object); kind {
	case "":
		return "object"
	case "inventory_source":
		return "inventory source"
	default:
		return kind
	}
}

// Naming returns the NotFound fault of a kind of object that names the member of the request whose object does not exist, or may not be
// read.
func Naming(field string, kind ids.Prefix, id string) error {
	f := fault.Missing(ids.KindOf(string(kind)), id)
	said := f.Message
	f.Message = field + ": " + said
	f.Fields = []fault.Field{{Location: field, Message: said}}
	return f
}

// Unusable returns the fault of a kind of object that names the member of the request whose object the caller may read and not use.
func Unusable(field string, kind ids.Prefix) error {
	said := "this takes the right to use the " + Noun(string(kind))
	f := runs.UseRequired.New("%s: %s", field, said)
	f.Fields = []fault.Field{{Location: field, Message: said}}
	return f
}

// Sentence returns what a fault says to people, and otherwise what is said of any other error and of an Internal fault.
func Sentence(err error, otherwise string) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind != fault.Internal && f.Message != "" {
		return f.Message
	}
	return otherwise
}

// Author is what a record keeps of the actor that made it: the id, or the name of one without any.
func Author(ctx context.Context) string {
	by := actor.From(ctx)
	if by.ID != "" {
		return by.ID
	}
	return by.Name
}
