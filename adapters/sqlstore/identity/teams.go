package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// InsertTeam implements identity.TeamStore. An id that exists is NameTaken as well.
func (s *Store) InsertTeam(ctx context.Context, t identity.Team) error {
	return teamGroups.insert(ctx, s, t)
}

// TeamByID implements identity.TeamStore.
func (s *Store) TeamByID(ctx context.Context, id string) (identity.Team, error) {
	return teamGroups.byID(ctx, s.d.Read(ctx), id)
}

// ListTeams implements identity.TeamStore. They are in the order of their names.
func (s *Store) ListTeams(ctx context.Context, w page.Window) ([]identity.Team, int, error) {
	return teamGroups.list(ctx, s.d.Read(ctx), w)
}

// DeleteTeam implements identity.TeamStore. Memberships go with the row.
func (s *Store) DeleteTeam(ctx context.Context, id string) error {
	q, err := s.writing(ctx)
	if err != nil {
		return err
	}
	if err := teamGroups.has(ctx, q, id); err != nil {
		return err
	}
	members := accounts("SELECT user_id AS name FROM team_members WHERE team_id = ?", id)
	if err := dropSubject(ctx, q, identity.TeamSubject(id), members); err != nil {
		return err
	}
	if _, err := exec(ctx, q, "DELETE FROM teams WHERE id = ?", id); err != nil {
		return fmt.Errorf("delete a team: %w", err)
	}
	return nil
}

// AddTeamMember implements identity.TeamStore.
func (s *Store) AddTeamMember(ctx context.Context, id, userID string, at time.Time) (identity.Member, error) {
	q, err := s.writing(ctx)
	if err != nil {
		return identity.Member{}, err
	}
	if err := teamGroups.has(ctx, q, id); err != nil {
		return identity.Member{}, err
	}
	if ok, err := hasUser(ctx, q, userID); err != nil || !ok {
		return identity.Member{}, orMissing(err, noAccount("user_id", userID))
	}
	n, err := exec(ctx, q, "INSERT INTO team_members (team_id, user_id, added_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		id, userID, db.At(at))
	if err == nil && n > 0 {
		err = changed(ctx, q, account(userID))
	}
	if err != nil {
		return identity.Member{}, fmt.Errorf("add a member: %w", err)
	}
	m, _, err := db.One(ctx, q, scanMember, teamMembers+" AND m.user_id = ?", id, userID)
	return m, err
}

// orMissing returns what went wrong, else the fault.
func orMissing(err, missing error) error {
	if err != nil {
		return err
	}
	return missing
}

const teamMembers = "SELECT u.id, u.username, '', m.added_at FROM team_members AS m JOIN users AS u ON u.id = m.user_id WHERE m.team_id = ?"

// TeamMembers implements identity.TeamStore.
func (s *Store) TeamMembers(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error) {
	q := s.d.Read(ctx)
	if err := teamGroups.has(ctx, q, id); err != nil {
		return nil, 0, err
	}
	found, err := db.All(ctx, q, scanMember, teamMembers+" ORDER BY u.username LIMIT ? OFFSET ?", id, w.Rows(), w.Offset)
	if err != nil {
		return nil, 0, fmt.Errorf("list members: %w", err)
	}
	n, err := count(ctx, q, "SELECT count(*) FROM team_members WHERE team_id = ?", id)
	return found, n, err
}

// RemoveTeamMember implements identity.TeamStore.
func (s *Store) RemoveTeamMember(ctx context.Context, id, userID string) error {
	q, err := s.writing(ctx)
	if err != nil {
		return err
	}
	n, err := exec(ctx, q, "DELETE FROM team_members WHERE team_id = ? AND user_id = ?", id, userID)
	switch {
	case err != nil:
		return fmt.Errorf("remove a member: %w", err)
	case n == 0:
		return noMember(userID)
	}
	return changed(ctx, q, account(userID))
}

func noMember(userID string) error { return identity.MemberNotFound.New("no member %q", userID) }

// TeamsOf implements identity.TeamStore.
func (s *Store) TeamsOf(ctx context.Context, userID string) ([]identity.Team, error) {
	found, err := db.All(ctx, s.d.Read(ctx), scanGroup, "SELECT t.id, t.name, t.created_at, t.created_by FROM team_members AS m "+
		"JOIN teams AS t ON t.id = m.team_id WHERE m.user_id = ? ORDER BY t.name", userID)
	if err != nil {
		return nil, fmt.Errorf("read the teams of an account: %w", err)
	}
	return found, nil
}

func scanMember(r db.Row) (m identity.Member, err error) {
	var added db.Time
	err = r.Scan(&m.UserID, &m.Username, &m.Role, &added)
	m.AddedAt = added.Time
	return m, err
}
