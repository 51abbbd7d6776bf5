package identity

import (
	"context"
	"net/url"
	"time"
)

// Session is what signing in gives.
type Session struct {
	Token  Token
	Secret string // the bearer token, shown once
	User   User
}

// SignIn makes and ends sessions.
type SignIn interface {
	// Login signs in by password. BadLogin, the same after the same time, for a wrong password, an unknown name
	// and an account without a password; TooManyAttempts after too many failures from the actor's address.
	Login(ctx context.Context, username string, p Password) (Session, error)
	// Check resolves a bearer token without counting as its use. BadToken.
	Check(ctx context.Context, bearer string) (Token, User, error)
	// Logout revokes the token of ctx's caller. In open mode there is none to revoke.
	Logout(ctx context.Context) error
	// ChangePassword changes the caller's own; current is empty where there is none yet. It ends the account's
	// other sessions. BadLogin for a wrong current one, TooManyAttempts as for Login. NotAllowed for the first
	// password of an account that an outside provider vouches for: it would outlive the provider's word, so an
	// admin sets it. The first one of any other account takes the caller's token and no more.
	ChangePassword(ctx context.Context, current, next Password) error
}

// Me is who the server resolved a caller to be.
type Me struct {
	User        User
	Token       *Token // nil in open mode
	Teams       []Team
	Orgs        []Membership
	Permissions []Need // the kinds and acts that the caller's global role allows
	Open        bool
}

// Self tells callers about themselves.
type Self interface {
	Me(ctx context.Context) (Me, error)
}

// External is who an outside provider says somebody is.
type External struct {
	Link     Link
	Username string
	FullName string
	Email    string
	Groups   []string
}

// Federation signs in whom an outside provider vouches for.
type Federation interface {
	// Admit finds the account of e.Link, or makes one with the name, and gives it a session. Groups decide on the
	// role where any are mapped; the only admin keeps the role and is let in whatever they say. NoRole where neither a
	// group nor a default gives one: that ends the account's sessions, while its record and its API tokens stay as they
	// are until an admin removes them. NameTaken where another account has the name: accounts are never linked by
	// name or e-mail. BadSignIn for a link that is not whole or too long. On a read-only server NotAllowed for who
	// has no account, and roles stay as they are.
	Admit(ctx context.Context, e External) (Session, error)
}

// Challenge is how a sign-in at a provider begins.
type Challenge struct {
	URL string // where the browser goes
	// Binding is a secret that the browser keeps in a cookie and brings back.
	Binding string
	// CrossSite says that the provider's answer is a form posted from its own site, which brings a cookie along
	// only with SameSite=None, and so only over TLS.
	CrossSite bool
}

// SignInLimiter bounds how often sign-ins at a provider begin.
type SignInLimiter interface {
	// Begin counts one of the actor's address. TooManyAttempts beyond a hundred a minute.
	Begin(ctx context.Context) error
}

// Provider speaks a protocol with an outside identity provider. Its faults are BadSignIn, whose cause is for the log
// alone, and Unavailable where the provider does not answer.
type Provider interface {
	Begin(ctx context.Context) (Challenge, error)
	// Complete verifies the provider's answer to a challenge, each of which works once and, where the cookie could
	// be set, in the browser that began. unbound says that it could not.
	Complete(ctx context.Context, answer url.Values, binding string, unbound bool) (External, error)
}

// Metadata is a provider that has a description of this side to publish.
type Metadata interface {
	// Metadata returns the service provider's description as XML (SAML 2.0 metadata).
	Metadata(ctx context.Context) ([]byte, error)
}

// HandshakeTTL is how long a sign-in at a provider may take.
const HandshakeTTL = 10 * time.Minute

// HandshakeStore keeps sign-ins under way and what must not be accepted twice, by the SHA-256 of their secrets. Time
// is the store's own.
type HandshakeStore interface {
	SaveHandshake(ctx context.Context, hash [32]byte, kind string, data []byte, ttl time.Duration) error
	// TakeHandshake deletes and returns one that has not expired; of many concurrent calls exactly one succeeds.
	// HandshakeNotFound otherwise.
	TakeHandshake(ctx context.Context, hash [32]byte, kind string) ([]byte, error)
	// MarkSeen remembers a hash for a time and reports whether it was new.
	MarkSeen(ctx context.Context, hash [32]byte, ttl time.Duration) (fresh bool, err error)
	// PurgeHandshakes drops what has expired, at most limit of each kind of row, and returns how many that were.
	PurgeHandshakes(ctx context.Context, limit int) (int, error)
}
