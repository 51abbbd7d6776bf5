package identity

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/ports/page"
)

// hidden is the printed form of private values.
const hidden = "***"

// Password is a password in clear text. It always prints as "***".
type Password string

func (Password) String() string { return hidden }

func (Password) GoString() string { return hidden }

func (Password) LogValue() slog.Value { return slog.StringValue(hidden) }

func (Password) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// The bounds of passwords, in characters. The upper bound limits the cost of hashing.
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

// Profile describes an account to people and grants nothing. Only admins read it. It prints as "***", and no fault
// contains any of its values.
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

// Protocol is the protocol by which an identity provider authenticates a user.
type Protocol string

// The protocols.
const (
	OIDC Protocol = "oidc"
	SAML Protocol = "saml"
)

// Valid reports whether p is a protocol.
func (p Protocol) Valid() bool { return p == OIDC || p == SAML }

// Link ties an account to an identity of an outside provider: the issuer's identifier and the subject. Protocols
// compare identifiers differently, so a link of one protocol never matches another.
type Link struct {
	Protocol Protocol
	Issuer   string
	Subject  string
}

// MaxLink bounds the length of issuer and subject together, in bytes.
const MaxLink = 1024

// Account is a complete user record, for admins.
type Account struct {
	User
	Profile     Profile
	HasPassword bool
	Identities  []Link
	// ConfirmedAt is the time of the last sign-in at a provider; zero for none.
	ConfirmedAt time.Time
	UpdatedAt   time.Time
	// Revision counts the account's changes, starting at 1.
	Revision int64
}

// NewAccount is a request for an account. An account without a password has no sign-in by password.
type NewAccount struct {
	Username   string
	Role       Role
	Password   Password
	Profile    Profile
	Identities []Link
}

// AccountChange replaces the profile and those other fields that are set.
type AccountChange struct {
	Username   *string
	Role       *Role
	Password   *Password
	Profile    Profile
	Identities *[]Link
}

// Accounts manages accounts. A revision of zero in a request matches any; an outdated one is a Stale fault. Invalid
// faults name the field and never contain a password or a value of a profile.
type Accounts interface {
	// Create creates an account. Errors: NameTaken; LinkTaken for an identity that another account has;
	// RecentSignInRequired with a password.
	Create(ctx context.Context, n NewAccount) (Account, error)
	// Get returns one account. Errors: UserNotFound.
	Get(ctx context.Context, id string) (Account, error)
	// ByName returns the account of a user name. Errors: UserNotFound.
	ByName(ctx context.Context, username string) (Account, error)
	// List returns accounts by user name and their total number.
	List(ctx context.Context, w page.Window) ([]Account, int, error)
	// Update changes an account. A new password ends its sessions except for the caller's and the API tokens that it
	// made for itself, a higher role its sessions except for the caller's, and a lower role all of its tokens. Errors:
	// LastAdmin if the only admin would lose that role; RecentSignInRequired for a new password.
	Update(ctx context.Context, id string, revision int64, c AccountChange) (Account, error)
	// Delete removes an account with its tokens, memberships and grants. Objects that were restricted to it stay
	// restricted. Errors: LastAdmin.
	Delete(ctx context.Context, id string, revision int64) error
}

// AccountStore stores accounts.
type AccountStore interface {
	// InsertAccount stores a new account with its password's hash, empty for none. Errors: NameTaken, LinkTaken.
	InsertAccount(ctx context.Context, a Account, hash string) error
	// AccountByID returns a complete account. Errors: UserNotFound.
	AccountByID(ctx context.Context, id string) (Account, error)
	ListAccounts(ctx context.Context, w page.Window) ([]Account, int, error)
	// UpdateAccount replaces everything except the id, the password and the times of the creation and of the last
	// confirmation if the stored revision is a.Revision-1. Errors: Stale for another revision, UserNotFound, NameTaken,
	// LinkTaken.
	UpdateAccount(ctx context.Context, a Account) error
	// SetPassword stores the hash of an account's password and its time and increments the revision. With same it
	// leaves time and revision: the hash is new and the password is not, or UpdateAccount counted the change in the
	// same unit. Errors: UserNotFound.
	SetPassword(ctx context.Context, userID, hash string, at time.Time, same bool) error
	// DeleteAccount removes an account with its tokens, memberships, identities and grants. An object that loses its
	// last grant by this stays restricted. Errors: UserNotFound.
	DeleteAccount(ctx context.Context, id string) error
	// LockAdmins returns the ids of all admins. Units that call it exclude each other until they end, so the admins
	// and passwords that they read do not change meanwhile.
	LockAdmins(ctx context.Context) ([]string, error)
	CountAccounts(ctx context.Context) (int, error)
}

// CallerStore finds the caller of a request. Each method is one indexed read.
type CallerStore interface {
	// TokenByHash returns a token with its user, even if it is expired. Errors: TokenNotFound.
	TokenByHash(ctx context.Context, hash [32]byte) (Bearer, error)
	// Caller returns an account with one of its tokens, even if that is expired, and the version of rights. An empty
	// token id selects no token. Errors: UserNotFound; TokenNotFound, also for a token of another account.
	Caller(ctx context.Context, userID, tokenID string) (Bearer, error)
	// UserByName returns an account and its password's hash, empty for none. Errors: UserNotFound.
	UserByName(ctx context.Context, username string) (User, string, error)
	// UserByLink returns the account of an outside identity. Errors: UserNotFound.
	UserByLink(ctx context.Context, l Link) (User, error)
}

// Bearer is a token with its user and the version of rights that was read with it.
type Bearer struct {
	Token   Token
	User    User
	Version int64
}

// Hasher hashes passwords slowly and with bounded memory: callers beyond its limit wait, and if too many wait it
// returns an Unavailable fault.
type Hasher interface {
	// Hash returns the hash with its salt and parameters as one string.
	Hash(ctx context.Context, p Password) (string, error)
	// Verify reports whether the password matches the hash. For an empty hash it does the same work and reports false.
	// outdated reports that the hash should be computed again.
	Verify(ctx context.Context, p Password, hash string) (ok, outdated bool, err error)
}
