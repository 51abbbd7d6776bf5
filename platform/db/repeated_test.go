package db_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/platform/db"
)

// uses is more than a text needs to be prepared, and for Postgres to plan it for any arguments.
const uses = 12

type sample struct {
	ID, Body string
	N        int64
	Ok       bool
	At       db.Time
	Raw      []byte
}

// TestRepeatedStatements gives a text the same results each time, before and after it is prepared, in and outside of
// units.
func TestRepeatedStatements(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		at := db.At(time.Date(2025, 3, 4, 5, 6, 7, 89_000, time.FixedZone("", 3600)))
		do := func(fn func(ctx context.Context) error) {
			t.Helper()
			if err := d.Do(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		do(func(ctx context.Context) error {
			_, err := db.Exec(ctx, d.InUnit(ctx), "CREATE TABLE samples (id TEXT PRIMARY KEY NOT NULL, body TEXT, n BIGINT, "+
				"ok BOOLEAN, at "+map[db.Engine]string{db.SQLite: "TEXT", db.Postgres: "TIMESTAMPTZ"}[d.Dialect().Engine()]+
				", raw "+map[db.Engine]string{db.SQLite: "BLOB", db.Postgres: "BYTEA"}[d.Dialect().Engine()]+")")
			return err
		})
		for i := range uses {
			want := sample{ID: strings.Repeat("x", i), Body: "it's ? \\ ä", N: math.MaxInt64 - int64(i), Ok: i%2 == 0, At: at,
				Raw: []byte{0, byte(i), 255}}
			do(func(ctx context.Context) error {
				_, err := db.Exec(ctx, d.InUnit(ctx), "INSERT INTO samples (id, body, n, ok, at, raw) VALUES (?, ?, ?, ?, ?, ?)",
					want.ID, want.Body, want.N, want.Ok, want.At, want.Raw)
				return err
			})
			const query = "SELECT id, body, n, ok, at, raw FROM samples WHERE id = ? AND at = ? AND n > ?"
			got, err := db.Query[sample](ctx, d.Read(ctx), query, want.ID, at, 0)
			if diff := cmp.Diff([]sample{want}, got); diff != "" || err != nil {
				t.Fatalf("the use %d (%v):\n%s", i, err, diff)
			}
			// Other arguments of the same text: none, of another size, of another type.
			got, err = db.Query[sample](ctx, d.Read(ctx), query, nil, at, 0)
			if len(got) != 0 || err != nil {
				t.Fatalf("%v, %v", got, err)
			}
			do(func(ctx context.Context) error {
				n, err := db.Exec(ctx, d.InUnit(ctx), "UPDATE samples SET n = ? WHERE id = ? AND at < ?", i, want.ID,
					d.Dialect().LeaseNow().Add(time.Hour))
				if n != 1 {
					t.Errorf("%d rows", n)
				}
				return err
			})
		}
		if d.Dialect().Engine() == db.Postgres {
			do(func(ctx context.Context) error {
				n, err := db.Count(ctx, d.InUnit(ctx), "SELECT count(*) FROM pg_prepared_statements")
				if n < 2 { // the insertion and the change
					t.Errorf("%d statements are planned", n)
				}
				return err
			})
		}
	})
}

// TestPlansAfterAChangeOfTheSchema: a unit whose plan returns other columns now is done again.
func TestPlansAfterAChangeOfTheSchema(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		mustInsert(t, d, note{ID: "a", N: 7})
		look := func() error {
			return d.Do(ctx, func(ctx context.Context) error {
				_, err := db.Query[struct{ ID, N string }](ctx, d.InUnit(ctx), "SELECT id, n FROM notes WHERE id = ?", "a")
				return err
			})
		}
		for range uses {
			if err := look(); err != nil {
				t.Fatal(err)
			}
		}
		if d.Dialect().Engine() == db.Postgres {
			if _, err := d.Read(ctx).ExecContext(ctx, "ALTER TABLE notes ALTER COLUMN n TYPE TEXT"); err != nil {
				t.Fatal(err)
			}
		}
		for range uses {
			if err := look(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
