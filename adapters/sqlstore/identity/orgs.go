package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// InsertOrg implements identity.OrgStore. An id that exists is NameTaken as well.
func (s *Store) InsertOrg(ctx context.Context, o identity.Org) error {
	return orgGroups.insert(ctx, s, identity.Team(o))
}

// OrgByID implements identity.OrgStore.
func (s *Store) OrgByID(ctx context.Context, id string) (identity.Org, error) {
	o, err := orgGroups.byID(ctx, s.d.Read(ctx), id)
	return identity.Org(o), err
}

// ListOrgs implements identity.OrgStore. They are in the order of their names.
func (s *Store) ListOrgs(ctx context.Context, w page.Window) ([]identity.Org, int, error) {
	found, n, err := orgGroups.list(ctx, s.d.Read(ctx), w)
	out := make([]identity.Org, len(found))
	for i, o := range found {
		out[i] = identity.Org(o)
	}
	return out, n, err
}

// DeleteOrg implements identity.OrgStore. Memberships go with the row.
func (s *Store) DeleteOrg(ctx context.Context, id string) error {
	q, err := s.writing(ctx)
	if err != nil {
		return err
	}
	if err := orgGroups.has(ctx, q, id); err != nil {
		return err
	}
	n, err := count(ctx, q, "SELECT count(*) FROM access_objects WHERE org_id = ? AND NOT gone", id)
	switch {
	case err != nil:
		return fmt.Errorf("count the objects of an organization: %w", err)
	case n > 0:
		return identity.OrgInUse.New("%d objects belong to the organization %q", n, id).With("objects", n)
	}
	err = changed(ctx, q, objects("SELECT id AS name FROM access_objects WHERE org_id = ?", id),
		accounts("SELECT user_id AS name FROM org_members WHERE org_id = ?", id))
	if err != nil {
		return err
	}
	err = execAll(ctx, q, []any{id}, "UPDATE access_objects SET org_id = NULL WHERE org_id = ?", "DELETE FROM orgs WHERE id = ?")
	if fault.Is(err, fault.Conflict) { // what carries no grants refers to it by itself
		return identity.OrgInUse.New("something belongs to the organization %q", id).Because(err)
	}
	if err != nil {
		return fmt.Errorf("delete an organization: %w", err)
	}
	return nil
}

// PutOrgMember implements identity.OrgStore. A member that gets another role keeps the time at which it was added.
func (s *Store) PutOrgMember(ctx context.Context, id, userID string, r identity.OrgRole, at time.Time) (identity.Member, error) {
	q, err := s.writing(ctx)
	if err != nil {
		return identity.Member{}, err
	}
	if err := orgGroups.has(ctx, q, id); err != nil {
		return identity.Member{}, err
	}
	if ok, err := hasUser(ctx, q, userID); err != nil || !ok {
		return identity.Member{}, orMissing(err, noAccount("user_id", userID))
	}
	was, _, err := db.One(ctx, q, text, "SELECT role FROM org_members WHERE org_id = ? AND user_id = ?", id, userID)
	if err != nil {
		return identity.Member{}, fmt.Errorf("read a member: %w", err)
	}
	_, err = exec(ctx, q, "INSERT INTO org_members (org_id, user_id, role, added_at) VALUES (?, ?, ?, ?) "+
		"ON CONFLICT (org_id, user_id) DO UPDATE SET role = excluded.role", id, userID, string(r), db.At(at))
	if err == nil && identity.OrgRole(was) != r {
		err = changed(ctx, q, account(userID))
	}
	if err != nil {
		return identity.Member{}, fmt.Errorf("store a member: %w", err)
	}
	m, _, err := db.One(ctx, q, scanMember, orgMembers+" AND m.user_id = ?", id, userID)
	return m, err
}

const orgMembers = "SELECT u.id, u.username, m.role, m.added_at FROM org_members AS m JOIN users AS u ON u.id = m.user_id WHERE m.org_id = ?"

// OrgMembers implements identity.OrgStore.
func (s *Store) OrgMembers(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error) {
	q := s.d.Read(ctx)
	if err := orgGroups.has(ctx, q, id); err != nil {
		return nil, 0, err
	}
	found, err := db.All(ctx, q, scanMember, orgMembers+" ORDER BY u.username LIMIT ? OFFSET ?", id, w.Rows(), w.Offset)
	if err != nil {
		return nil, 0, fmt.Errorf("list members: %w", err)
	}
	n, err := count(ctx, q, "SELECT count(*) FROM org_members WHERE org_id = ?", id)
	return found, n, err
}

// RemoveOrgMember implements identity.OrgStore.
func (s *Store) RemoveOrgMember(ctx context.Context, id, userID string) error {
	q, err := s.writing(ctx)
	if err != nil {
		return err
	}
	n, err := exec(ctx, q, "DELETE FROM org_members WHERE org_id = ? AND user_id = ?", id, userID)
	switch {
	case err != nil:
		return fmt.Errorf("remove a member: %w", err)
	case n == 0:
		return noMember(userID)
	}
	return changed(ctx, q, account(userID))
}

// OrgsOf implements identity.OrgStore.
func (s *Store) OrgsOf(ctx context.Context, userID string) ([]identity.Membership, error) {
	found, err := db.All(ctx, s.d.Read(ctx), func(r db.Row) (m identity.Membership, err error) {
		var created db.Time
		err = r.Scan(&m.ID, &m.Name, &created, &m.CreatedBy, &m.Role)
		m.CreatedAt = created.Time
		return m, err
	}, "SELECT o.id, o.name, o.created_at, o.created_by, m.role FROM org_members AS m "+
		"JOIN orgs AS o ON o.id = m.org_id WHERE m.user_id = ? ORDER BY o.name", userID)
	if err != nil {
		return nil, fmt.Errorf("read the organizations of an account: %w", err)
	}
	return found, nil
}
