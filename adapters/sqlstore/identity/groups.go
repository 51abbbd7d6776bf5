package identity

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// groups are the tables of teams or of organizations, which have the same queries. A row is read as a Team; an Org has
// the same fields.
type groups struct {
	table, noun      string
	missing          fault.Code
	memberTable, key string // of the members, and its column with the group's id
	roles            bool   // members have roles
}

var (
	teamGroups = groups{"teams", "team", identity.TeamNotFound, "team_members", "team_id", false}
	orgGroups  = groups{"orgs", "organization", identity.OrgNotFound, "org_members", "org_id", true}
)

func (g groups) none(id string) *fault.Error { return g.missing.New("no %s %q", g.noun, id) }

func (g groups) find(q bun.IDB, rows any) *bun.SelectQuery {
	return q.NewSelect().Model(rows).ModelTableExpr("? AS g", bun.Ident(g.table))
}

func (g groups) present(ctx context.Context, q bun.IDB, id string) (bool, error) {
	ok, err := g.find(q, (*group)(nil)).Where("id = ?", id).Exists(ctx)
	return ok, db.Translate(err)
}

// has returns the fault of a missing group.
func (g groups) has(ctx context.Context, q bun.IDB, id string) error {
	ok, err := g.present(ctx, q, id)
	switch {
	case err != nil:
		return fmt.Errorf("look for a row of %s: %w", g.table, err)
	case !ok:
		return g.none(id)
	}
	return nil
}

func (g groups) insert(ctx context.Context, s *Store, t identity.Team) error {
	row := group{groupColumns: groupColumns(t)}
	n, err := db.Modify(ctx, insertNew(s.d.InUnit(ctx).NewInsert().Model(&row).ModelTableExpr("?", bun.Ident(g.table))))
	if err == nil && n == 0 {
		return naming("name", identity.NameTaken.New("the %s name %q is taken", g.noun, t.Name))
	}
	return err
}

func (g groups) byID(ctx context.Context, q bun.IDB, id string) (identity.Team, error) {
	var row group
	ok, err := db.First(ctx, g.find(q, &row).Where("id = ?", id))
	return identity.Team(row.groupColumns), db.OrMissing(ok, db.Wrap(err, "read a row of %s", g.table), g.none(id))
}

// list returns rows sorted by name.
func (g groups) list(ctx context.Context, q bun.IDB, w page.Window) ([]identity.Team, int, error) {
	var rows []group
	if err := g.find(q, &rows).OrderExpr("name").Apply(db.Window(w)).Scan(ctx); err != nil {
		return nil, 0, db.Wrap(err, "list %s", g.table)
	}
	n, err := db.Total(ctx, g.find(q, (*group)(nil)))
	return teamsOf(rows), n, err
}

func teamsOf(rows []group) []identity.Team {
	return db.Convert(rows, func(r group) identity.Team { return identity.Team(r.groupColumns) })
}
