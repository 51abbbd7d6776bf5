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

// Errors: NameTaken also for an id that exists.
func (s *Store) InsertOrg(ctx context.Context, o identity.Org) error {
	return orgGroups.insert(ctx, s, identity.Team(o))
}

func (s *Store) OrgByID(ctx context.Context, id string) (identity.Org, error) {
	o, err := orgGroups.byID(ctx, s.d.Read(ctx), id)
	return identity.Org(o), err
}

// They are sorted by name.
func (s *Store) ListOrgs(ctx context.Context, w page.Window) ([]identity.Org, int, error) {
	found, n, err := orgGroups.list(ctx, s.d.Read(ctx), w)
	out := make([]identity.Org, len(found))
	for i, o := range found {
		out[i] = identity.Org(o)
	}
	return out, n, err
}

// Memberships are deleted with the row.
func (s *Store) DeleteOrg(ctx context.Context, id string) error {
	q, err := s.lockRights(ctx)
	if err != nil {
		return err
	}
	if err := orgGroups.has(ctx, q, id); err != nil {
		return err
	}
	all := q.NewSelect().Model((*object)(nil)).ColumnExpr("o.id AS name").Where("o.org_id = ?", id)
	n, err := db.Total(ctx, all.Clone().Where("NOT o.gone"))
	switch {
	case err != nil:
		return fmt.Errorf("count the objects of an organization: %w", err)
	case n > 0:
		return identity.OrgInUse.New("%d objects belong to the organization %q", n, id).With("objects", n)
	}
	members := q.NewSelect().Model((*orgMember)(nil)).ColumnExpr("m.user_id AS name").Where("m.org_id = ?", id)
	if err := recordChange(ctx, q, change{kind: changedObject, names: all},
		change{kind: changedUser, names: members}); err != nil {
		return err
	}
	_, err = db.Modify(ctx, q.NewUpdate().Model((*object)(nil)).Set("org_id = NULL").Where("o.org_id = ?", id))
	if err == nil {
		_, err = db.Modify(ctx, q.NewDelete().Table(orgGroups.table).Where("id = ?", id))
	}
	if fault.Is(err, fault.Conflict) { // objects of kinds without grants refer to it by a foreign key
		return identity.OrgInUse.New("something belongs to the organization %q", id).Because(err)
	}
	return db.Wrap(err, "delete an organization")
}

// A member keeps the time of its addition when its role changes.
func (s *Store) PutOrgMember(
	ctx context.Context, id, userID string, r identity.OrgRole, at time.Time,
) (identity.Member, error) {
	q, err := orgGroups.locked(ctx, s, id, userID)
	if err != nil {
		return identity.Member{}, err
	}
	was, row := orgMember{OrgID: id, UserID: userID}, orgMember{OrgID: id, UserID: userID, Role: r, AddedAt: at}
	if _, err := db.First(ctx, q.NewSelect().Model(&was).WherePK()); err != nil {
		return identity.Member{}, fmt.Errorf("read a member: %w", err)
	}
	_, err = db.Modify(ctx, q.NewInsert().Model(&row).On("CONFLICT (org_id, user_id) DO UPDATE").
		Set("role = EXCLUDED.role"))
	if err == nil && was.Role != r {
		err = recordChange(ctx, q, ofAccount(userID))
	}
	if err != nil {
		return identity.Member{}, fmt.Errorf("store a member: %w", err)
	}
	return orgGroups.member(ctx, q, id, userID)
}

func (s *Store) OrgMembers(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error) {
	return orgGroups.listMembers(ctx, s, id, w)
}

func (s *Store) RemoveOrgMember(ctx context.Context, id, userID string) error {
	return orgGroups.removeMember(ctx, s, id, userID)
}

func (s *Store) OrgsOf(ctx context.Context, userID string) ([]identity.Membership, error) {
	type membership struct {
		groupColumns
		Role identity.OrgRole
	}
	var rows []membership
	err := orgGroups.find(s.d.Read(ctx), (*group)(nil)).ColumnExpr("g.*, m.role").
		Join("JOIN org_members AS m ON m.org_id = g.id").
		Where("m.user_id = ?", userID).OrderExpr("g.name").Scan(ctx, &rows)
	if err != nil {
		return nil, db.Wrap(err, "read the organizations of an account")
	}
	return db.Convert(rows, func(r membership) identity.Membership {
		return identity.Membership{Org: identity.Org(r.groupColumns), Role: r.Role}
	}), nil
}
