package harness

import (
	"testing"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// EachEngine runs fn as a sub-test on SQLite (an empty address) and on Postgres (the address of an empty database).
func EachEngine(t *testing.T, fn func(t *testing.T, dbURL string)) {
	t.Helper()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			url := ""
			if engine == db.Postgres {
				url = dbtest.Fresh(t, engine, nil)
			}
			fn(t, url)
		})
	}
}
