package harness

import (
	"hash/crc32"
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/depthtest"
)

// EachEngine runs fn as a sub-test on SQLite (an empty address) and on Postgres (the address of a migrated database
// without rows).
func EachEngine(t *testing.T, fn func(t *testing.T, dbURL string)) {
	t.Helper()
	onEngines(t, dbtest.Engines(), fn)
}

// AnyEngine is EachEngine for what no database has a part in but as a store, which the conformance suites compare.
// "make test" runs fn on one database, always the same for the name of the test, and "make test-long" on both.
func AnyEngine(t *testing.T, fn func(t *testing.T, dbURL string)) {
	t.Helper()
	all := dbtest.Engines()
	if !depthtest.Long {
		at := crc32.ChecksumIEEE([]byte(t.Name())) % uint32(len(all))
		all = all[at : at+1]
	}
	onEngines(t, all, fn)
}

func onEngines(t *testing.T, engines []db.Engine, fn func(t *testing.T, dbURL string)) {
	t.Helper()
	for _, engine := range engines {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			url := ""
			if engine == db.Postgres {
				url = Postgres(t)
			}
			fn(t, url)
		})
	}
}

// Postgres returns the address of a migrated database without rows. It is dropped when the test ends.
func Postgres(t testing.TB) string { t.Helper(); return dbtest.Fresh(t, db.Postgres, migrations.FS) }
