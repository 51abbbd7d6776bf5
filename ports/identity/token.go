package identity

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/page"
)

// TokenKind is the purpose of a token.
type TokenKind string

// The kinds of tokens. A sign-in creates a session, which expires and ends with a change of the password.
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
	ExpiresAt  time.Time // zero for never
	LastUsedAt time.Time // zero for never
}

// Tokens mints and revokes bearer tokens.
type Tokens interface {
	// Mint creates a token for a user, or for the caller of ctx if userID is empty. The secret is returned once and
	// only its hash is stored. Errors: NotAllowed for another account unless the caller is an admin; UserNotFound
	// naming user_id.
	Mint(ctx context.Context, name, userID string, ttl time.Duration) (Token, string, error)
	// Get returns one token. Errors: TokenNotFound.
	Get(ctx context.Context, id string) (Token, error)
	// List returns tokens in order of creation and their total number.
	List(ctx context.Context, w page.Window) ([]Token, int, error)
	// Revoke ends a token on all servers at once. Errors: TokenNotFound.
	Revoke(ctx context.Context, id string) error
}

// TokenStore stores tokens by the SHA-256 of their secret.
type TokenStore interface {
	// InsertToken stores a token. Errors: UserNotFound if its account does not exist.
	InsertToken(ctx context.Context, t Token, hash [32]byte) error
	// TokenByID returns a token. Errors: TokenNotFound.
	TokenByID(ctx context.Context, id string) (Token, error)
	ListTokens(ctx context.Context, w page.Window) ([]Token, int, error)
	// DeleteToken removes a token. Errors: TokenNotFound.
	DeleteToken(ctx context.Context, id string) error
	// DeleteSessions removes the sessions of an account except for the token but, and returns their number.
	DeleteSessions(ctx context.Context, userID, but string) (int, error)
	// PurgeTokens removes sessions that expired before t, at most limit.
	PurgeTokens(ctx context.Context, t time.Time, limit int) (int, error)
}

// UseStore records when tokens were last used, in batches and never within a request.
type UseStore interface {
	TouchTokens(ctx context.Context, lastUsed map[string]time.Time) error
}
