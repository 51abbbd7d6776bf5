package identity

import (
	"net/netip"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// A type with the suffix Columns is the type of ports/identity with the names of its columns.

type user struct {
	bun.BaseModel `bun:"table:users,alias:u"`
	userColumns
	profileColumns
	PasswordHash string    `bun:",skipupdate"`
	HasPassword  bool      `bun:",scanonly"`
	ConfirmedAt  time.Time `bun:",nullzero,skipupdate"`
	UpdatedAt    time.Time `bun:",nullzero"`
	Revision     int64
}

type userColumns struct {
	ID        string `bun:",pk"`
	Username  string
	Role      identity.Role
	CreatedAt time.Time `bun:",skipupdate"`
}

type profileColumns struct {
	FullName string
	Email    string
	Phone    string
	Title    string
	Links    []string
	Notes    string
}

type userLink struct {
	bun.BaseModel `bun:"table:user_links,alias:l"`
	linkColumns
	UserID   string
	Position int
}

type linkColumns struct {
	Protocol identity.Protocol
	Issuer   string
	Subject  string
}

type token struct {
	bun.BaseModel `bun:"table:tokens,alias:t"`
	tokenColumns
	Hash []byte
}

type tokenColumns struct {
	ID         string `bun:",pk"`
	Kind       identity.TokenKind
	Name       string
	UserID     string
	Username   string `bun:",scanonly"`
	CreatedAt  time.Time
	CreatedBy  string
	ExpiresAt  time.Time `bun:",nullzero"`
	LastUsedAt time.Time `bun:",nullzero"`
	Scopes     identity.Scopes
	Networks   []netip.Prefix
	ParentID   string
	SignedInAt time.Time `bun:",nullzero"`
}

// group is a team or, in another table, an organization.
type group struct {
	bun.BaseModel `bun:"table:teams,alias:g"`
	groupColumns
}

// groupColumns is an identity.Team and an identity.Org.
type groupColumns struct {
	ID        string `bun:",pk"`
	Name      string
	CreatedAt time.Time
	CreatedBy string
}

type teamMember struct {
	bun.BaseModel `bun:"table:team_members,alias:m"`
	TeamID        string `bun:",pk"`
	UserID        string `bun:",pk"`
	AddedAt       time.Time
}

type orgMember struct {
	bun.BaseModel `bun:"table:org_members,alias:m"`
	OrgID         string `bun:",pk"`
	UserID        string `bun:",pk"`
	Role          identity.OrgRole
	AddedAt       time.Time
}

type memberColumns struct {
	UserID   string
	Username string
	Role     identity.OrgRole
	AddedAt  time.Time
}

type grant struct {
	bun.BaseModel `bun:"table:grants,alias:g"`
	grantColumns
	Hidden bool // its object was removed
}

type grantColumns struct {
	ID        string `bun:",pk"`
	Subject   string
	Object    string
	Level     access.Level
	CreatedAt time.Time
	CreatedBy string
}

type object struct {
	bun.BaseModel `bun:"table:access_objects,alias:o"`
	ID            string `bun:",pk"`
	Kind          string
	Org           string `bun:"org_id,nullzero"`
	Restricted    bool
	Gone          bool
}

// accessState is the single row that changes of rights lock.
type accessState struct {
	bun.BaseModel `bun:"table:access_state,alias:s"`
	ID            int64 `bun:",pk"`
	Version       int64
	Forgotten     int64
}

type accessChange struct {
	bun.BaseModel `bun:"table:access_changes,alias:c"`
	Version       int64
	Kind          string
	Name          string
}

type handshake struct {
	bun.BaseModel `bun:"table:handshakes,alias:h"`
	Hash          []byte `bun:",pk"`
	Kind          string
	Data          []byte
	ExpiresAt     time.Time // by the clock of the leases
}

type seenHash struct {
	bun.BaseModel `bun:"table:witnessed,alias:w"`
	Hash          []byte    `bun:",pk"`
	ExpiresAt     time.Time // by the clock of the leases
}
