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

// groups are the rows of teams or of organizations, which are made, found and listed alike. A row is read as a Team;
// an Org has the same members.
type groups struct {
	table, noun string
	missing     fault.Code
}

var (
	teamGroups = groups{"teams", "team", identity.TeamNotFound}
	orgGroups  = groups{"orgs", "organization", identity.OrgNotFound}
)

const groupColumns = "id, name, created_at, created_by"

func (g groups) none(id string) *fault.Error { return g.missing.New("no %s %q", g.noun, id) }

func (g groups) present(ctx context.Context, q bun.IDB, id string) (bool, error) {
	return exists(ctx, q, "SELECT 1 FROM "+g.table+" WHERE id = ?", id)
}

// has returns the fault of one that is not there.
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
	n, err := s.exec(ctx, "INSERT INTO "+g.table+" ("+groupColumns+") VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		t.ID, t.Name, db.At(t.CreatedAt), t.CreatedBy)
	if err == nil && n == 0 {
		return naming("name", identity.NameTaken.New("the %s name %q is taken", g.noun, t.Name))
	}
	return err
}

func (g groups) byID(ctx context.Context, q bun.IDB, id string) (identity.Team, error) {
	t, ok, err := db.One(ctx, q, scanGroup, "SELECT "+groupColumns+" FROM "+g.table+" WHERE id = ?", id)
	switch {
	case err != nil:
		return identity.Team{}, fmt.Errorf("read a row of %s: %w", g.table, err)
	case !ok:
		return identity.Team{}, g.none(id)
	}
	return t, nil
}

// list returns rows in the order of their names.
func (g groups) list(ctx context.Context, q bun.IDB, w page.Window) ([]identity.Team, int, error) {
	found, err := db.All(ctx, q, scanGroup, "SELECT "+groupColumns+" FROM "+g.table+" ORDER BY name LIMIT ? OFFSET ?", w.Rows(), w.Offset)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", g.table, err)
	}
	n, err := count(ctx, q, "SELECT count(*) FROM "+g.table)
	return found, n, err
}

func scanGroup(r db.Row) (t identity.Team, err error) {
	var created db.Time
	err = r.Scan(&t.ID, &t.Name, &created, &t.CreatedBy)
	t.CreatedAt = created.Time
	return t, err
}
