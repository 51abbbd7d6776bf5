package identity

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/fault"
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
func (r Role) Valid() bool { return r == Viewer || r == Operator || r == Admin }

// User is an account.
type User struct {
	ID        string
	Username  string
	Role      Role
	CreatedAt time.Time
}

// Token is a bearer token without its secret.
type Token struct {
	ID         string
	Name       string
	UserID     string
	CreatedAt  time.Time
	CreatedBy  string
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: never
}

// Principal is an authenticated caller. An install in open mode makes every caller the admin account, with Open set.
type Principal struct {
	User    User
	TokenID string
	Open    bool
}

// Need is what an operation asks of its caller: to do Act to objects of Kind.
type Need struct {
	Kind string // "run", "pipeline", "token", "system", ...
	Act  string // "read", "submit", "control", "approve", "mint", ...
}

// Authenticator resolves a bearer token. BadToken for one that is unknown, malformed, expired or revoked, or empty
// where the install is not open.
type Authenticator interface {
	Authenticate(ctx context.Context, bearer string) (Principal, error)
}

// Authorizer decides. NotAllowed for a known caller whose role does not suffice.
type Authorizer interface {
	Authorize(ctx context.Context, p Principal, n Need) error
}

// Tokens mints and revokes bearer tokens.
type Tokens interface {
	// Mint makes a token for a user (empty: the caller of ctx). The secret is returned once and only its hash kept.
	Mint(ctx context.Context, name, userID string, ttl time.Duration) (Token, string, error)
	List(ctx context.Context) ([]Token, error)
	// Revoke ends a token everywhere at once. TokenNotFound.
	Revoke(ctx context.Context, id string) error
}

// Bootstrap makes a fresh install usable.
type Bootstrap interface {
	// EnsureAdmin makes the account "admin" where no account exists. With mint it also makes its first token and
	// returns the secret; the secret is empty on every later call.
	EnsureAdmin(ctx context.Context, mint bool) (secret string, err error)
}

// Store keeps accounts and tokens.
type Store interface {
	InsertUser(ctx context.Context, u User) error
	UserByID(ctx context.Context, id string) (User, error)
	UserByName(ctx context.Context, username string) (User, error)
	CountUsers(ctx context.Context) (int, error)
	InsertToken(ctx context.Context, t Token, hash [32]byte) error
	// TokenByHash returns a token with its user. TokenNotFound.
	TokenByHash(ctx context.Context, hash [32]byte) (Token, User, error)
	ListTokens(ctx context.Context) ([]Token, error)
	// DeleteToken removes a token. TokenNotFound.
	DeleteToken(ctx context.Context, id string) error
}

// UseStore records when tokens were last used, in batches and never within a request.
type UseStore interface {
	TouchTokens(ctx context.Context, lastUsed map[string]time.Time) error
}

// The faults of this context.
var (
	BadToken      = fault.Code{Name: "bad_token", Kind: fault.Unauthenticated}
	NotAllowed    = fault.Code{Name: "forbidden", Kind: fault.Forbidden}
	TokenNotFound = fault.Code{Name: "token_not_found", Kind: fault.NotFound}
	UserNotFound  = fault.Code{Name: "user_not_found", Kind: fault.NotFound}
)

// Codes lists every fault of this context.
func Codes() []fault.Code { return []fault.Code{BadToken, NotAllowed, TokenNotFound, UserNotFound} }

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
