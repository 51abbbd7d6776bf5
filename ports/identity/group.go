package identity

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/page"
)

// MaxName bounds the names of teams, organizations and tokens, in characters.
const MaxName = 200

// Team is a group of accounts that can be the subject of grants.
type Team struct {
	ID        string
	Name      string
	CreatedAt time.Time
	CreatedBy string
}

// OrgRole is the role of a member in an organization.
type OrgRole string

// The roles in an organization. An admin manages the organization's objects within the limits of the account's global
// role: a viewer gets use. The role member grants no rights.
const (
	OrgMember OrgRole = "member"
	OrgAdmin  OrgRole = "admin"
)

// Valid reports whether r is a role in an organization.
func (r OrgRole) Valid() bool { return r == OrgMember || r == OrgAdmin }

// Org is an organization, which owns objects.
type Org struct {
	ID        string
	Name      string
	CreatedAt time.Time
	CreatedBy string
}

// Member is an account in a team or an organization. Role is empty for teams.
type Member struct {
	UserID   string
	Username string
	Role     OrgRole
	AddedAt  time.Time
}

// Membership is an organization with the role of an account in it.
type Membership struct {
	Org
	Role OrgRole
}

// Teams manages teams. Every account reads their names; reading the members of a team needs membership or the role
// admin. Errors: NotAllowed.
type Teams interface {
	// Create creates a team. Errors: NameTaken.
	Create(ctx context.Context, name string) (Team, error)
	// Get returns one team. Errors: TeamNotFound.
	Get(ctx context.Context, id string) (Team, error)
	// List returns teams by name and their total number.
	List(ctx context.Context, w page.Window) ([]Team, int, error)
	// Delete removes a team, its memberships and its grants. Objects that were restricted to it stay restricted.
	// Errors: TeamNotFound.
	Delete(ctx context.Context, id string) error
	// AddMember adds an account. Adding a member again changes nothing. Errors: TeamNotFound, UserNotFound naming
	// user_id.
	AddMember(ctx context.Context, id, userID string) (Member, error)
	Members(ctx context.Context, id string, w page.Window) ([]Member, int, error)
	// RemoveMember removes an account. Errors: TeamNotFound, MemberNotFound.
	RemoveMember(ctx context.Context, id, userID string) error
}

// Orgs manages organizations, with the same read rules as Teams.
type Orgs interface {
	// Create creates an organization. Errors: NameTaken.
	Create(ctx context.Context, name string) (Org, error)
	// Get returns one organization. Errors: OrgNotFound.
	Get(ctx context.Context, id string) (Org, error)
	List(ctx context.Context, w page.Window) ([]Org, int, error)
	// Delete removes an organization and its memberships. Errors: OrgNotFound; OrgInUse with the number of its objects
	// if it has any.
	Delete(ctx context.Context, id string) error
	// PutMember adds an account with a role, or changes the role of a member. Errors: OrgNotFound, UserNotFound naming
	// user_id.
	PutMember(ctx context.Context, id, userID string, r OrgRole) (Member, error)
	Members(ctx context.Context, id string, w page.Window) ([]Member, int, error)
	// RemoveMember removes an account. Errors: OrgNotFound, MemberNotFound.
	RemoveMember(ctx context.Context, id, userID string) error
}

// TeamStore stores teams.
type TeamStore interface {
	// InsertTeam stores a team. Errors: NameTaken.
	InsertTeam(ctx context.Context, t Team) error
	// TeamByID returns a team. Errors: TeamNotFound.
	TeamByID(ctx context.Context, id string) (Team, error)
	ListTeams(ctx context.Context, w page.Window) ([]Team, int, error)
	// DeleteTeam removes a team, its memberships and its grants. An object that loses its last grant by this stays
	// restricted. Errors: TeamNotFound.
	DeleteTeam(ctx context.Context, id string) error
	// AddTeamMember adds an account and returns the member, or the stored one if it is already in the team. Errors:
	// TeamNotFound, UserNotFound.
	AddTeamMember(ctx context.Context, id, userID string, at time.Time) (Member, error)
	// TeamMembers lists members by user name. Errors: TeamNotFound.
	TeamMembers(ctx context.Context, id string, w page.Window) ([]Member, int, error)
	// RemoveTeamMember removes an account. Errors: MemberNotFound.
	RemoveTeamMember(ctx context.Context, id, userID string) error
	// TeamsOf lists an account's teams by name.
	TeamsOf(ctx context.Context, userID string) ([]Team, error)
}

// OrgStore stores organizations.
type OrgStore interface {
	// InsertOrg stores an organization. Errors: NameTaken.
	InsertOrg(ctx context.Context, o Org) error
	// OrgByID returns an organization. Errors: OrgNotFound.
	OrgByID(ctx context.Context, id string) (Org, error)
	ListOrgs(ctx context.Context, w page.Window) ([]Org, int, error)
	// DeleteOrg removes an organization, its memberships and its link from removed objects. Errors: OrgNotFound;
	// OrgInUse with the number of its other objects as "objects" in the detail if it has any.
	DeleteOrg(ctx context.Context, id string) error
	// PutOrgMember adds an account or changes its role. Errors: OrgNotFound, UserNotFound.
	PutOrgMember(ctx context.Context, id, userID string, r OrgRole, at time.Time) (Member, error)
	// OrgMembers lists members by user name. Errors: OrgNotFound.
	OrgMembers(ctx context.Context, id string, w page.Window) ([]Member, int, error)
	// RemoveOrgMember removes an account. Errors: MemberNotFound.
	RemoveOrgMember(ctx context.Context, id, userID string) error
	// OrgsOf lists an account's organizations by name.
	OrgsOf(ctx context.Context, userID string) ([]Membership, error)
}
