package rights

import (
	"context"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// Teams implements identity.Teams.
type Teams struct {
	groups
	store identity.TeamStore
}

var _ identity.Teams = (*Teams)(nil)

// NewTeams makes a Teams over a store.
func NewTeams(k kernel.Kernel, s identity.TeamStore) *Teams {
	return &Teams{store: s, groups: groups{
		Kernel: k, kind: "team", noun: "team", prefix: ids.Team,
		made: audit.TeamCreate, deleted: audit.TeamDelete, dropped: audit.TeamMemberDrop,
		insert: s.InsertTeam, byID: s.TeamByID, remove: s.DeleteTeam, members: s.TeamMembers, drop: s.RemoveTeamMember,
		of: func(ctx context.Context, userID string) (list []string, err error) {
			teams, err := s.TeamsOf(ctx, userID)
			for _, t := range teams {
				list = append(list, t.ID)
			}
			return list, err
		},
	}}
}

func (t *Teams) Create(ctx context.Context, name string) (identity.Team, error) {
	return t.create(ctx, name)
}

func (t *Teams) Get(ctx context.Context, id string) (identity.Team, error) {
	return t.store.TeamByID(ctx, id)
}

func (t *Teams) List(ctx context.Context, w page.Window) ([]identity.Team, int, error) {
	return t.store.ListTeams(ctx, w)
}

func (t *Teams) AddMember(ctx context.Context, id, userID string) (identity.Member, error) {
	at := t.Clock.Now()
	return t.put(ctx, audit.TeamMemberAdd, id, userID, "", func(ctx context.Context) (identity.Member, error) {
		return t.store.AddTeamMember(ctx, id, userID, at)
	})
}
