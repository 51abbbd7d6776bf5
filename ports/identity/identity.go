package identity

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
)

// Role is a global role. Each role includes the lower ones.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// Valid reports whether r is a role.
func (r Role) Valid() bool { return r.Rank() > 0 }

// Rank orders the roles from 1 to 3. It returns 0 for an invalid role.
func (r Role) Rank() int {
	switch r {
	case Viewer:
		return 1
	case Operator:
		return 2
	case Admin:
		return 3
	default:
		return 0
	}
}

// User is the part of an account that every request reads.
type User struct {
	ID        string
	Username  string
	Role      Role
	CreatedAt time.Time
}

// Principal is an authenticated caller. In open mode every caller is the admin account, with Open set.
type Principal struct {
	User    User
	TokenID string
	Scopes  Scopes // of the token
	Open    bool
	// Version is the version of rights that was read with the caller's token. A decision for the principal includes at
	// least the changes up to it.
	Version int64
}

// Need is the permission that an operation needs: to do Act to objects of Kind, and to Object if that is set.
type Need struct {
	Kind string // "run", "pipeline", "token", "queue", ...
	Act  string // "read", "submit", "control", "approve", "mint", ...; for an object "read", "use" or "manage"
	// Object is an id or queue:<name>. Empty means the kind alone.
	Object string
	// Org is the future organization of an object that does not exist yet.
	Org string
}

// Authenticator resolves callers with one indexed read. It caches nothing between requests, so a revocation is
// effective from the next request on, on every server.
type Authenticator interface {
	// Authenticate resolves a bearer token that the actor of ctx presents. Errors: BadToken for one that is unknown,
	// malformed, expired or revoked, that is not valid from the actor's address, or that is empty unless the install is
	// open.
	Authenticate(ctx context.Context, bearer string) (Principal, error)
	// Account resolves the account of a ticket and the token that it was minted with. In open mode it returns the same
	// caller as Authenticate. Errors: BadToken if one of them is empty or was removed, or the token has expired or is
	// not valid from the address of ctx's actor.
	Account(ctx context.Context, userID, tokenID string) (Principal, error)
}

// Authorizer decides what callers may do.
type Authorizer interface {
	// Authorize returns NotAllowed for a known caller without the needed permission.
	Authorize(ctx context.Context, p Principal, n Need) error
	// Scope returns the scope that lists for the principal are narrowed to.
	Scope(ctx context.Context, p Principal) (access.Scope, error)
}

// Bootstrap creates the first account of a new install.
type Bootstrap interface {
	// EnsureAdmin creates the account "admin" if no account exists. With mint it also creates its first token and
	// returns the secret. Later calls return an empty secret.
	EnsureAdmin(ctx context.Context, mint bool) (secret string, err error)
}

type principalKey struct{}

// With returns a context with the caller p.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns the caller of ctx; ok is false without an authenticated one.
func From(ctx context.Context) (p Principal, ok bool) {
	p, ok = ctx.Value(principalKey{}).(Principal)
	return p, ok
}
