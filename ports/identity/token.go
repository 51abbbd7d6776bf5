package identity

import (
	"context"
	"net/netip"
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
	Username   string // of the account, as it is now; stores read it and do not store it
	CreatedAt  time.Time
	CreatedBy  string
	ExpiresAt  time.Time // zero for never
	LastUsedAt time.Time // zero for never
	Scopes     Scopes
	Networks   []netip.Prefix // the addresses from which it is valid; every address if empty
	ParentID   string         // the token that it was made with; empty for none
	// SignedInAt is the time of the sign-in that the token rests on: its creation, and for a token made with an API
	// token the time of that one. Zero is unknown.
	SignedInAt time.Time
}

// NewToken is a request for a token. What it leaves out is as in the caller's token, and without limit if the caller
// presents a session or none.
type NewToken struct {
	Name     string
	UserID   string        // empty for the caller
	TTL      time.Duration // zero for never
	Scopes   Scopes
	Networks []string // in CIDR form
	Password Password // of the caller, as a recent sign-in; empty for none
}

// Tokens mints and revokes bearer tokens.
type Tokens interface {
	// Mint creates a token. The secret is returned once and only its hash is stored. A token made with an API token
	// expires no later than that one. Errors: NotAllowed for another account unless the caller is an admin, and for
	// scopes and networks beyond those of the caller's API token; RecentSignInRequired for another account; BadLogin and
	// TooManyAttempts for a wrong password, as for SignIn.Login; UserNotFound naming user_id; BadToken if the caller's
	// token was revoked meanwhile.
	Mint(ctx context.Context, n NewToken) (Token, string, error)
	// Get returns one token. Errors: TokenNotFound.
	Get(ctx context.Context, id string) (Token, error)
	// List returns tokens in order of creation and their total number.
	List(ctx context.Context, w page.Window) ([]Token, int, error)
	// Revoke ends a token on all servers at once. With an API token end the tokens that it made for its own account,
	// and those that these made. Errors: TokenNotFound.
	Revoke(ctx context.Context, id string) error
}

// TokenSet selects tokens of an account. Each set includes the former ones.
type TokenSet int

// The sets of tokens.
const (
	Sessions TokenSet = iota
	// OwnTokens are the API tokens that the account made for itself.
	OwnTokens
	AllTokens
)

// Ended counts tokens that were removed.
type Ended struct{ Sessions, Tokens int }

// TokenStore stores tokens by the SHA-256 of their secret.
type TokenStore interface {
	// InsertToken stores a token. Errors: UserNotFound if its account does not exist, TokenNotFound if its parent does
	// not. Of concurrent units that end the parent or change the account, the later one sees what the earlier one did.
	InsertToken(ctx context.Context, t Token, hash [32]byte) error
	// TokenByID returns a token. Errors: TokenNotFound.
	TokenByID(ctx context.Context, id string) (Token, error)
	ListTokens(ctx context.Context, w page.Window) ([]Token, int, error)
	// DeleteToken removes a token and returns how many others ended with it: of an API token, those of the same account
	// that were made with it, and so on. Errors: TokenNotFound.
	DeleteToken(ctx context.Context, id string) (others int, err error)
	// DeleteTokens removes tokens of an account, but not the session but, and returns how many. No token that a
	// concurrent unit inserts with one of them stays.
	DeleteTokens(ctx context.Context, userID string, s TokenSet, but string) (Ended, error)
	// PurgeTokens removes sessions that expired before t, at most limit.
	PurgeTokens(ctx context.Context, t time.Time, limit int) (int, error)
}

// UseStore records uses, which are no changes of what is used.
type UseStore interface {
	// TouchTokens records when tokens were last used, in batches and never within a request.
	TouchTokens(ctx context.Context, lastUsed map[string]time.Time) error
	// ConfirmAccount records when a provider confirmed an account. Errors: UserNotFound.
	ConfirmAccount(ctx context.Context, userID string, at time.Time) error
}
