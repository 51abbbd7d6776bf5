package identity

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/page"
)

// TokenKind says what a token was made for.
type TokenKind string

// The kinds of tokens. A session is made by signing in, ends by itself, and ends with the password that made it.
const (
	APIToken     TokenKind = "api"
	SessionToken TokenKind = "session"
)

// Token is a bearer token without its secret.
type Token struct {
	ID         string
	Kind       TokenKind
	Name       string
	UserID     string
	CreatedAt  time.Time
	CreatedBy  string
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: never
}

// Tokens mints and revokes bearer tokens.
type Tokens interface {
	// Mint makes a token for a user (empty: the caller of ctx). The secret is returned once and only its hash
	// kept. Everybody mints for the own account; for another one it takes an admin, NotAllowed otherwise.
	// UserNotFound naming user_id.
	Mint(ctx context.Context, name, userID string, ttl time.Duration) (Token, string, error)
	// Get returns one token. TokenNotFound.
	Get(ctx context.Context, id string) (Token, error)
	// List returns tokens in the order of their creation and how many there are.
	List(ctx context.Context, w page.Window) ([]Token, int, error)
	// Revoke ends a token everywhere at once. TokenNotFound.
	Revoke(ctx context.Context, id string) error
}

// TokenStore keeps tokens by the SHA-256 of their secret.
type TokenStore interface {
	// InsertToken stores a token. UserNotFound where nobody owns it.
	InsertToken(ctx context.Context, t Token, hash [32]byte) error
	// TokenByID returns a token. TokenNotFound.
	TokenByID(ctx context.Context, id string) (Token, error)
	ListTokens(ctx context.Context, w page.Window) ([]Token, int, error)
	// DeleteToken removes a token. TokenNotFound.
	DeleteToken(ctx context.Context, id string) error
	// DeleteSessions removes the sessions of an account but for one and returns how many; an empty token id spares none.
	DeleteSessions(ctx context.Context, userID, but string) (int, error)
	// PurgeTokens removes sessions that expired before t, at most limit.
	PurgeTokens(ctx context.Context, t time.Time, limit int) (int, error)
}

// UseStore records when tokens were last used, in batches and never within a request.
type UseStore interface {
	TouchTokens(ctx context.Context, lastUsed map[string]time.Time) error
}
