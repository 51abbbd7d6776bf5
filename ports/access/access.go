package access

import (
	"context"
	"strings"
)

// Level is the level of access to an object. Each level includes the lower ones. The empty level gives no access.
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

// Covers reports whether l includes want. No level covers an unknown want, and None covers nothing.
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

// QueueName returns the name of the queue that object names. ok is false for any other object.
func QueueName(object string) (name string, ok bool) { return strings.CutPrefix(object, queuePrefix) }

// Guard decides for the caller of ctx. A context without a request is the application itself, which may do everything.
// A request without a known caller may do nothing.
type Guard interface {
	// May reports whether the caller has the level want on each of the objects. An error means that no decision was
	// possible; callers treat it as a refusal.
	May(ctx context.Context, want Level, objects ...string) (bool, error)
	// Scope returns the scope that lists for the caller are narrowed to.
	Scope(ctx context.Context) (Scope, error)
}

// Scope narrows a list to what its reader may read. The zero value shows the objects that are not restricted, and
// nothing if Strict is set.
type Scope struct {
	// All shows everything, and the other fields are ignored.
	All bool
	// Subjects are the reader and its teams in the form of grants ("user:<id>", "team:<id>").
	Subjects []string
	// Orgs are the organizations whose objects the reader may read whatever their grants are.
	Orgs []string
	// Strict hides objects without any grant as well.
	Strict bool
}

// Everything returns the scope of a reader who may read everything.
func Everything() Scope { return Scope{All: true} }

// Operations decides which operations the caller of ctx may ask for at all, whatever their object. It knows the same
// callers as Guard.
type Operations interface {
	// MayAsk reports whether the role of the caller and the scopes of its token allow an act on objects of a kind. An
	// error means that no decision was possible; callers treat it as a refusal.
	MayAsk(ctx context.Context, kind, act string) (bool, error)
}

// Owners decides who may write the objects of organizations.
type Owners interface {
	// MayWrite reports whether the caller of ctx may create, change and delete objects of a kind in an organization,
	// or in none if org is empty. For kinds that can carry grants it decides only about creation.
	MayWrite(ctx context.Context, kind, org string) (bool, error)
}
