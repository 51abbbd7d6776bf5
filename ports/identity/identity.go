package identity

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
)

// Role is a global role; each includes the one before.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// Valid reports whether r is a role.
func (r Role) Valid() bool { return r.Rank() > 0 }

// Rank orders the roles from 1 to 3; anything that is no role ranks 0, below every role.
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

// User is what every request knows of an account.
type User struct {
	ID        string
	Username  string
	Role      Role
	CreatedAt time.Time
}

// Principal is an authenticated caller. An install in open mode makes every caller the admin account, with Open set.
type Principal struct {
	User    User
	TokenID string
	Open    bool
	// Version counts the changes of rights that the caller's token was read with. A decision for the principal
	// knows at least all of those.
	Version int64
}

// Need is what an operation asks of its caller: to do Act to objects of Kind, and to Object where one is named.
type Need struct {
	Kind string // "run", "pipeline", "token", "queue", ...
	Act  string // "read", "submit", "control", "approve", "mint", ...; of an object "read", "use" or "manage"
	// Object is an id or queue:<name>. Empty asks about the kind alone.
	Object string
	// Org is the organization that an object which does not exist yet is to belong to.
	Org string
}

// Authenticator resolves callers with one indexed read. Nothing is kept between requests, so that a revocation holds
// from the next request on, on every server.
type Authenticator interface {
	// Authenticate resolves a bearer token. BadToken for one that is unknown, malformed, expired or revoked, or
	// empty where the install is not open.
	Authenticate(ctx context.Context, bearer string) (Principal, error)
	// Account resolves the account that a ticket names and the token that it was minted with. BadToken where one of
	// them is gone or not named, or the token has expired. In open mode it is the caller that Authenticate returns.
	Account(ctx context.Context, userID, tokenID string) (Principal, error)
}

// Authorizer decides.
type Authorizer interface {
	// Authorize returns NotAllowed for a known caller who may not do what the need says.
	Authorize(ctx context.Context, p Principal, n Need) error
	// Scope returns what lists for the principal are narrowed to.
	Scope(ctx context.Context, p Principal) (access.Scope, error)
}

// Bootstrap makes a fresh install usable.
type Bootstrap interface {
	// EnsureAdmin makes the account "admin" where no account exists. With mint it also makes its first token and
	// returns the secret; the secret is empty on every later call.
	EnsureAdmin(ctx context.Context, mint bool) (secret string, err error)
}

type principalKey struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns the caller of ctx; ok is false where none was authenticated.
func From(ctx context.Context) (p Principal, ok bool) {
	p, ok = ctx.Value(principalKey{}).(Principal)
	return p, ok
}
