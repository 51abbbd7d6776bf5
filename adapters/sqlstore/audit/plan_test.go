package audit_test

import (
	"strings"
	"testing"
	"time"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// TestEntriesOfARunAreFoundByIndexes checks the plan in a long chain: both parts of the query use the index with their
// condition.
func TestEntriesOfARunAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	for engine, explain := range map[db.Engine]string{db.SQLite: "EXPLAIN QUERY PLAN ", db.Postgres: "EXPLAIN "} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, migrations.FS), UnitTimeout: time.Minute})
			fill(t, d, sqlaudit.New(d), 5000)
			uses(t, d, explain+sqlaudit.OfRun, "run_1", "run/run_1")
			uses(t, d, explain+sqlaudit.HashesOf, "run_1", "run_1", "run_1", "run/run_1")
		})
	}
}

// uses checks that the plan of a query has both indexes.
func uses(t *testing.T, d *db.DB, explain string, args ...any) {
	t.Helper()
	rows, err := d.Read(t.Context()).QueryContext(t.Context(), explain, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cells := make([]any, 4)
	if d.Engine() == db.Postgres {
		cells = cells[:1]
	}
	var plan strings.Builder
	for rows.Next() {
		var text string
		for i := range cells {
			cells[i] = new(any)
		}
		cells[len(cells)-1] = &text
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(text + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, index := range []string{"audit_entries_run", "audit_entries_object"} {
		if !strings.Contains(plan.String(), index) {
			t.Errorf("%s is not used:\n%s", index, plan.String())
		}
	}
}
