package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

func TestStatementsRunTogether(t *testing.T) {
	t.Parallel()
	put := func(id, body string) db.Statement {
		return db.Statement{Query: "INSERT INTO notes (id, body) VALUES (?, ?)", Args: []any{id, body}}
	}
	all := db.Statement{Query: "UPDATE notes SET n = ?", Args: []any{7}}
	dbtest.EachEngine(t, migrations(t), func(t *testing.T, d *db.DB) {
		together := func(statements ...db.Statement) (n int64, err error) {
			err = d.Do(t.Context(), func(ctx context.Context) error {
				w, err := d.Write(ctx)
				if err != nil {
					return err
				}
				n, err = d.Dialect().Together(ctx, w, statements...)
				return err
			})
			return n, err
		}
		for _, odd := range []string{"a", "; DROP TABLE notes; --", "it's ? \\"} {
			if n, err := together(put("1"+odd, odd), put("2"+odd, odd+"2"), all); err != nil || n < 2 {
				t.Fatalf("%d rows: %v", n, err)
			}
		}
		if n, err := together(all, put("x", "x")); n != 1 || err != nil {
			t.Errorf("the last statement changed %d rows: %v", n, err)
		}
		if _, err := together(put("y", "y"), put("x", "again"), put("z", "z")); !db.IsUnique(err) {
			t.Errorf("a statement that fails: %v", err)
		}
		var n int
		err := d.Read(t.Context()).QueryRowContext(t.Context(), "SELECT count(*) FROM notes").Scan(&n)
		if err != nil || n != 7 {
			t.Errorf("%d notes: %v", n, err)
		}
	})
}

func TestTheWallClock(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations(t), func(t *testing.T, d *db.DB) {
		var last db.Time
		for range 5 {
			var at db.Time
			err := d.Read(t.Context()).QueryRowContext(t.Context(), "SELECT ? AS at", d.Dialect().WallNow()).Scan(&at)
			if off := clock.New().Now().Sub(at.Time); err != nil || off > time.Hour || off < -time.Hour || at.Before(last.Time) {
				t.Errorf("the clock tells %v after %v: %v", at, last, errors.Join(err))
			}
			last = at
		}
	})
}
