package check

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
)

// Bounds of what a request may say.
const (
	MaxPath   = 4096 // bytes of a path
	maxListed = 1000 // ids in one list
)

var queue = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)

// ID refuses what has not the form of an id of the kind. An empty one passes: whether there has to be one is the
// caller's.
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

// Path returns an Invalid fault for what cannot be the path of a file in a repository. Whether there is one is left
// to who reads it.
func Path(field, path string) error {
	switch {
	case len(path) > MaxPath:
		return fault.BadField(field, "is longer than %d bytes", MaxPath)
	case !object.Line(path, MaxPath):
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
func Article(kind string) string {
	noun := object.Noun(kind)
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Message returns what a fault says to people, and otherwise what is said of any other error and of an Internal fault.
func Message(err error, otherwise string) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind != fault.Internal && f.Message != "" {
		return f.Message
	}
	return otherwise
}
