package execution_test

import (
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/execution"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/execution/executiontest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	executiontest.RunWorkers(t, func(t *testing.T, fn func(*testing.T, executiontest.WorkerStores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			fn(t, executiontest.WorkerStores{Unit: d, Store: execution.New(d)})
		})
	})
}
