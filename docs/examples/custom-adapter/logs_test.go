package main

import (
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/runs/runstest"
)

// TestConformance holds the log store to the contract of the port that it replaces.
func TestConformance(t *testing.T) {
	t.Parallel()
	runstest.RunLogs(t, func(t *testing.T, fn func(*testing.T, runstest.Stores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s := sqlruns.New(d)
			logs, err := newEncryptedLogs(s, "a key of at least 16")
			if err != nil {
				t.Fatal(err)
			}
			fn(t, runstest.Stores{Unit: d, Runs: s, Queue: s, Logs: logs})
		})
	})
}

func TestShortKey(t *testing.T) {
	t.Parallel()
	if _, err := newEncryptedLogs(nil, "short"); err == nil {
		t.Error("no error")
	}
}
