package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

type source struct {
	bun.BaseModel `bun:"table:inventory_sources,alias:o"`
	objects.Record
	sourceColumns
	NextSyncAt time.Time `bun:",nullzero"` // by the clock of the leases
}

// sourceColumns maps a catalog.InventorySource to columns.
type sourceColumns struct {
	object.Record  `bun:"-"`
	Kind           catalog.SourceKind
	Config         catalog.SourceConfig
	Path           string
	ProjectID      string
	CredentialID   string
	InventoryID    string
	UpdateOnLaunch bool
	SyncInterval   int
	Trusted        bool
	Sealed         []byte    `bun:",nullzero"`
	SyncedAt       time.Time `bun:",nullzero,skipupdate"`
	LastError      string    `bun:",skipupdate"`
	Dropped        string    `bun:",skipupdate"`
}

func sourceRow(i catalog.InventorySource) source {
	return source{Record: objects.Record(i.Record), sourceColumns: sourceColumns(i)}
}

func (i source) Object() catalog.InventorySource {
	out := catalog.InventorySource(i.sourceColumns)
	out.Record = object.Record(i.Record)
	return out
}

var sources = objects.Kind[catalog.InventorySource, source]{Noun: "inventory source", Missing: catalog.SourceNotFound}

// A source with an interval is due immediately.
func (s *Store) InsertSource(ctx context.Context, i catalog.InventorySource) error {
	return sources.Insert(ctx, s.d, sourceRow(i), func(q *bun.InsertQuery) *bun.InsertQuery {
		if i.SyncInterval != 0 {
			q.Value("next_sync_at", "?", s.dialect.LeaseNow())
		}
		return q
	})
}

// longest is the longest interval that is stored.
const longest = 100 * 365 * 24 * time.Hour

// next returns when a source that is refreshed or changed now is due.
func (s *Store) next(i catalog.InventorySource) db.LeaseTime {
	return s.dialect.LeaseNow().Add(time.Duration(min(i.SyncInterval, int(longest/time.Second))) * time.Second)
}

func (s *Store) SourceByID(ctx context.Context, id string) (catalog.InventorySource, error) {
	return sources.ByID(ctx, s.d.Read(ctx), id)
}

// They are ordered by name and id.
func (s *Store) ListSources(
	ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window,
) ([]catalog.InventorySource, int, error) {
	project, args := visible.Those(sc, identity.KindProject, "o.project_id")
	both := objects.Where(visible.Those(sc, identity.KindInventory, "o.inventory_id")).
		And("(o.project_id = '' OR "+project+")", args...)
	return sources.List(ctx, s.d.Read(ctx), both, f, w)
}

// The result of the last refresh stays. A changed interval begins now; an unchanged one continues.
func (s *Store) UpdateSource(
	ctx context.Context, i catalog.InventorySource, revision int64,
) (catalog.InventorySource, error) {
	return sources.Update(ctx, s.d, sourceRow(i), revision, func(q *bun.UpdateQuery) *bun.UpdateQuery {
		if i.SyncInterval == 0 {
			return q
		}
		return q.Value("next_sync_at", "CASE WHEN o.sync_interval = ? THEN o.next_sync_at ELSE ? END", i.SyncInterval,
			s.next(i))
	})
}

// The references of the source are deleted with it.
func (s *Store) DeleteSource(ctx context.Context, id string, revision int64) error {
	return sources.Remove(ctx, s.d, id, revision)
}

func (s *Store) SourcesOf(ctx context.Context, inventoryID string) ([]catalog.InventorySource, error) {
	var rows []source
	found, err := objects.All(ctx, sources.Select(s.d.Read(ctx), &rows).Where("o.inventory_id = ?", inventoryID).
		OrderExpr("o.id"), &rows)
	return found, db.Wrap(err, "read the sources of an inventory")
}

// TakeDue joins the unit of work in ctx and skips sources that another unit has locked. It uses the clock of the
// leases.
func (s *Store) TakeDue(ctx context.Context) (src catalog.InventorySource, ok bool, wait time.Duration, err error) {
	q, row := s.d.InUnit(ctx), source{}
	ok, err = db.First(ctx, sources.Select(q, &row).Where("o.next_sync_at <= ?", s.dialect.LeaseNow()).
		OrderExpr("o.next_sync_at, o.id").
		Limit(1).Apply(s.dialect.LockSkip))
	if err == nil && ok {
		_, err = db.Modify(ctx, q.NewUpdate().Model(&row).Set("next_sync_at = ?", s.next(row.Object())).WherePK())
	}
	if err != nil {
		return src, false, 0, fmt.Errorf("take a due source: %w", err)
	}
	wait, err = s.untilDue(ctx)
	return row.Object(), ok, wait, err
}

// soon is the wait if a source is already due: another unit has locked it, or the next call takes it.
const soon = 100 * time.Millisecond

// untilDue returns the time until the next source is due, 0 if no source has an interval.
func (s *Store) untilDue(ctx context.Context) (time.Duration, error) {
	var t struct{ Next, Now db.Time }
	ok, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model((*source)(nil)).
		ColumnExpr("o.next_sync_at AS next, ? AS now", s.dialect.LeaseNow()).
		Where("o.next_sync_at IS NOT NULL").OrderExpr("o.next_sync_at, o.id").Limit(1), &t)
	switch {
	case err != nil:
		return 0, fmt.Errorf("look for the next due source: %w", err)
	case !ok:
		return 0, nil
	}
	return max(t.Next.Sub(t.Now.Time), soon), nil
}

func (s *Store) NoteRefresh(ctx context.Context, id, failure, dropped string, at time.Time) error {
	q := s.d.InUnit(ctx).NewUpdate().Model((*source)(nil)).Set("last_error = ?", failure).Where("id = ?", id)
	if failure == "" {
		q.Set("synced_at = ?", db.At(at)).Set("dropped = ?", dropped)
	}
	_, err := db.Modify(ctx, q)
	return db.Wrap(err, "store the result of a refresh")
}
