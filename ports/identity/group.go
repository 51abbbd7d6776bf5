package identity

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/page"
)

// MaxName bounds the names of teams, organizations and tokens, in characters.
const MaxName = 200

// Team is a group of accounts that grants can name.
type Team struct {
	ID        string
	Name      string
	CreatedAt time.Time
	CreatedBy string
}

// OrgRole is what a member is in an organization.
type OrgRole string

// The roles in an organization. An admin manages the organization's objects, bounded by the account's global role: on
// a viewer's account it confers use. A member is named as one and gets nothing by it.
const (
	OrgMember OrgRole = "member"
	OrgAdmin  OrgRole = "admin"
)

// Valid reports whether r is a role in an organization.
func (r OrgRole) Valid() bool { return r == OrgMember || r == OrgAdmin }

// Org is an organization: what objects belong to.
type Org struct {
	ID        string
	Name      string
	CreatedAt time.Time
	CreatedBy string
}

// Member is an account in a team or an organization. Role is empty in a team.
type Member struct {
	UserID   string
	Username string
	Role     OrgRole
	AddedAt  time.Time
}

// Membership is an organization with the role that somebody has in it.
type Membership struct {
	Org
	Role OrgRole
}

// Teams keeps teams. Everybody may read their names, members only a member or an admin: others are refused with
// NotAllowed.
type Teams interface {
	// Create makes a team. NameTaken.
	Create(ctx context.Context, name string) (Team, error)
	// Get returns one team. TeamNotFound.
	Get(ctx context.Context, id string) (Team, error)
	// List returns teams by name and how many there are.
	List(ctx context.Context, w page.Window) ([]Team, int, error)
	// Delete removes a team, its memberships and its grants. What was restricted to it stays restricted.
	// TeamNotFound.
	Delete(ctx context.Context, id string) error
	// AddMember adds an account; again is no change. TeamNotFound, UserNotFound naming user_id.
	AddMember(ctx context.Context, id, userID string) (Member, error)
	Members(ctx context.Context, id string, w page.Window) ([]Member, int, error)
	// RemoveMember takes an account out. TeamNotFound, MemberNotFound.
	RemoveMember(ctx context.Context, id, userID string) error
}

// Orgs keeps organizations, read like teams.
type Orgs interface {
	// Create makes an organization. NameTaken.
	Create(ctx context.Context, name string) (Org, error)
	// Get returns one organization. OrgNotFound.
	Get(ctx context.Context, id string) (Org, error)
	List(ctx context.Context, w page.Window) ([]Org, int, error)
	// Delete removes an organization and its memberships. OrgInUse, telling how many, while objects belong to it.
	// OrgNotFound.
	Delete(ctx context.Context, id string) error
	// PutMember adds an account with a role, or gives a member another one. OrgNotFound, UserNotFound naming
	// user_id.
	PutMember(ctx context.Context, id, userID string, r OrgRole) (Member, error)
	Members(ctx context.Context, id string, w page.Window) ([]Member, int, error)
	// RemoveMember takes an account out. OrgNotFound, MemberNotFound.
	RemoveMember(ctx context.Context, id, userID string) error
}

// TeamStore keeps teams.
type TeamStore interface {
	// InsertTeam stores a team. NameTaken.
	InsertTeam(ctx context.Context, t Team) error
	// TeamByID returns a team. TeamNotFound.
	TeamByID(ctx context.Context, id string) (Team, error)
	ListTeams(ctx context.Context, w page.Window) ([]Team, int, error)
	// DeleteTeam removes a team, its memberships and its grants; an object whose last grant goes with it stays
	// restricted. TeamNotFound.
	DeleteTeam(ctx context.Context, id string) error
	// AddTeamMember adds an account and returns the member, the stored one where it is in the team already.
	// TeamNotFound, UserNotFound.
	AddTeamMember(ctx context.Context, id, userID string, at time.Time) (Member, error)
	// TeamMembers lists members by user name. TeamNotFound.
	TeamMembers(ctx context.Context, id string, w page.Window) ([]Member, int, error)
	// RemoveTeamMember takes an account out. MemberNotFound.
	RemoveTeamMember(ctx context.Context, id, userID string) error
	// TeamsOf lists an account's teams by name.
	TeamsOf(ctx context.Context, userID string) ([]Team, error)
}

// OrgStore keeps organizations.
type OrgStore interface {
	// InsertOrg stores an organization. NameTaken.
	InsertOrg(ctx context.Context, o Org) error
	// OrgByID returns an organization. OrgNotFound.
	OrgByID(ctx context.Context, id string) (Org, error)
	ListOrgs(ctx context.Context, w page.Window) ([]Org, int, error)
	// DeleteOrg removes an organization and its memberships; objects that are gone forget it. OrgInUse while
	// others belong to it, with their number as "objects" in the fault's detail. OrgNotFound.
	DeleteOrg(ctx context.Context, id string) error
	// PutOrgMember adds an account or changes its role. OrgNotFound, UserNotFound.
	PutOrgMember(ctx context.Context, id, userID string, r OrgRole, at time.Time) (Member, error)
	// OrgMembers lists members by user name. OrgNotFound.
	OrgMembers(ctx context.Context, id string, w page.Window) ([]Member, int, error)
	// RemoveOrgMember takes an account out. MemberNotFound.
	RemoveOrgMember(ctx context.Context, id, userID string) error
	// OrgsOf lists an account's organizations by name.
	OrgsOf(ctx context.Context, userID string) ([]Membership, error)
}
