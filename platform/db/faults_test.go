package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/waittest"
)

func exec(ctx context.Context, d *db.DB, query string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		w, err := d.Write(ctx)
		if err != nil {
			return err
		}
		_, err = w.NewRaw(query).Exec(ctx)
		return err
	})
}

func TestTranslateErrorsOfTheEngines(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		mustInsert(t, d, note{ID: "a", Body: "taken"})
		cases := []struct {
			name, query string
			kind        fault.Kind
			unique      bool
		}{
			{"primary key", "INSERT INTO notes (id) VALUES ('a')", fault.Conflict, true},
			{"unique index", "INSERT INTO notes (id, body) VALUES ('b', 'taken')", fault.Conflict, true},
			{"reference", "INSERT INTO notes (id, parent) VALUES ('b', 'nobody')", fault.Conflict, false},
			{"not null", "INSERT INTO notes (id, body) VALUES ('b', NULL)", fault.Internal, false},
			{"syntax", "INSERT OF notes", fault.Internal, false},
		}
		for _, c := range cases {
			err := exec(t.Context(), d, c.query)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != c.kind || db.IsUnique(err) != c.unique {
				t.Errorf("%s: %v, unique %v", c.name, err, db.IsUnique(err))
			}
		}
		var n note
		err := d.Read(t.Context()).NewSelect().Model(&n).Where("id = 'nobody'").Scan(t.Context())
		wantKind(t, db.Translate(err), fault.NotFound)
		// The COMMIT checks a deferred reference: nothing is committed, whatever the error is.
		if err := exec(t.Context(), d, "INSERT INTO notes (id, owner) VALUES ('b', 'nobody')"); err == nil {
			t.Error("a broken reference was committed")
		}
		if got := ids(t, d); len(got) != 1 {
			t.Errorf("the notes are %v", got)
		}
	})
}

func TestTranslateLeavesWhatIsNotTheDrivers(t *testing.T) {
	t.Parallel()
	own := fault.Missing("run", "x")
	for _, err := range []error{nil, own, fmt.Errorf("wrapped: %w", own), context.Canceled, context.DeadlineExceeded,
		errors.New("plain")} {
		if got := db.Translate(err); !errors.Is(got, err) || (err != nil && got.Error() != err.Error()) {
			t.Errorf("%v became %v", err, got)
		}
	}
	for err, kind := range map[error]fault.Kind{
		sql.ErrNoRows: fault.NotFound, sql.ErrConnDone: fault.Unavailable, io.ErrUnexpectedEOF: fault.Unavailable,
		sql.ErrTxDone: fault.Internal,
	} {
		wantKind(t, db.Translate(err), kind)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", ":memory:", "mysql://x", "postgres://%zz"} {
		_, err := db.Open(t.Context(), db.Config{URL: url})
		wantKind(t, err, fault.Invalid)
	}
	for _, url := range []string{"/nonexistent/dir/writ.db", "postgres://127.0.0.1:1/x"} {
		_, err := db.Open(t.Context(), db.Config{URL: url})
		wantKind(t, err, fault.Unavailable)
	}
}

// TestDeadlockIsTriedAgain makes two units take two rows in opposite order.
func TestDeadlockIsTriedAgain(t *testing.T) {
	t.Parallel()
	url := dbtest.Fresh(t, db.Postgres, migrations(t))
	d, e := dbtest.Connect(t, db.Config{URL: url}), dbtest.Connect(t, db.Config{URL: url})
	mustInsert(t, d, note{ID: "a"})
	mustInsert(t, d, note{ID: "b"})
	met := make(chan struct{}, 2)
	unit := func(d *db.DB, first, second string) error {
		tries := 0
		return d.Do(t.Context(), func(ctx context.Context) error {
			tries++
			w, err := d.Write(ctx)
			if err != nil {
				return err
			}
			for i, id := range []string{first, second} {
				if _, err := w.NewRaw("UPDATE notes SET n = n + 1 WHERE id = ?", id).Exec(ctx); err != nil {
					return err
				}
				if i == 0 && tries == 1 {
					met <- struct{}{}
					for len(met) < 2 && ctx.Err() == nil {
						<-time.After(time.Millisecond)
					}
				}
			}
			return nil
		})
	}
	other := make(chan error, 1)
	go func() { other <- unit(e, "b", "a") }()
	if err := errors.Join(unit(d, "a", "b"), <-other); err != nil {
		t.Fatal(err)
	}
	if d.Stats().Retries+e.Stats().Retries == 0 {
		t.Error("there was no deadlock")
	}
	var sum int
	if err := d.Read(t.Context()).NewRaw("SELECT sum(n) FROM notes").Scan(t.Context(), &sum); err != nil || sum != 4 {
		t.Errorf("the sum is %d: %v", sum, err)
	}
}

func TestTwoProcessesShareAnSQLiteFile(t *testing.T) {
	t.Parallel()
	url := dbtest.Fresh(t, db.SQLite, migrations(t))
	a := dbtest.Connect(t, db.Config{URL: url, UnitTimeout: 200 * time.Millisecond, BusyTimeout: 20 * time.Millisecond})
	b := dbtest.Connect(t, db.Config{URL: url})
	err := b.Do(t.Context(), func(ctx context.Context) error {
		err := a.Do(t.Context(), func(ctx context.Context) error { return insert(ctx, a, note{ID: "a"}) })
		wantKind(t, err, fault.Unavailable)
		return insert(ctx, b, note{ID: "b"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.Stats().Retries == 0 {
		t.Error("a busy database was not tried again")
	}
	mustInsert(t, a, note{ID: "c"})
	if got := join(ids(t, b)); got != "bc" {
		t.Errorf("the notes are %q", got)
	}
}

func TestPostgresRestart(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t)
	d := dbtest.Connect(t, db.Config{URL: cluster.URL()})
	if err := d.Migrate(t.Context(), migrations(t)); err != nil {
		t.Fatal(err)
	}
	mustInsert(t, d, note{ID: "before"})
	if err := cluster.Stop(t.Context(), dbtest.Immediate); err != nil {
		t.Fatal(err)
	}
	wantKind(t, d.Probe(t.Context()), fault.Unavailable)
	wantKind(t, exec(t.Context(), d, "INSERT INTO notes (id) VALUES ('down')"), fault.Unavailable)
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, 20*time.Second, "the database is back", func() bool { return d.Probe(t.Context()) == nil })
	mustInsert(t, d, note{ID: "after"})
	if got := join(ids(t, d)); got != "afterbefore" {
		t.Errorf("the notes are %q", got)
	}
}
