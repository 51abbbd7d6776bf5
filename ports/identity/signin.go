package identity

import (
	"context"
	"net/url"
	"time"
)

// Session is the result of a sign-in.
type Session struct {
	Token  Token
	Secret string // the bearer token, shown once
	User   User
}

// SignIn creates and ends sessions.
type SignIn interface {
	// Login signs in by password. Beyond a hundred attempts at one name in a minute, from all addresses, each takes a
	// second longer. Errors: BadLogin for a wrong password, an unknown name and an account without a password alike,
	// after the same time; TooManyAttempts after too many failures from the actor's address.
	Login(ctx context.Context, username string, p Password) (Session, error)
	// Check resolves a bearer token as Authenticator does, without recording its use. Errors: BadToken.
	Check(ctx context.Context, bearer string) (Token, User, error)
	// Logout revokes the token of the caller of ctx. In open mode there is none.
	Logout(ctx context.Context) error
	// ChangePassword changes the caller's password and ends the account's other sessions and the API tokens that it made
	// for itself, also the caller's; current is empty if there is none yet. A first password takes a recent sign-in. An
	// admin sets that of an account of an outside provider, because it would outlive the account at the provider.
	// Errors: BadLogin for a wrong current password; TooManyAttempts as for Login; NotAllowed for the first password of
	// a provider's account; RecentSignInRequired for a first password.
	ChangePassword(ctx context.Context, current, next Password) error
}

// LocalSignIn signs in accounts on behalf of a program that may read the files of the install.
type LocalSignIn interface {
	// SignInLocally opens a session of the account with a user name. Nobody proves anything: the caller has checked who
	// asks. Errors: UserNotFound.
	SignInLocally(ctx context.Context, username string) (Session, error)
}

// Me is the caller as the server resolved it.
type Me struct {
	User        User
	Token       *Token // nil in open mode
	Teams       []Team
	Orgs        []Membership
	Permissions []Need // the kinds and acts that the caller's global role and its token's scopes allow
	Open        bool
}

// Self returns callers their own account.
type Self interface {
	Me(ctx context.Context) (Me, error)
}

// External is the identity of a user at an outside provider.
type External struct {
	Link     Link
	Username string
	FullName string
	Email    string
	Groups   []string
}

// Federation signs in users of outside providers.
type Federation interface {
	// Admit finds the account of e.Link or creates one with the name, and opens a session. It never links accounts by
	// name or e-mail. Mapped groups determine the role; the only admin keeps the role and is always admitted. On a
	// read-only server roles stay as they are. A lower role ends all of the account's tokens. Errors: NoRole if neither
	// a group nor a default gives a role, which ends the account's sessions and the tokens that it made for itself, and
	// leaves the account and its other tokens to an admin; NameTaken if another account
	// has the name; BadSignIn for a link that is incomplete or too long; NotAllowed for a user without an account on a
	// read-only server.
	Admit(ctx context.Context, e External) (Session, error)
}

// Challenge starts a sign-in at a provider.
type Challenge struct {
	URL string // the URL that the browser opens
	// State is the value that the provider returns with its answer, as state (OpenID Connect) or RelayState (SAML).
	State string
	// Binding is a secret that the browser stores in a cookie and returns.
	Binding string
	// CrossSite reports that the provider answers by a form posted from its own site. A cookie comes with it only if
	// it is SameSite=None, which needs TLS.
	CrossSite bool
}

// SignInLimiter limits how often sign-ins at a provider start.
type SignInLimiter interface {
	// Begin counts one sign-in of the actor's address. Errors: TooManyAttempts beyond a hundred a minute.
	Begin(ctx context.Context) error
}

// Loopback is a program on the machine of the browser, to which a sign-in at a provider returns (RFC 8252).
type Loopback struct {
	Port      uint16 // on 127.0.0.1
	Challenge string // the S256 challenge of a verifier that only the program knows (RFC 7636)
	State     string // is returned to the program
}

// ProgramSignIn hands sign-ins at a provider over from the browser to a program.
type ProgramSignIn interface {
	// Expect stores the program that waits for the sign-in with a state. Errors: Invalid for a challenge or a state of
	// another form.
	Expect(ctx context.Context, state string, l Loopback) error
	// Return stores who signed in, and returns the address of the program with a one-time code. It returns an empty
	// address if no program waits for the sign-in.
	Return(ctx context.Context, state string, e External) (address string, err error)
	// Exchange opens the session of a code. A code works once, for CodeTTL, and with its program's verifier only; a
	// wrong verifier uses it up. Errors: BadSignIn for a code that is unknown, used or expired, and for a wrong verifier;
	// TooManyAttempts as SignInLimiter.Begin; those of Federation.Admit.
	Exchange(ctx context.Context, code, verifier string) (Session, error)
}

// CodeTTL is how long a program may take to exchange its code.
const CodeTTL = time.Minute

// Provider implements the protocol of an outside identity provider. Errors: BadSignIn, whose cause is only logged;
// Unavailable if the provider does not answer.
type Provider interface {
	Begin(ctx context.Context) (Challenge, error)
	// Complete verifies the provider's answer to a challenge. A challenge works once and only in the browser that
	// started, unless unbound is set because the cookie could not be set.
	Complete(ctx context.Context, answer url.Values, binding string, unbound bool) (External, error)
}

// Metadata is a provider that publishes a description of the service provider.
type Metadata interface {
	// Metadata returns the service provider's description as XML (SAML 2.0 metadata).
	Metadata(ctx context.Context) ([]byte, error)
}

// HandshakeTTL is how long a sign-in at a provider may take.
const HandshakeTTL = 10 * time.Minute

// HandshakeStore stores sign-ins in progress and values that must not be accepted twice, by the SHA-256 of their
// secrets. It uses the store's clock.
type HandshakeStore interface {
	SaveHandshake(ctx context.Context, hash [32]byte, kind string, data []byte, ttl time.Duration) error
	// TakeHandshake deletes and returns an unexpired handshake; of many concurrent calls exactly one succeeds. Errors:
	// HandshakeNotFound.
	TakeHandshake(ctx context.Context, hash [32]byte, kind string) ([]byte, error)
	// MarkSeen stores a hash for a time and reports whether it was new.
	MarkSeen(ctx context.Context, hash [32]byte, ttl time.Duration) (fresh bool, err error)
	// PurgeHandshakes deletes expired rows, at most limit of each kind, and returns their number.
	PurgeHandshakes(ctx context.Context, limit int) (int, error)
}
