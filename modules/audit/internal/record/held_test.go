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
	"github.com/writ-automation/writ/ports/fault"
)

// TestALockedTip simulates a server that stopped in the middle of a unit: the others refuse changes before their units
// time out, answer readers meanwhile, and continue when the tip is free.
// Keeps F37.
func TestALockedTip(t *testing.T) {
	t.Parallel()
	url := dbtest.Fresh(t, db.Postgres, migrations.FS)
	stopped := dbtest.Connect(t, db.Config{URL: url, UnitTimeout: 5 * time.Minute})
	const unit = 30 * time.Second
	d := dbtest.Connect(t, db.Config{URL: url, UnitTimeout: unit})
	store := sqlaudit.New(d)
	r := record.New(record.Params{Chain: store, IDs: ids.New(clock.New())})
	change := func() error {
		return d.Do(t.Context(), func(ctx context.Context) error {
			return r.Record(ctx, audit.Entry{Action: audit.AuthLogin})
		})
	}
	held, release := make(chan struct{}), make(chan struct{})
	var holder sync.WaitGroup
	holder.Go(func() {
		err := stopped.Do(t.Context(), func(ctx context.Context) error {
			holding := sqlaudit.New(stopped)
			_, _, err := holding.Lock(ctx)
			close(held)
			for err == nil { // the database ends a unit that is idle for long
				select {
				case <-release:
					return nil
				case <-time.After(time.Second):
					_, err = holding.Tip(ctx)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-held
	// Each of the first units occupies a connection, and there are more of them than connections. Later units wait
	// less and do not block readers.
	first := refused(t, 40, change)
	if first >= unit {
		t.Errorf("the first ones wait for %s", first)
	}
	if later := refused(t, 40, change); later >= first {
		t.Errorf("those that come later wait for %s, the first ones did for %s", later, first)
	}
	reading := make(chan time.Duration, 1)
	go func() {
		<-time.After(100 * time.Millisecond)
		began := time.Now()
		_, err := store.Tip(t.Context())
		for n := 0; fault.Is(err, fault.Unavailable) && n < 5; n++ { // it got an abandoned connection
			_, err = store.Tip(t.Context())
		}
		if err != nil {
			t.Error(err)
		}
		reading <- time.Since(began)
	}()
	if later := refused(t, 40, change); later >= first {
		t.Errorf("those that come later wait for %s, the first ones did for %s", later, first)
	}
	if took := <-reading; took >= first {
		t.Errorf("a reader waits for %s, the first ones did for %s", took, first)
	}
	close(release)
	holder.Wait()
	if err := change(); err != nil {
		t.Errorf("once the tip is free: %v", err)
	}
}

// refused makes n concurrent changes, each of which must be refused, and returns the longest duration.
func refused(t *testing.T, n int, change func() error) time.Duration {
	t.Helper()
	var waiting sync.WaitGroup
	began := time.Now()
	for range n {
		waiting.Go(func() {
			if err := change(); !fault.Is(err, fault.Unavailable) {
				t.Errorf("after %s: %v", time.Since(began), err)
			}
		})
	}
	waiting.Wait()
	return time.Since(began)
}
