package identity

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// members returns the query of the members of a group.
func (g groups) members(q bun.IDB, id string) *bun.SelectQuery {
	columns := "u.id AS user_id, u.username, m.added_at"
	if g.roles {
		columns += ", m.role"
	}
	return q.NewSelect().TableExpr("? AS m", bun.Ident(g.memberTable)).Join("JOIN users AS u ON u.id = m.user_id").
		ColumnExpr(columns).Where("m.? = ?", bun.Ident(g.key), id)
}

func (g groups) member(ctx context.Context, q bun.IDB, id, userID string) (identity.Member, error) {
	var row memberColumns
	_, err := db.First(ctx, g.members(q, id).Where("m.user_id = ?", userID), &row)
	return identity.Member(row), err
}

// locked locks the rights and returns the fault of a missing group or account.
func (g groups) locked(ctx context.Context, s *Store, id, userID string) (bun.IDB, error) {
	q, err := s.lockRights(ctx)
	if err == nil {
		err = g.has(ctx, q, id)
	}
	if err != nil {
		return nil, err
	}
	if ok, err := hasUser(ctx, q, userID); err != nil || !ok {
		return nil, orMissing(err, noAccount("user_id", userID))
	}
	return q, nil
}

// orMissing returns err, or missing if err is nil.
func orMissing(err, missing error) error {
	if err != nil {
		return err
	}
	return missing
}

func (g groups) listMembers(ctx context.Context, s *Store, id string, w page.Window) ([]identity.Member, int, error) {
	q := s.d.Read(ctx)
	if err := g.has(ctx, q, id); err != nil {
		return nil, 0, err
	}
	var rows []memberColumns
	if err := g.members(q, id).OrderExpr("u.username").Apply(db.Window(w)).Scan(ctx, &rows); err != nil {
		return nil, 0, db.Wrap(err, "list members")
	}
	out := db.Convert(rows, func(r memberColumns) identity.Member { return identity.Member(r) })
	n, err := db.Total(ctx, q.NewSelect().TableExpr("? AS m", bun.Ident(g.memberTable)).
		Where("m.? = ?", bun.Ident(g.key), id))
	return out, n, err
}

func (g groups) removeMember(ctx context.Context, s *Store, id, userID string) error {
	q, err := s.lockRights(ctx)
	if err != nil {
		return err
	}
	n, err := db.Modify(ctx, q.NewDelete().TableExpr("? AS m", bun.Ident(g.memberTable)).
		Where("m.? = ? AND m.user_id = ?", bun.Ident(g.key), id, userID))
	switch {
	case err != nil:
		return fmt.Errorf("remove a member: %w", err)
	case n == 0:
		return identity.MemberNotFound.New("no member %q", userID)
	}
	return recordChange(ctx, q, ofAccount(userID))
}
