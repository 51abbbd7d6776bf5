package estate_test

import (
	"context"
	"testing"
	"time"

	sqlestate "github.com/writ-automation/writ/adapters/sqlstore/estate"
	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/estate/estatetest"
	"github.com/writ-automation/writ/ports/object/objecttest"
)

func rights(d *db.DB) objecttest.Rights {
	s := sqlidentity.New(d)
	return objecttest.Rights{Orgs: s, Teams: s, Grants: s, Objects: s}
}

// atOnce is a bound below that of the suite's changes, so that it reads them in both ways.
const atOnce = 5

func TestFacts(t *testing.T) {
	t.Parallel()
	estatetest.RunFacts(t, func(t *testing.T, fn func(*testing.T, estatetest.FactStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, estatetest.FactStores{Unit: d, Facts: sqlestate.New(d).ReadAtOnce(atOnce), Rights: rights(d)})
		})
	})
}

func TestDrift(t *testing.T) {
	t.Parallel()
	estatetest.RunDrift(t, func(t *testing.T, fn func(*testing.T, estatetest.DriftStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, estatetest.DriftStores{Unit: d, Drift: sqlestate.New(d), Ignores: sqlestate.NewIgnores(d),
				Rights: rights(d)})
		})
	})
}

func TestFleet(t *testing.T) {
	t.Parallel()
	estatetest.RunFleet(t, func(t *testing.T, fn func(*testing.T, estatetest.FleetStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, estatetest.FleetStores{Unit: d, Fleet: sqlestate.New(d), Restrict: restrictor(d)})
		})
	})
}

// restrictor returns the function that changes who may read an object.
func restrictor(d *db.DB) func(context.Context, string, []string) error {
	now := db.At(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	return func(ctx context.Context, object string, readers []string) error {
		return d.Do(ctx, func(ctx context.Context) error {
			q := d.InUnit(ctx)
			_, err := db.Exec(ctx, q, "INSERT INTO access_objects (id, kind, restricted, gone) VALUES (?, 'test', TRUE, FALSE) "+
				"ON CONFLICT (id) DO NOTHING", object)
			if err == nil {
				_, err = db.Exec(ctx, q, "DELETE FROM grants WHERE object = ?", object)
			}
			for _, who := range readers {
				if err == nil {
					_, err = db.Exec(ctx, q, "INSERT INTO grants (id, subject, object, level, created_at, created_by, hidden) "+
						"VALUES (?, ?, ?, 'read', ?, 'test', FALSE)", "grt_"+who+object, who, object, now)
				}
			}
			return err
		})
	}
}
