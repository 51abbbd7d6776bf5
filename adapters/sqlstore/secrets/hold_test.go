package secrets_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlsecrets "github.com/writ-automation/writ/adapters/sqlstore/secrets"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// TestLocksOfOneTypeDoNotWait locks a type in two units at the same time, if the engine runs units concurrently. A
// unit that changes the type waits for both.
func TestLocksOfOneTypeDoNotWait(t *testing.T) {
	t.Parallel()
	const id = "cty_00000000000000000000000001"
	url := dbtest.Fresh(t, db.Postgres, migrations.FS)
	d, other := dbtest.Connect(t, db.Config{URL: url}), dbtest.Connect(t, db.Config{URL: url})
	s, second := sqlsecrets.New(d), sqlsecrets.New(other)
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	made := secrets.Type{Record: object.Record{ID: id, Name: "n", CreatedAt: at, UpdatedAt: at}}
	if err := d.Do(t.Context(), func(ctx context.Context) error { return s.InsertType(ctx, made) }); err != nil {
		t.Fatal(err)
	}
	changed := make(chan error, 1)
	change := func() {
		changed <- other.Do(t.Context(), func(ctx context.Context) error {
			_, err := second.UpdateType(ctx, made, 1)
			return err
		})
	}
	hold := func(s *sqlsecrets.Store) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.LockType(ctx, id)
			return err
		}
	}
	err := d.Do(t.Context(), func(ctx context.Context) error {
		if err := hold(s)(ctx); err != nil {
			return err
		}
		limit, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := other.Do(limit, hold(second)); err != nil {
			return err
		}
		go change()
		select {
		case err := <-changed:
			return fmt.Errorf("the change did not wait and ended with: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-changed; err != nil {
		t.Errorf("the change ended with %v", err)
	}
}
