package estate

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// Ignores implements estate.IgnoreStore. It is safe for concurrent use.
type Ignores struct{ d *db.DB }

var _ estate.IgnoreStore = (*Ignores)(nil)

// NewIgnores makes a store of ignore rules on a migrated database.
func NewIgnores(d *db.DB) *Ignores { return &Ignores{d} }

type ignoreRow struct {
	bun.BaseModel `bun:"table:drift_ignores,alias:o"`
	objects.Record
	ignoreColumns
}

// ignoreColumns is an estate.Ignore with the names of its columns.
type ignoreColumns struct {
	object.Record `bun:"-"`
	Host          string
	Resource      string
	Reason        string
	ExpiresAt     time.Time `bun:",nullzero"`
}

// rowOf returns the row of a rule. Rules have no organization.
func rowOf(i estate.Ignore) ignoreRow {
	i.Org = ""
	return ignoreRow{Record: objects.Record(i.Record), ignoreColumns: ignoreColumns(i)}
}

func (r ignoreRow) Object() estate.Ignore {
	out := estate.Ignore(r.ignoreColumns)
	out.Record = object.Record(r.Record)
	return out
}

var ignores = objects.Kind[estate.Ignore, ignoreRow]{Noun: "drift rule", Missing: estate.IgnoreNotFound}

// Insert also returns NameTaken for an existing id.
func (s *Ignores) Insert(ctx context.Context, i estate.Ignore) error {
	return ignores.Insert(ctx, s.d, rowOf(i))
}

func (s *Ignores) ByID(ctx context.Context, id string) (estate.Ignore, error) {
	return ignores.ByID(ctx, s.d.Read(ctx), id)
}

func (s *Ignores) List(ctx context.Context, name string, w page.Window) ([]estate.Ignore, int, error) {
	return ignores.List(ctx, s.d.Read(ctx), objects.Where("1 = 1", nil), catalog.Filter{Name: name}, w)
}

func (s *Ignores) Update(ctx context.Context, i estate.Ignore, revision int64) (estate.Ignore, error) {
	return ignores.Update(ctx, s.d, rowOf(i), revision)
}

func (s *Ignores) Delete(ctx context.Context, id string, revision int64) error {
	return ignores.Remove(ctx, s.d, id, revision)
}

func (s *Ignores) Active(ctx context.Context, now time.Time) ([]estate.Ignore, error) {
	return activeIgnores(ctx, s.d.Read(ctx), now)
}

func activeIgnores(ctx context.Context, q bun.IDB, now time.Time) ([]estate.Ignore, error) {
	var rows []ignoreRow
	list, err := objects.All(ctx, ignores.Select(q, &rows).Where("o.expires_at IS NULL OR o.expires_at > ?", now).
		OrderExpr("o.name").Apply(db.AtMost(estate.MaxIgnores)), &rows)
	return list, db.Wrap(err, "list the drift rules in force")
}
