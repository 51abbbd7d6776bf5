package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/adapters/sqlstore/shelf"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

func sources() shelf.Kind[catalog.InventorySource] {
	return shelf.Kind[catalog.InventorySource]{
		Table: "inventory_sources", Noun: "inventory source", Missing: catalog.SourceNotFound, Scan: scanSource,
		Columns: []string{
			"kind", "config", "path", "project_id", "credential_id", "inventory_id", "update_on_launch", "sync_interval", "synced_at", "last_error",
			"sealed",
		},
	}
}

// InsertSource implements catalog.SourceStore. A source with an interval is due at once.
func (s *Store) InsertSource(ctx context.Context, i catalog.InventorySource) error {
	config, err := pack.Document(i.Config)
	if err != nil {
		return err
	}
	err = sources().Insert(ctx, s.d, i.Record, string(i.Kind), config, i.Path, i.ProjectID, i.CredentialID, i.InventoryID,
		i.UpdateOnLaunch, i.SyncInterval, db.At(i.SyncedAt), i.LastError, orNull(i.Sealed))
	if err != nil || i.SyncInterval == 0 {
		return err
	}
	return s.book(ctx, i.ID, 0)
}

// orNull is what is sealed as a column holds it: no bytes are none.
func orNull(sealed []byte) any {
	if len(sealed) == 0 {
		return nil
	}
	return sealed
}

// book makes a source due after a while.
func (s *Store) book(ctx context.Context, id string, after time.Duration) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	if _, err := db.Exec(ctx, q, "UPDATE inventory_sources SET next_sync_at = ? WHERE id = ?", s.say.LeaseNow().Add(after), id); err != nil {
		return fmt.Errorf("book the next refresh: %w", err)
	}
	return nil
}

// longest is the longest interval that is booked.
const longest = 100 * 365 * 24 * time.Hour

func interval(i catalog.InventorySource) time.Duration {
	return time.Duration(min(i.SyncInterval, int(longest/time.Second))) * time.Second
}

// SourceByID implements catalog.SourceStore.
func (s *Store) SourceByID(ctx context.Context, id string) (catalog.InventorySource, error) {
	return sources().ByID(ctx, s.d.Read(ctx), id)
}

// ListSources implements catalog.SourceStore. They are by name and id.
func (s *Store) ListSources(ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window) ([]catalog.InventorySource, int, error) {
	shown := shelf.Where(visible.Those(sc, identity.KindInventory, "o.inventory_id"))
	project := shelf.Where(visible.Those(sc, identity.KindProject, "o.project_id"))
	return sources().List(ctx, s.d.Read(ctx), shown.And("(o.project_id = '' OR "+project.Text+")", project.Args...), f, w)
}

// UpdateSource implements catalog.SourceStore. What the last refresh left stays. A new interval begins now; the same one goes on.
func (s *Store) UpdateSource(ctx context.Context, i catalog.InventorySource, revision int64) (catalog.InventorySource, error) {
	q, err := sources().Held(ctx, s.d, i.ID, revision)
	if err != nil {
		return catalog.InventorySource{}, err
	}
	config, err := pack.Document(i.Config)
	if err != nil {
		return catalog.InventorySource{}, err
	}
	was, err := db.Count(ctx, q, "SELECT sync_interval FROM inventory_sources WHERE id = ?", i.ID)
	if err != nil {
		return catalog.InventorySource{}, fmt.Errorf("read an interval: %w", err)
	}
	set := "kind = ?, config = ?, path = ?, project_id = ?, credential_id = ?, inventory_id = ?, update_on_launch = ?, sync_interval = ?, " +
		"sealed = ?"
	if i.SyncInterval == 0 {
		set += ", next_sync_at = NULL"
	}
	is, err := sources().Update(ctx, q, i.Record, set, string(i.Kind), config, i.Path, i.ProjectID, i.CredentialID, i.InventoryID,
		i.UpdateOnLaunch, i.SyncInterval, orNull(i.Sealed))
	if err == nil && i.SyncInterval != 0 && i.SyncInterval != was {
		err = s.book(ctx, i.ID, interval(i))
	}
	return is, err
}

// DeleteSource implements catalog.SourceStore. What the source names goes with it.
func (s *Store) DeleteSource(ctx context.Context, id string, revision int64) error {
	return sources().Remove(ctx, s.d, id, revision)
}

// SourcesOf implements catalog.SourceStore.
func (s *Store) SourcesOf(ctx context.Context, inventoryID string) ([]catalog.InventorySource, error) {
	found, err := db.All(ctx, s.d.Read(ctx), scanSource, sources().Selects()+" WHERE o.inventory_id = ? ORDER BY o.id", inventoryID)
	if err != nil {
		return nil, fmt.Errorf("read the sources of an inventory: %w", err)
	}
	return found, nil
}

// TakeDue implements catalog.SourceStore. It joins the unit of ctx, and a source that another unit holds is passed over. The time
// is that of the leases.
func (s *Store) TakeDue(ctx context.Context) (src catalog.InventorySource, ok bool, wait time.Duration, err error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return src, false, 0, err
	}
	src, ok, err = db.One(ctx, q, scanSource, sources().Selects()+" WHERE o.next_sync_at <= ? ORDER BY o.next_sync_at, o.id LIMIT 1"+
		s.say.ForUpdateSkipLocked(), s.say.LeaseNow())
	if err != nil {
		return src, false, 0, fmt.Errorf("take a due source: %w", err)
	}
	if ok {
		if err := s.book(ctx, src.ID, interval(src)); err != nil {
			return catalog.InventorySource{}, false, 0, err
		}
	}
	wait, err = s.untilDue(ctx)
	return src, ok, wait, err
}

// soon is how long to wait for what is due already: another unit holds it, or it comes next.
const soon = 100 * time.Millisecond

// untilDue is how long until the next source is due, 0 where none ever is.
func (s *Store) untilDue(ctx context.Context) (time.Duration, error) {
	type times struct{ next, now db.Time }
	t, ok, err := db.One(ctx, s.d.Read(ctx), func(r db.Row) (t times, err error) { return t, r.Scan(&t.next, &t.now) },
		"SELECT next_sync_at, ? FROM inventory_sources WHERE next_sync_at IS NOT NULL ORDER BY next_sync_at, id LIMIT 1", s.say.LeaseNow())
	switch {
	case err != nil:
		return 0, fmt.Errorf("look for the next due source: %w", err)
	case !ok:
		return 0, nil
	}
	return max(t.next.Sub(t.now.Time), soon), nil
}

// NoteRefresh implements catalog.SourceStore.
func (s *Store) NoteRefresh(ctx context.Context, id, failure string, at time.Time) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	set, args := "last_error = ?", []any{failure}
	if failure == "" {
		set, args = set+", synced_at = ?", append(args, db.At(at))
	}
	if _, err := db.Exec(ctx, q, "UPDATE inventory_sources SET "+set+" WHERE id = ?", append(args, id)...); err != nil {
		return fmt.Errorf("note how a refresh ended: %w", err)
	}
	return nil
}

func scanSource(r db.Row) (i catalog.InventorySource, err error) {
	var at shelf.Stamps
	var synced db.Time
	var config string
	err = r.Scan(append(shelf.Targets(&i.Record, &at), &i.Kind, &config, &i.Path, &i.ProjectID, &i.CredentialID, &i.InventoryID,
		&i.UpdateOnLaunch, &i.SyncInterval, &synced, &i.LastError, &i.Sealed)...)
	if err != nil {
		return i, err
	}
	at.Set(&i.Record)
	i.SyncedAt = synced.Time
	return i, pack.Read(config, &i.Config)
}
