package runs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// TestAnEndThatIsRolledBackIsNotListed lists a run within a unit that ends it and is rolled back. After the run has
// ended in another way, the list shows that end.
func TestAnEndThatIsRolledBackIsNotListed(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s := sqlruns.New(d)
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		fill(t, d, s, now, 1)
		end := func(ctx context.Context, to runs.Status) error {
			_, err := s.Move(ctx, runs.Move{ID: "run_000000", From: runs.Pending, To: to, At: now})
			return err
		}
		undo := errors.New("rolled back")
		err := d.Do(t.Context(), func(ctx context.Context) error {
			if err := end(ctx, runs.Succeeded); err != nil {
				return err
			}
			if l, err := s.List(ctx, runs.Filter{Scope: access.Everything()}); err != nil || l.Runs[0].Status != runs.Succeeded {
				t.Errorf("within the unit: %v", err)
			}
			return undo
		})
		if !errors.Is(err, undo) {
			t.Fatal(err)
		}
		if err := d.Do(t.Context(), func(ctx context.Context) error { return end(ctx, runs.Canceled) }); err != nil {
			t.Fatal(err)
		}
		if l, err := s.List(t.Context(), runs.Filter{Scope: access.Everything()}); err != nil ||
			l.Runs[0].Status != runs.Canceled {
			t.Errorf("listed as %+v, %v", l.Runs[0].Status, err)
		}
	})
}
