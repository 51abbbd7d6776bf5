package identity

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/ports/page"
)

// hidden is what private values print.
const hidden = "***"

// Password is a password in clear. It prints as "***" everywhere.
type Password string

func (Password) String() string { return hidden }

func (Password) GoString() string { return hidden }

func (Password) LogValue() slog.Value { return slog.StringValue(hidden) }

func (Password) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// The bounds of passwords, in characters. The upper one keeps what is hashed small.
const (
	MinPassword = 12
	MaxPassword = 1024
)

// The bounds of a profile.
const (
	MaxProfileLine  = 320 // characters
	MaxProfileNotes = 2000
	MaxProfileLinks = 8
)

// Profile tells people about an account and grants nothing. Only admins read it; it prints as "***" and no fault holds
// any of its values.
type Profile struct {
	FullName string
	Email    string
	Phone    string
	Title    string
	Links    []string // http and https addresses
	Notes    string
}

func (Profile) String() string { return hidden }

func (Profile) GoString() string { return hidden }

func (Profile) LogValue() slog.Value { return slog.StringValue(hidden) }

// Protocol is how an outside provider vouches for somebody.
type Protocol string

// The protocols.
const (
	OIDC Protocol = "oidc"
	SAML Protocol = "saml"
)

// Valid reports whether p is a protocol.
func (p Protocol) Valid() bool { return p == OIDC || p == SAML }

// Link ties an account to who an outside provider says it is: the issuer's identifier and the subject there. What equal
// texts mean differs between protocols, so a link of one never counts for the other.
type Link struct {
	Protocol Protocol
	Issuer   string
	Subject  string
}

// MaxLink bounds issuer and subject together, in bytes.
const MaxLink = 1024

// Account is a user whole, for admins.
type Account struct {
	User
	Profile     Profile
	HasPassword bool
	Identities  []Link
	UpdatedAt   time.Time
	// Revision counts the account's changes from 1 on.
	Revision int64
}

// NewAccount is a request for an account. Without a password nobody signs in to it by one.
type NewAccount struct {
	Username   string
	Role       Role
	Password   Password
	Profile    Profile
	Identities []Link
}

// AccountChange replaces the profile and, where they are set, the rest.
type AccountChange struct {
	Username   *string
	Role       *Role
	Password   *Password
	Profile    Profile
	Identities *[]Link
}

// Accounts keeps accounts. A revision of zero in a request fits any; one that no longer fits is a Stale fault. Requests
// are refused with Invalid faults that name the field and never hold a password or a value of a profile.
type Accounts interface {
	// Create makes an account. NameTaken; LinkTaken for an identity that another account has.
	Create(ctx context.Context, n NewAccount) (Account, error)
	// Get returns one account. UserNotFound.
	Get(ctx context.Context, id string) (Account, error)
	// ByName returns the account of a user name. UserNotFound.
	ByName(ctx context.Context, username string) (Account, error)
	// List returns accounts by user name and how many there are.
	List(ctx context.Context, w page.Window) ([]Account, int, error)
	// Update changes an account. A new password or another role ends the account's sessions, but for the one that
	// asks. LastAdmin where the only admin would become something else.
	Update(ctx context.Context, id string, revision int64, c AccountChange) (Account, error)
	// Delete removes an account with its tokens, memberships and grants. What was restricted to it stays
	// restricted. LastAdmin.
	Delete(ctx context.Context, id string, revision int64) error
}

// AccountStore keeps accounts.
type AccountStore interface {
	// InsertAccount stores a new account with its password's hash, empty for none. NameTaken, LinkTaken.
	InsertAccount(ctx context.Context, a Account, hash string) error
	// AccountByID returns an account whole. UserNotFound.
	AccountByID(ctx context.Context, id string) (Account, error)
	ListAccounts(ctx context.Context, w page.Window) ([]Account, int, error)
	// UpdateAccount replaces everything but the id, the time of creation and the password, where the stored
	// revision is a.Revision-1. A Stale fault where it is another one, UserNotFound, NameTaken, LinkTaken.
	UpdateAccount(ctx context.Context, a Account) error
	// SetPassword stores the hash of an account's password, with its time counts up the revision, and keeps both where
	// same says that nothing more changes: the hash is new and the password is not, or UpdateAccount counted the change
	// in the same unit. UserNotFound.
	SetPassword(ctx context.Context, userID, hash string, at time.Time, same bool) error
	// DeleteAccount removes an account with its tokens, memberships, identities and grants. An object whose last
	// grant goes with it stays restricted. UserNotFound.
	DeleteAccount(ctx context.Context, id string) error
	// LockAdmins returns the ids of all admins. Units that call it exclude each other until they end, so that what
	// they read of admins and passwords stays true.
	LockAdmins(ctx context.Context) ([]string, error)
	CountAccounts(ctx context.Context) (int, error)
}

// CallerStore finds who calls. Every method is one indexed read.
type CallerStore interface {
	// TokenByHash returns a token with its user, also an expired one. TokenNotFound.
	TokenByHash(ctx context.Context, hash [32]byte) (Bearer, error)
	// Caller returns an account with one of its tokens, also an expired one, and the version of rights. An empty
	// token id asks for none. UserNotFound; TokenNotFound, also for a token of another account.
	Caller(ctx context.Context, userID, tokenID string) (Bearer, error)
	// UserByName returns an account and its password's hash, empty where it has none. UserNotFound.
	UserByName(ctx context.Context, username string) (User, string, error)
	// UserByLink returns the account of an outside identity. UserNotFound.
	UserByLink(ctx context.Context, l Link) (User, error)
}

// Bearer is a token with whom it speaks for and the version of rights that was read with it.
type Bearer struct {
	Token   Token
	User    User
	Version int64
}

// Hasher hashes passwords slowly and with bounded memory: beyond its cap callers wait, and where too many wait it
// returns an Unavailable fault.
type Hasher interface {
	// Hash returns the hash with its salt and parameters as one string.
	Hash(ctx context.Context, p Password) (string, error)
	// Verify reports whether the password is that of the hash. For an empty hash it does the same work and
	// reports false. outdated says that the hash should be made anew.
	Verify(ctx context.Context, p Password, hash string) (ok, outdated bool, err error)
}
