package scheduling_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlscheduling "github.com/writ-automation/writ/adapters/sqlstore/scheduling"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/scheduling/schedulingtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	schedulingtest.Run(t, func(t *testing.T, fn func(*testing.T, schedulingtest.Stores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s := sqlscheduling.New(d)
			fn(t, schedulingtest.Stores{
				Unit: d, Schedules: s, Slots: s, Triggers: s, Deliveries: s, Restrict: restrictor(d), Orgs: orgs(d),
				Older: older(d),
			})
		})
	})
}

// writing runs statements in a unit until one fails.
func writing(ctx context.Context, d *db.DB, fn func(exec func(query string, args ...any))) error {
	return d.Do(ctx, func(ctx context.Context) error {
		q, err := d.Write(ctx)
		if err != nil {
			return err
		}
		fn(func(query string, args ...any) {
			if err == nil {
				_, err = bun.IDB(q).ExecContext(ctx, query, args...)
			}
		})
		return err
	})
}

var now = db.At(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))

func orgs(d *db.DB) func(context.Context, ...string) error {
	return func(ctx context.Context, ids ...string) error {
		return writing(ctx, d, func(exec func(string, ...any)) {
			for _, id := range ids {
				exec("INSERT INTO orgs (id, name, created_at, created_by) VALUES (?, ?, ?, 'test') ON CONFLICT (id) DO NOTHING", id,
					id, now)
			}
		})
	}
}

func older(d *db.DB) func(context.Context, time.Duration) error {
	return func(ctx context.Context, age time.Duration) error {
		return writing(ctx, d, func(exec func(string, ...any)) {
			exec("UPDATE hook_deliveries SET seen_at = ?", d.Dialect().LeaseNow().Add(-age))
		})
	}
}

// restrictor writes rights to the tables of access.
func restrictor(d *db.DB) func(context.Context, schedulingtest.Restriction) error {
	return func(ctx context.Context, r schedulingtest.Restriction) error {
		return writing(ctx, d, func(exec func(string, ...any)) {
			var org any
			if r.Org != "" {
				org = r.Org
				exec("INSERT INTO orgs (id, name, created_at, created_by) VALUES (?, ?, ?, 'test') ON CONFLICT (id) DO NOTHING",
					r.Org, r.Org, now)
			}
			exec("INSERT INTO access_objects (id, kind, org_id, restricted, gone) VALUES (?, 'test', ?, TRUE, FALSE) "+
				"ON CONFLICT (id) DO UPDATE SET org_id = excluded.org_id", r.Object, org)
			exec("DELETE FROM grants WHERE object = ?", r.Object)
			for _, who := range r.Readers {
				exec("INSERT INTO grants (id, subject, object, level, created_at, created_by, hidden) VALUES (?, ?, ?, 'read', "+
					"?, 'test', FALSE)",
					fmt.Sprintf("grt_%s_%s", who, r.Object), who, r.Object, now)
			}
		})
	}
}
