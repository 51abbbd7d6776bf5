package system_test

import (
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlsystem "github.com/writ-automation/writ/adapters/sqlstore/system"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/system/systemtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	systemtest.Run(t, func(t *testing.T, fn func(*testing.T, systemtest.Stores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, systemtest.Stores{Unit: d, DeadLetters: sqlsystem.New(d)})
		})
	})
}
