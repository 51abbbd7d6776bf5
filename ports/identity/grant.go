package identity

import (
	"context"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// The two forms of a grant's subject.
const (
	userSubject = "user:"
	teamSubject = "team:"
)

// UserSubject names an account as a grant does.
func UserSubject(id string) string { return userSubject + id }

// TeamSubject names a team as a grant does.
func TeamSubject(id string) string { return teamSubject + id }

// SubjectID splits a subject into the kind of its id and the id. ok is false for anything else.
func SubjectID(subject string) (kind ids.Prefix, id string, ok bool) {
	if id, ok := strings.CutPrefix(subject, userSubject); ok && id != "" {
		return ids.User, id, true
	}
	if id, ok := strings.CutPrefix(subject, teamSubject); ok && id != "" {
		return ids.Team, id, true
	}
	return "", "", false
}

// The kinds of objects that can carry grants, as decisions and faults name them.
const (
	KindProject    = "project"
	KindTemplate   = "template"
	KindInventory  = "inventory"
	KindCredential = "credential"
	KindQueue      = "queue"
)

// KindOf returns the kind of an object by its name, empty for what can carry no grant. Every decision asks it.
func KindOf(object string) string {
	if _, ok := access.QueueName(object); ok {
		return KindQueue
	}
	switch kind := ids.KindOf(object); kind {
	case KindProject, KindTemplate, KindInventory, KindCredential:
		return kind
	default:
		return ""
	}
}

// Grant gives a subject a level on an object.
type Grant struct {
	ID        string
	Subject   string
	Object    string
	Level     access.Level
	CreatedAt time.Time
	CreatedBy string
}

// GrantFilter narrows a list of grants; empty members do not.
type GrantFilter struct{ Subject, Object string }

// Grants keeps grants. Several grants of one subject on one object add up.
type Grants interface {
	// Create stores a grant. first says that the object carried none before and is restricted from now on. The
	// same grant twice is GrantExists. UserNotFound or TeamNotFound naming subject, ObjectNotFound naming object.
	Create(ctx context.Context, subject, object string, l access.Level) (g Grant, first bool, err error)
	// Get returns one grant. GrantNotFound.
	Get(ctx context.Context, id string) (Grant, error)
	// List returns grants in the order of their creation and how many there are.
	List(ctx context.Context, f GrantFilter, w page.Window) ([]Grant, int, error)
	// Delete takes a grant back. With the last one the object follows the global roles again. GrantNotFound.
	Delete(ctx context.Context, id string) error
}

// GrantStore keeps grants. What it changes counts up the version of rights in the same unit.
type GrantStore interface {
	// InsertGrant stores a grant and restricts its object. GrantExists, UserNotFound, TeamNotFound,
	// ObjectNotFound; queues exist by being named.
	InsertGrant(ctx context.Context, g Grant) (first bool, err error)
	// GrantByID returns a grant. GrantNotFound, also for one whose object is gone.
	GrantByID(ctx context.Context, id string) (Grant, error)
	ListGrants(ctx context.Context, f GrantFilter, w page.Window) ([]Grant, int, error)
	// DeleteGrant removes a grant, and with the last one the restriction of its object. GrantNotFound.
	DeleteGrant(ctx context.Context, id string) error
}

// Object is what can carry grants and belong to an organization.
type Object struct {
	ID  string
	Org string // empty: none
}

// Objects is told by the contexts that own them which objects exist. Both methods join the caller's unit of work.
type Objects interface {
	// Put makes an object known, or moves it to another organization. OrgNotFound naming org_id. Queues belong to no
	// organization: to put one into it is a defect of the caller.
	Put(ctx context.Context, o Object) error
	// Remove forgets an object. Its grants go out of sight and still decide who reads the history that names it.
	Remove(ctx context.Context, id string) error
}

// ObjectStore keeps which objects exist.
type ObjectStore interface {
	// PutObject stores an object or its new organization. OrgNotFound; an Internal fault for what can carry no grant,
	// and for a queue with an organization.
	PutObject(ctx context.Context, o Object) error
	// RemoveObject marks an object as gone and hides its grants. An unknown one is no error.
	RemoveObject(ctx context.Context, id string) error
	// Readable lists the objects of a kind that a scope may read, by id, and how many there are: the form in
	// which every list of objects is filtered.
	Readable(ctx context.Context, kind string, s access.Scope, w page.Window) ([]string, int, error)
}

// ObjectRights is what is stored about one object.
type ObjectRights struct {
	Object     string
	Org        string
	Restricted bool
	Grants     []SubjectLevel
}

// SubjectLevel is one grant on an object.
type SubjectLevel struct {
	Subject string
	Level   access.Level
}

// UserRights is what is stored about one account: its teams and the organizations that it administers.
type UserRights struct {
	UserID string
	Teams  []string
	Admin  []string
}

// Rights are the stored rights, whole or what changed of them. An object that is neither restricted nor of an
// organization, and an account without teams and organizations, may be absent from the whole; as a change it stands
// for itself with empty members.
type Rights struct {
	// Version is the least that these rights know.
	Version int64
	Objects []ObjectRights
	Users   []UserRights
}

// RightsStore feeds an index of rights. Every change of grants, memberships and of what belongs to an organization
// counts up one version, in the order of the commits.
type RightsStore interface {
	// LoadRights returns all that is stored.
	LoadRights(ctx context.Context) (Rights, error)
	// RightsSince returns what changed after a version, as it is now. ok is false where nobody remembers any more;
	// load everything then.
	RightsSince(ctx context.Context, version int64) (r Rights, ok bool, err error)
	// ForgetChanges drops what tells of changes but for the newest keep.
	ForgetChanges(ctx context.Context, retain int) error
}
