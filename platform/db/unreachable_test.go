package db_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/waittest"
)

// broken is a database that answers no connection and no BEGIN.
type broken struct {
	driver.Conn
	tries   atomic.Int64
	refuse  <-chan struct{} // connections wait for it; nil for a database that accepts them
	refused error
}

func (b *broken) Connect(context.Context) (driver.Conn, error) {
	b.tries.Add(1)
	if b.refuse == nil {
		return b, nil
	}
	<-b.refuse
	return nil, b.refused
}

func (b *broken) Driver() driver.Driver { return nil }

func (b *broken) Close() error { return nil }

func (b *broken) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func nothing(context.Context) error { return nil }

// TestUnitsFailTogetherWhileTheDatabaseIsAway has units wait while the first one asks for a connection. None of them
// asks again.
func TestUnitsFailTogetherWhileTheDatabaseIsAway(t *testing.T) {
	d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, db.Postgres, migrations(t))})
	refuse := make(chan struct{})
	away := &broken{refuse: refuse, refused: errors.New("nobody answers")}
	attempt, stop, err := d.WriterOver(t.Context(), away)
	if err != nil {
		t.Fatal(err)
	}
	const units = 6
	errs := make([]error, units)
	var all sync.WaitGroup
	for i := range units {
		all.Go(func() { errs[i] = attempt(t.Context(), nothing) })
	}
	waittest.Eventually(t, time.Minute, "the units wait", func() bool {
		return away.tries.Load() == 1 && waitingUnits() >= units
	})
	close(refuse)
	all.Wait()
	for i, err := range errs {
		if !errors.Is(err, away.refused) {
			t.Errorf("unit %d returned %v", i, err)
		}
	}
	if n := away.tries.Load(); n != 1 {
		t.Errorf("the units asked for %d connections", n)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestABeginOnPostgresTakesNoLongerThanAUnit does not wait for the writers of a file there.
func TestABeginOnPostgresTakesNoLongerThanAUnit(t *testing.T) {
	d := dbtest.Connect(t, db.Config{
		URL: dbtest.Fresh(t, db.Postgres, migrations(t)), UnitTimeout: time.Second, BusyTimeout: time.Hour,
	})
	attempt, stop, err := d.WriterOver(t.Context(), &broken{})
	if err != nil {
		t.Fatal(err)
	}
	bounded, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := attempt(bounded, nothing); !errors.Is(err, context.DeadlineExceeded) || bounded.Err() != nil {
		t.Errorf("the unit returned %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
