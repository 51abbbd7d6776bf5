package check

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

// Limits of request members.
const (
	MaxPath   = 4096 // bytes of a path
	maxListed = 1000 // ids in one list
)

var queue = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$`)

// ID refuses a text that does not have the form of an id of the kind. It accepts an empty one; the caller decides
// whether the id is required.
func ID(field string, kind ids.Prefix, id string) error {
	if id == "" || ids.Valid(kind, id) {
		return nil
	}
	return fault.BadField(field, "expected the id of %s", Article(string(kind)))
}

// IDs refuses a list with a text that does not have the form of an id of the kind, or with duplicates.
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

// Queue refuses an invalid name of a queue. It accepts an empty one.
func Queue(name string) error {
	if name == "" || queue.MatchString(name) {
		return nil
	}
	return fault.BadField("queue", "is not the name of a queue")
}

// Path returns an Invalid fault for a text that cannot be the path of a file in a repository. It does not check that
// the file exists.
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

// At returns the path of a list's element.
func At(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// Article returns the noun with its article.
func Article(kind string) string {
	noun := object.Noun(kind)
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Message returns the message of a fault, and otherwise for any other error and for an Internal fault.
func Message(err error, otherwise string) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind != fault.Internal && f.Message != "" {
		return f.Message
	}
	return otherwise
}

// Without returns a list without some ids. An empty list stays empty, a nil one nil.
func Without(list []string, ids map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return ids[id] })
}

// Concurrent refuses an impossible number of runs at a time.
func Concurrent(n int) error {
	if n < 0 || n > runs.MaxConcurrent {
		return fault.BadField("max_concurrent", "expected a number from 0 to %d", runs.MaxConcurrent)
	}
	return nil
}

// NewLimit passes on the limit of an object that the open unit creates; nil limits keep none.
func NewLimit(ctx context.Context, l runs.Limits, key string, is int) error {
	if l == nil || is == 0 {
		return nil
	}
	return l.AddLimit(ctx, runs.SlotKey(key), is)
}

// Limit passes on a changed limit in the open unit; nil limits keep none.
func Limit(ctx context.Context, l runs.Limits, key string, was, is int) error {
	if l == nil || was == is {
		return nil
	}
	return l.SetLimit(ctx, runs.SlotKey(key), is)
}
