package audit_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/audit/tampertest"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/audit/audittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens the stores of a database with long timeouts for a loaded machine.
func open(t *testing.T, url string) audittest.Stores {
	t.Helper()
	d := dbtest.Connect(t, db.Config{URL: url, UnitTimeout: 2 * time.Minute, BusyTimeout: time.Minute})
	s := sqlaudit.New(d)
	return audittest.Stores{
		Unit: d, Chain: s, Reader: s, Tiles: s, Anchors: s, Identity: s, Tamper: tampertest.New(d),
		Beside: func(t *testing.T) audittest.Stores { t.Helper(); return open(t, url) },
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	audittest.Run(t, func(t *testing.T, fn func(*testing.T, audittest.Stores)) {
		for _, engine := range dbtest.Engines() {
			t.Run(string(engine), func(t *testing.T) {
				t.Parallel()
				fn(t, open(t, dbtest.Fresh(t, engine, migrations.FS)))
			})
		}
	})
}
