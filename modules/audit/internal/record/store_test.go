package record_test

import (
	"context"
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

// TestUnitsThatEndAtOnce must link one after the other; each collector gets the receipt of its own unit's first entry.
func TestUnitsThatEndAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		store := sqlaudit.New(d)
		r := record.New(record.Params{Chain: store, IDs: ids.New(clock.New())})
		var mu sync.Mutex
		receipts := make(map[audit.Receipt]string)
		var wait sync.WaitGroup
		for _, of := range []string{"run_a", "run_b", "run_c", "run_d"} {
			wait.Go(func() {
				for range 10 {
					ctx, collector := audit.WithCollector(t.Context())
					err := d.Do(ctx, func(ctx context.Context) error {
						for _, a := range []audit.Action{audit.RunSubmit, audit.RunStart} {
							if err := r.Record(ctx, audit.Entry{Action: a, Run: of, Object: audit.Object{Kind: "run", ID: of}}); err != nil {
								return err
							}
						}
						return nil
					})
					got, ok := collector.Receipt()
					if err != nil || !ok {
						t.Errorf("receipt %t: %v", ok, err)
					}
					mu.Lock()
					receipts[got] = of
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		prev, n := [32]byte{}, int64(0)
		err := store.Range(t.Context(), 1, 1000, false, func(e *audit.Stored) error {
			n++
			l, err := leaf.Scan([]byte(e.Leaf))
			if err != nil || l.Prev != prev || e.Seq != n || e.Hash != leaf.Hash([]byte(e.Leaf)) {
				t.Errorf("entry %d: %v", e.Seq, err)
			}
			prev = e.Hash
			if of, ok := receipts[audit.Receipt{Seq: e.Seq, Hash: e.Hash}]; ok &&
				(of != e.Run || e.Action != string(audit.RunSubmit)) {
				t.Errorf("the receipt of %s names an entry of %s", of, e.Run)
			}
			return nil
		})
		if err != nil || n != 81 || len(receipts) != 40 {
			t.Errorf("%d entries, %d receipts: %v", n, len(receipts), err)
		}
	})
}

// TestALastPartThatLosesIsTriedAgain makes two units take two locks in opposite order, one of them at its end.
func TestALastPartThatLosesIsTriedAgain(t *testing.T) {
	t.Parallel()
	url := dbtest.Fresh(t, db.Postgres, migrations.FS)
	first, second := dbtest.Connect(t, db.Config{URL: url}), dbtest.Connect(t, db.Config{URL: url})
	r := record.New(record.Params{Chain: sqlaudit.New(first), IDs: ids.New(clock.New())})
	held := make(chan struct{}, 2)
	meet := func() {
		held <- struct{}{}
		for range 500 {
			if len(held) == cap(held) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	attempts := make([]int, 2)
	var wait sync.WaitGroup
	unit := func(n int, d *db.DB, fn func(ctx context.Context, s *sqlaudit.Store) error) {
		wait.Go(func() {
			err := d.Do(t.Context(), func(ctx context.Context) error {
				attempts[n]++
				return fn(ctx, sqlaudit.New(d))
			})
			if err != nil {
				t.Errorf("unit %d: %v", n, err)
			}
		})
	}
	unit(0, first, func(ctx context.Context, store *sqlaudit.Store) error {
		if _, err := store.Install(ctx); err != nil {
			return err
		}
		if attempts[0] == 1 {
			meet()
		}
		return r.Record(ctx, audit.Entry{Action: audit.AuditBeat})
	})
	unit(1, second, func(ctx context.Context, store *sqlaudit.Store) error {
		if _, _, err := store.Lock(ctx); err != nil {
			return err
		}
		if attempts[1] == 1 {
			meet()
			<-time.After(200 * time.Millisecond) // so that the other unit waits longest and is the victim
		}
		_, err := store.Install(ctx)
		return err
	})
	wait.Wait()
	if attempts[0]+attempts[1] < 3 { // a busy machine may cost another attempt
		t.Errorf("%v attempts: no unit lost", attempts)
	}
	if tip, err := sqlaudit.New(first).Tip(t.Context()); err != nil || tip.Size != 2 {
		t.Errorf("%d entries: %v", tip.Size, err)
	}
}
