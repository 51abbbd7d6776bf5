package notify_test

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlnotify "github.com/writ-automation/writ/adapters/sqlstore/notify"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/notify/notifytest"
	"github.com/writ-automation/writ/ports/runs"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T, fn func(*testing.T, notifytest.Stores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s := sqlnotify.New(d)
			fn(t, notifytest.Stores{Unit: d, Deliveries: s, Targets: s, Sealed: s.SealedStores()[0], Runs: made(d),
				Forget: forget(d)})
		})
	})
}

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// made stores runs that were canceled before they began.
func made(d *db.DB) func(context.Context, ...string) error {
	store := sqlruns.New(d)
	return func(ctx context.Context, ids ...string) error {
		return d.Do(ctx, func(ctx context.Context) error {
			for _, id := range ids {
				err := store.Insert(ctx, &runs.Run{
					ID: id, Kind: runs.Single, Status: runs.Canceled,
					Spec:  runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue},
					Actor: actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada"}, CreatedAt: start, EndedAt: start,
					Objects: []string{access.Queue(runs.DefaultQueue)},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// forget is a pass of retention that deletes every run, including runs that another unit locked at first.
func forget(d *db.DB) func(context.Context) error {
	store := sqlruns.New(d)
	return func(ctx context.Context) error {
		return d.Do(ctx, func(ctx context.Context) error {
			_, err := store.PurgeRuns(ctx, start.Add(time.Hour), 1000)
			return err
		})
	}
}
