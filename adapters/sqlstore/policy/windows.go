package policy

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
)

// Windows implements policy.WindowStore. It is safe for concurrent use.
type Windows struct{ d *db.DB }

var _ policy.WindowStore = (*Windows)(nil)

// NewWindows makes a store of windows on a migrated database.
func NewWindows(d *db.DB) *Windows { return &Windows{d: d} }

type windowRow struct {
	bun.BaseModel `bun:"table:windows,alias:o"`
	objects.Record
	windowColumns
}

// windowColumns is a policy.Window with the names of its columns.
type windowColumns struct {
	object.Record `bun:"-"`
	Mode          policy.WindowMode
	Enabled       bool
	Match         policy.Match `bun:"criteria"`
	Cron          string
	Duration      int64
	From          string `bun:"begins"`
	To            string `bun:"ends"`
	Timezone      string
	Outside       policy.Outside
}

// rowOfWindow returns the row of a window. Windows have no organization.
func rowOfWindow(w policy.Window) windowRow {
	w.Org = ""
	return windowRow{Record: objects.Record(w.Record), windowColumns: windowColumns(w)}
}

func (r windowRow) Object() policy.Window {
	out := policy.Window(r.windowColumns)
	out.Record = object.Record(r.Record)
	return out
}

var windows = objects.Kind[policy.Window, windowRow]{Noun: "window", Missing: policy.WindowNotFound}

// Insert also returns NameTaken for an existing id.
func (s *Windows) Insert(ctx context.Context, w policy.Window) error {
	if err := change(ctx, s.d, ofRules, ofWindows); err != nil {
		return err
	}
	return windows.Insert(ctx, s.d, rowOfWindow(w))
}

func (s *Windows) ByID(ctx context.Context, id string) (policy.Window, error) {
	return windows.ByID(ctx, s.d.Read(ctx), id)
}

func (s *Windows) List(ctx context.Context, f policy.Filter, w page.Window) ([]policy.Window, int, error) {
	return windows.List(ctx, s.d.Read(ctx), objects.Where("1 = 1", nil), catalog.Filter{Name: f.Name}, w)
}

func (s *Windows) Update(ctx context.Context, w policy.Window, revision int64) (policy.Window, error) {
	if err := change(ctx, s.d, ofRules, ofWindows); err != nil {
		return policy.Window{}, err
	}
	return windows.Update(ctx, s.d, rowOfWindow(w), revision)
}

func (s *Windows) Delete(ctx context.Context, id string, revision int64) error {
	if err := change(ctx, s.d, ofRules, ofWindows); err != nil {
		return err
	}
	return windows.Remove(ctx, s.d, id, revision)
}

func (s *Windows) Version(ctx context.Context) (int64, error) { return versionOf(ctx, s.d, ofWindows) }

// Enabled reads the version first, so that the list is not older.
func (s *Windows) Enabled(ctx context.Context) ([]policy.Window, int64, error) {
	v, err := s.Version(ctx)
	if err != nil {
		return nil, 0, err
	}
	var rows []windowRow
	list, err := objects.All(ctx, windows.Select(s.d.Read(ctx), &rows).Where("o.enabled").OrderExpr("o.name").
		Apply(db.AtMost(policy.MaxWindows)), &rows)
	return list, v, db.Wrap(err, "list the enabled windows")
}
