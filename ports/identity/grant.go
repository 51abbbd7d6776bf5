package identity

import (
	"context"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// The prefixes of a grant's subject.
const (
	userSubject = "user:"
	teamSubject = "team:"
)

// UserSubject returns the subject of an account.
func UserSubject(id string) string { return userSubject + id }

// TeamSubject returns the subject of a team.
func TeamSubject(id string) string { return teamSubject + id }

// SubjectID splits a subject into the kind of its id and the id. ok is false for any other text.
func SubjectID(subject string) (kind ids.Prefix, id string, ok bool) {
	if id, ok := strings.CutPrefix(subject, userSubject); ok && id != "" {
		return ids.User, id, true
	}
	if id, ok := strings.CutPrefix(subject, teamSubject); ok && id != "" {
		return ids.Team, id, true
	}
	return "", "", false
}

// The kinds of objects that can carry grants, as used in decisions and faults.
const (
	KindProject    = "project"
	KindTemplate   = "template"
	KindInventory  = "inventory"
	KindCredential = "credential"
	KindQueue      = "queue"
)

// KindOf returns the kind of an object by its name, or "" if it cannot carry grants. Each decision calls it.
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

// GrantFilter narrows a list of grants. Empty fields do not filter.
type GrantFilter struct{ Subject, Object string }

// Grants manages grants. Several grants of one subject on one object add up.
type Grants interface {
	// Create stores a grant. first reports that the object had no grant before and is restricted from now on. Errors:
	// GrantExists; UserNotFound or TeamNotFound naming subject; ObjectNotFound naming object.
	Create(ctx context.Context, subject, object string, l access.Level) (g Grant, first bool, err error)
	// Get returns one grant. Errors: GrantNotFound.
	Get(ctx context.Context, id string) (Grant, error)
	// List returns grants in order of creation and their total number.
	List(ctx context.Context, f GrantFilter, w page.Window) ([]Grant, int, error)
	// Delete revokes a grant. After the last one the object follows the global roles again. Errors: GrantNotFound.
	Delete(ctx context.Context, id string) error
}

// GrantStore stores grants. Each change increments the version of rights in the same unit.
type GrantStore interface {
	// InsertGrant stores a grant and restricts its object. Errors: GrantExists, UserNotFound, TeamNotFound,
	// ObjectNotFound. Any name of a queue is an existing object.
	InsertGrant(ctx context.Context, g Grant) (first bool, err error)
	// GrantByID returns a grant. Errors: GrantNotFound, also if its object was removed.
	GrantByID(ctx context.Context, id string) (Grant, error)
	ListGrants(ctx context.Context, f GrantFilter, w page.Window) ([]Grant, int, error)
	// DeleteGrant removes a grant, and with the last one the restriction of its object. Errors: GrantNotFound.
	DeleteGrant(ctx context.Context, id string) error
}

// Object is an object that can carry grants and be part of an organization.
type Object struct {
	ID  string
	Org string // empty for none
}

// Objects registers the objects of other contexts. Both methods join the caller's unit of work.
type Objects interface {
	// Put registers an object or moves it to another organization. A queue with an organization is an error of the
	// caller. Errors: OrgNotFound naming org_id.
	Put(ctx context.Context, o Object) error
	// Remove marks an object as removed. Its grants are hidden and still decide who reads the history that names it.
	Remove(ctx context.Context, id string) error
}

// ObjectStore stores which objects exist.
type ObjectStore interface {
	// PutObject stores an object or its new organization. Errors: OrgNotFound; Internal for an object that cannot
	// carry grants and for a queue with an organization.
	PutObject(ctx context.Context, o Object) error
	// RemoveObject marks an object as removed and hides its grants. An unknown object is no error.
	RemoveObject(ctx context.Context, id string) error
	// Readable lists the objects of a kind that a scope may read, by id, and their total number. Lists of objects are
	// filtered in the same form.
	Readable(ctx context.Context, kind string, s access.Scope, w page.Window) ([]string, int, error)
}

// ObjectRights are the stored rights of one object.
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

// UserRights are the stored rights of one account: its teams and the organizations that it administers.
type UserRights struct {
	UserID string
	Teams  []string
	Admin  []string
}

// Rights are the stored rights, complete or only the changed ones. Complete rights may leave out an object that is
// neither restricted nor in an organization, and an account without teams and organizations. Changed rights contain
// such an object or account with empty fields.
type Rights struct {
	// Version is the version that these rights include at least.
	Version int64
	Objects []ObjectRights
	Users   []UserRights
}

// RightsStore feeds an index of rights. Each change of grants, memberships and the organization of an object
// increments one version, in the order of the commits.
type RightsStore interface {
	// LoadRights returns all stored rights.
	LoadRights(ctx context.Context) (Rights, error)
	// RightsSince returns the current state of everything that changed after a version. ok is false if the changes
	// since then are no longer stored; the caller then loads everything.
	RightsSince(ctx context.Context, version int64) (r Rights, ok bool, err error)
	// ForgetChanges deletes the stored changes except for the newest retain.
	ForgetChanges(ctx context.Context, retain int) error
}

// VersionStore tells the version of rights to those who decide without the token of an account.
type VersionStore interface {
	// RightsVersion returns the version of the newest change, for Principal.Version.
	RightsVersion(ctx context.Context) (int64, error)
}
