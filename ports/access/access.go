package access

import (
	"context"
	"strings"
)

// Level is how far somebody may go with an object; each includes the one before. The empty level is nothing at all.
type Level string

// The levels.
const (
	None   Level = ""
	Read   Level = "read"
	Use    Level = "use"
	Manage Level = "manage"
)

// Valid reports whether l can be granted.
func (l Level) Valid() bool { return l.rank() > 0 }

// Covers reports whether l includes want. Nothing but an unknown want is covered by None.
func (l Level) Covers(want Level) bool { return l.rank() >= want.rank() && want.rank() > 0 }

func (l Level) rank() int {
	switch l {
	case Read:
		return 1
	case Use:
		return 2
	case Manage:
		return 3
	default:
		return 0
	}
}

const queuePrefix = "queue:"

// Queue names a worker queue as an object.
func Queue(name string) string { return queuePrefix + name }

// QueueName returns the name of the queue that an object is; ok is false for any other object.
func QueueName(object string) (name string, ok bool) { return strings.CutPrefix(object, queuePrefix) }

// Guard decides for the caller of ctx. A context that no request made is the application itself, which may do
// everything; a request without a known caller may do nothing.
type Guard interface {
	// May reports whether the caller may go as far as want with every one of the objects. An error means that
	// nobody could decide, and so a refusal.
	May(ctx context.Context, want Level, objects ...string) (bool, error)
	// Scope returns what lists for the caller are narrowed to.
	Scope(ctx context.Context) (Scope, error)
}

// Scope narrows a list to what its reader may read. The zero value shows objects that are not restricted, and with
// Strict nothing at all.
type Scope struct {
	// All shows everything; the other members then say nothing.
	All bool
	// Subjects are the reader and its teams, as grants name them ("user:<id>", "team:<id>").
	Subjects []string
	// Orgs are the organizations whose objects the reader may read whatever grants they carry.
	Orgs []string
	// Strict hides objects without any grant as well.
	Strict bool
}

// Everything is the scope of a reader from whom nothing is hidden.
func Everything() Scope { return Scope{All: true} }

// Owners decides who may keep objects that belong to organizations.
type Owners interface {
	// MayWrite reports whether the caller of ctx may create, change and delete objects of a kind that belong to an
	// organization, or to none where org is empty. Of what can carry grants it decides about creation alone.
	MayWrite(ctx context.Context, kind, org string) (bool, error)
}
