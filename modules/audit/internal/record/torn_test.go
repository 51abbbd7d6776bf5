package record_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/audit/internal/record"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// torn is a fixture whose units end in every possible way.
type torn struct {
	d     *db.DB
	store *sqlaudit.Store
	r     *record.Recorder

	mu       sync.Mutex
	done     map[string]bool          // units reported as committed
	failed   map[string]bool          // units that certainly failed
	receipts map[string]audit.Receipt // the issued receipts
}

var errLost = errors.New("lost")

// TestUnitsThatAreTorn makes changes in eight goroutines and interrupts units: by errors, panics, canceled callers,
// failing nested units and, on Postgres, cut connections. A change exists if and only if its entry exists.
// Keeps F37.
func TestUnitsThatAreTorn(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			url := dbtest.Fresh(t, engine, migrations.FS)
			w := tear(t, dbtest.Connect(t, db.Config{URL: url, UnitTimeout: time.Minute}))
			// The first pool may hold connections that were cut after their unit, which a read would be the first to notice.
			w.check(t, sqlaudit.New(dbtest.Connect(t, db.Config{URL: url})))
		})
	}
}

// tear runs all units, and cuts connections meanwhile on Postgres.
func tear(t *testing.T, d *db.DB) *torn {
	t.Helper()
	store := sqlaudit.New(d)
	w := &torn{
		d: d, store: store, r: record.New(record.Params{Chain: store, IDs: ids.New(clock.New())}),
		done: make(map[string]bool), failed: make(map[string]bool), receipts: make(map[string]audit.Receipt),
	}
	stop := make(chan struct{})
	var cutter sync.WaitGroup
	if d.Engine() == db.Postgres {
		cutter.Go(func() { w.cut(t, stop) })
	}
	var workers sync.WaitGroup
	for g := range 8 {
		workers.Go(func() {
			for n := range 40 {
				w.unit(t.Context(), fmt.Sprintf("anc_%d_%d", g, n), rand.IntN(9))
			}
		})
	}
	workers.Wait()
	close(stop)
	cutter.Wait()
	return w
}

// change inserts a row and records it.
func (w *torn) change(ctx context.Context, id string) error {
	if err := w.r.Record(ctx, audit.Entry{Action: audit.AuditAnchor,
		Object: audit.Object{Kind: "anchor", ID: id}}); err != nil {
		return err
	}
	return w.store.PutAnchor(ctx, audit.Anchor{ID: id, Kind: audit.KindPublish, MadeAt: time.Unix(0, 0)})
}

// unit makes a change and ends its unit in one of several ways.
func (w *torn) unit(ctx context.Context, id string, end int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, collector := audit.WithCollector(ctx)
	returned := false
	defer func() {
		thrown := recover()
		w.mu.Lock()
		defer w.mu.Unlock()
		if thrown != nil || !returned {
			w.failed[id] = true
		}
		if got, ok := collector.Receipt(); ok {
			w.receipts[id] = got
		}
	}()
	err := w.d.Do(ctx, func(ctx context.Context) error {
		if err := w.change(ctx, id); err != nil {
			return err
		}
		switch end {
		case 0:
			return errLost
		case 1:
			panic("lost")
		case 2:
			cancel()
		case 3:
			_ = w.d.Do(ctx, func(context.Context) error { return errLost }) // the unit fails whatever it returns
		case 4:
			return w.d.Do(ctx, func(ctx context.Context) error { return w.change(ctx, id+"_too") })
		case 5:
			return w.r.Record(ctx, audit.Entry{Action: "no.such"})
		}
		return nil
	})
	returned = true
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.done[id] = true
	case errors.Is(err, errLost) || end == 5:
		w.failed[id] = true
	}
}

// cut ends connections of running units.
func (w *torn) cut(t *testing.T, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		_, _ = w.d.Read(t.Context()).ExecContext(t.Context(),
			"SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity "+
				"WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle' ORDER BY random() LIMIT 1) "+
				"AS one")
	}
}

// check reads the trail through a store of its own connections.
func (w *torn) check(t *testing.T, store *sqlaudit.Store) {
	t.Helper()
	rows := make(map[string]bool)
	if err := store.Anchors(t.Context(), func(a *audit.Anchor) error {
		rows["anchor/"+a.ID] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	prev, n, entries := [32]byte{}, int64(0), make(map[string]audit.Receipt)
	err := store.Range(t.Context(), 1, 1<<20, false, func(e *audit.Stored) error {
		n++
		l, err := leaf.Scan([]byte(e.Leaf))
		if err != nil || l.Prev != prev || l.Seq != n || e.Seq != n || e.Hash != leaf.Hash([]byte(e.Leaf)) {
			t.Errorf("entry %d does not follow: %v", e.Seq, err)
		}
		prev = e.Hash
		if e.Object != "" {
			if _, twice := entries[e.Object]; twice || !rows[e.Object] {
				t.Errorf("entry %d of %s: twice %t, without its change %t", e.Seq, e.Object, twice, !rows[e.Object])
			}
			entries[e.Object] = audit.Receipt{Seq: e.Seq, Hash: e.Hash}
		}
		return nil
	})
	tip, lost := store.Tip(t.Context())
	if err := errors.Join(err, lost); err != nil || tip.Size != n || tip.Hash != prev {
		t.Errorf("%d entries and a tip of %d: %v", n, tip.Size, err)
	}
	for object := range rows {
		if _, ok := entries[object]; !ok {
			t.Errorf("%s has no entry", object)
		}
	}
	for id := range w.done {
		if got := w.receipts[id]; got != entries["anchor/"+id] {
			t.Errorf("%s committed as %v with the receipt %v", id, entries["anchor/"+id], got)
		}
	}
	for id, got := range w.receipts {
		if got != entries["anchor/"+id] {
			t.Errorf("%s has the receipt %v of what is %v", id, got, entries["anchor/"+id])
		}
	}
	for id := range w.failed {
		if rows["anchor/"+id] {
			t.Errorf("%s failed and is there", id)
		}
	}
	if len(w.done) == 0 || len(w.failed) == 0 || len(rows) == 0 {
		t.Errorf("%d units committed, %d failed", len(w.done), len(w.failed))
	}
}
