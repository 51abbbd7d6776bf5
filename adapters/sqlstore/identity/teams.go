package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// Errors: NameTaken also for an id that exists.
func (s *Store) InsertTeam(ctx context.Context, t identity.Team) error {
	return teamGroups.insert(ctx, s, t)
}

func (s *Store) TeamByID(ctx context.Context, id string) (identity.Team, error) {
	return teamGroups.byID(ctx, s.d.Read(ctx), id)
}

// They are sorted by name.
func (s *Store) ListTeams(ctx context.Context, w page.Window) ([]identity.Team, int, error) {
	return teamGroups.list(ctx, s.d.Read(ctx), w)
}

// Memberships are deleted with the row.
func (s *Store) DeleteTeam(ctx context.Context, id string) error {
	q, err := s.lockRights(ctx)
	if err != nil {
		return err
	}
	if err := teamGroups.has(ctx, q, id); err != nil {
		return err
	}
	members := q.NewSelect().Model((*teamMember)(nil)).ColumnExpr("m.user_id AS name").Where("m.team_id = ?", id)
	if err := dropSubject(ctx, q, identity.TeamSubject(id), change{kind: changedUser, names: members}); err != nil {
		return err
	}
	_, err = db.Modify(ctx, q.NewDelete().Model((*group)(nil)).Where("g.id = ?", id))
	return db.Wrap(err, "delete a team")
}

func (s *Store) AddTeamMember(ctx context.Context, id, userID string, at time.Time) (identity.Member, error) {
	q, err := teamGroups.locked(ctx, s, id, userID)
	if err != nil {
		return identity.Member{}, err
	}
	n, err := db.Modify(ctx, insertNew(q.NewInsert().Model(&teamMember{TeamID: id, UserID: userID, AddedAt: at})))
	if err == nil && n > 0 {
		err = recordChange(ctx, q, ofAccount(userID))
	}
	if err != nil {
		return identity.Member{}, fmt.Errorf("add a member: %w", err)
	}
	return teamGroups.member(ctx, q, id, userID)
}

func (s *Store) TeamMembers(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error) {
	return teamGroups.listMembers(ctx, s, id, w)
}

func (s *Store) RemoveTeamMember(ctx context.Context, id, userID string) error {
	return teamGroups.removeMember(ctx, s, id, userID)
}

func (s *Store) TeamsOf(ctx context.Context, userID string) ([]identity.Team, error) {
	var rows []group
	err := s.d.Read(ctx).NewSelect().Model(&rows).Join("JOIN team_members AS m ON m.team_id = g.id").
		Where("m.user_id = ?", userID).
		OrderExpr("g.name").Scan(ctx)
	return teamsOf(rows), db.Wrap(err, "read the teams of an account")
}
