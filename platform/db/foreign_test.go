package db_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/events"
)

// TestCommitsOfAnotherProcessWake opens one database twice: commits of one wake the watchers of runs and of messages of
// the other, and its own commits do not.
func TestCommitsOfAnotherProcessWake(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	open := func() *db.DB {
		d, err := db.Open(t.Context(), db.Config{URL: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	one, other := open(), open()
	write := func(d *db.DB, statement string) {
		t.Helper()
		err := d.Do(t.Context(), func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err != nil {
				return err
			}
			_, err = q.ExecContext(ctx, statement)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write(one, "CREATE TABLE x (n INTEGER)")
	queue, stop := one.Signals().Watch(events.TopicQueue)
	defer stop()
	outbox, stop := one.Signals().Watch(events.TopicOutbox)
	defer stop()
	before := one.Version(t.Context())
	for range 3 {
		write(one, "INSERT INTO x VALUES (1)")
		write(one, "DELETE FROM x WHERE n = 7") // changes nothing
	}
	if got := one.Version(t.Context()); got != before {
		t.Errorf("own commits make %d of %d", got, before)
	}
	for range 3 {
		write(other, "INSERT INTO x VALUES (2)")
		for _, ch := range []<-chan string{queue, outbox} {
			if payload := <-ch; payload != "" {
				t.Errorf("woken with %q", payload)
			}
		}
	}
	known := one.Version(t.Context())
	write(other, "DELETE FROM x WHERE n = 7")
	if got := one.Version(t.Context()); got != known {
		t.Errorf("a commit without a change makes %d of %d", got, known)
	}
}
