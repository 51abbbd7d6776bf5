package runs_test

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/estate/estatetest"
	"github.com/writ-automation/writ/ports/runs/runstest"
)

// totalCap replaces the cap of ten thousand, so that the suite needs fewer runs.
const totalCap = 400

func TestConformance(t *testing.T) {
	t.Parallel()
	runstest.Run(t, func(t *testing.T, fn func(*testing.T, runstest.Stores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s := sqlruns.New(d).CountUpTo(totalCap)
			fn(t, runstest.Stores{Unit: d, Runs: s, Objects: s, Queue: s, Logs: s, Events: s, Summaries: s, Facts: s,
				Keys: s, Tickets: s, Purger: s, Slots: s, Waits: s, Facets: s, Plans: s,
				Restrict: restrictor(d), Copy: copier(d), TotalCap: totalCap})
		})
	})
}

func TestChanges(t *testing.T) {
	t.Parallel()
	estatetest.RunChanges(t, func(t *testing.T, fn func(*testing.T, estatetest.ChangeStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s, restrict := sqlruns.New(d), restrictor(d)
			fn(t, estatetest.ChangeStores{Unit: d, Runs: s, Summaries: s, Purger: s, Changes: s,
				Restrict: func(ctx context.Context, object string, readers ...string) error {
					return restrict(ctx, runstest.Restriction{Object: object, Readers: readers})
				}})
		})
	})
}
