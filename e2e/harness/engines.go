package harness

import (
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// EachEngine runs fn as a sub-test on SQLite (an empty address) and on Postgres (the address of a migrated database
// without rows).
func EachEngine(t *testing.T, fn func(t *testing.T, dbURL string)) {
	t.Helper()
	for _, engine := range dbtest.Engines() {
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
