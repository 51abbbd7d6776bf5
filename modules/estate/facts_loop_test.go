package estate_test

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
)

// TestLoopRecords starts the loop, which a signal wakes, and stops it.
func TestLoopRecords(t *testing.T) {
	t.Parallel()
	f := setup(t, dbtest.Open(t, db.SQLite, migrations.FS))
	f.run("run_1")
	f.Background.Start()
	defer func() {
		if err := f.Background.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	f.gather("run_1", "a", noon(), `{}`)
	if err := f.d.Signals().Signal(t.Context(), events.TopicFacts, ""); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := f.Estate.Newest(t.Context(), "a"); err == nil {
			return
		} else if !estate.HostNotFound.Is(err) || time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(10 * time.Millisecond)
	}
}
