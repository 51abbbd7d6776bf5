package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/audit"
)

// TestTheClockIsReadOnceTheTipIsHeld lets one unit wait for another that locks the tip. The time of the waiting unit
// must not be before the time of the other, whether the other appends or rolls back.
func TestTheClockIsReadOnceTheTipIsHeld(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	for name, end := range map[string]func(ctx context.Context, s *sqlaudit.Store, tip audit.Tip, now time.Time) error{
		"appends": func(ctx context.Context, s *sqlaudit.Store, tip audit.Tip, now time.Time) error {
			return s.Append(ctx, []audit.Stored{entry(tip, now)})
		},
		"holds only": func(context.Context, *sqlaudit.Store, audit.Tip, time.Time) error { return nil },
		"fails":      func(context.Context, *sqlaudit.Store, audit.Tip, time.Time) error { return lost },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.Fresh(t, db.Postgres, migrations.FS)
			d := dbtest.Connect(t, db.Config{URL: url, UnitTimeout: time.Minute})
			s := sqlaudit.New(d)
			e := dbtest.Connect(t, db.Config{URL: url, UnitTimeout: time.Minute})
			waiting := sqlaudit.New(e)
			var reported, before time.Time
			done := make(chan error, 1)
			err := d.Do(t.Context(), func(ctx context.Context) error {
				tip, now, err := s.Lock(ctx)
				if err != nil {
					return err
				}
				go func() {
					done <- e.Do(t.Context(), func(ctx context.Context) (err error) {
						_, reported, err = waiting.Lock(ctx)
						return err
					})
				}()
				awaitWaiter(t, d)
				var at db.Time
				if err := d.Read(ctx).QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&at); err != nil {
					return err
				}
				before = at.Time
				return end(ctx, s, tip, now)
			})
			if err != nil && !errors.Is(err, lost) {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if reported.Before(before) {
				t.Errorf("the unit that waited got %v, %s before it had the tip", reported, before.Sub(reported))
			}
		})
	}
}

// awaitWaiter returns when another connection waits for a lock.
func awaitWaiter(t *testing.T, d *db.DB) {
	t.Helper()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for waiting := 0; waiting == 0; {
		if err := d.Read(t.Context()).QueryRowContext(t.Context(),
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
				"AND wait_event_type = 'Lock'").Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		select {
		case <-limit.C:
			t.Fatal("nobody waits for the tip")
		default:
		}
	}
}
