package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
)

// columns is a type like those of the contracts.
type columns struct {
	ID   string `bun:",pk"`
	Body map[string]any
	Hash [4]byte   `bun:"owner,nullzero"`
	Raw  []byte    `bun:"parent,nullzero"`
	Made time.Time `bun:",nullzero"`
}

type model struct {
	bun.BaseModel `bun:"table:notes,alias:o"`
	columns
}

func unit(t *testing.T, d *db.DB, fn func(ctx context.Context, q bun.IDB) error) {
	t.Helper()
	if err := d.Do(t.Context(), func(ctx context.Context) error { return fn(ctx, d.InUnit(ctx)) }); err != nil {
		t.Fatal(err)
	}
}

// TestModels writes documents by the query builder and by raw SQL, and reads them by both.
func TestModels(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		made := time.Date(2025, 1, 2, 3, 4, 5, 6000, time.UTC)
		rows := []model{{columns: columns{ID: "a", Body: map[string]any{"<&>": "x"}, Made: made}},
			{columns: columns{ID: "b"}}}
		unit(t, d, func(ctx context.Context, q bun.IDB) error {
			_, err := db.Modify(ctx, q.NewInsert().Model(&rows).Returning("NULL"))
			return err
		})
		var got []model
		if err := d.Read(t.Context()).NewSelect().Model(&got).OrderExpr("o.id").Scan(t.Context()); err != nil {
			t.Fatal(err)
		}
		named, err := db.Query[model](t.Context(), d.Read(t.Context()),
			"SELECT "+db.ModelOf[model](d).Columns("o", "")+" FROM notes AS o ORDER BY o.id")
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]model{got, named} {
			for i := range rows {
				if diff := cmp.Diff(rows[i].columns, list[i].columns); diff != "" {
					t.Error(diff)
				}
			}
		}
	})
}

// TestModelInsertion inserts by raw SQL whose columns are those of a model.
func TestModelInsertion(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		m := db.ModelOf[note](d)
		unit(t, d, func(ctx context.Context, q bun.IDB) error {
			return m.Insert(ctx, q, []note{{ID: "a", Body: "x", N: 1}, {ID: "b", N: 2}}, " ON CONFLICT DO NOTHING")
		})
		row, ok, err := db.QueryRow[note](t.Context(), d.Read(t.Context()),
			"SELECT "+m.Columns("o", "")+" FROM notes AS o WHERE o.n = ?", 1)
		if err != nil || !ok || row.ID != "a" || row.Body != "x" {
			t.Errorf("%+v, %t: %v", row, ok, err)
		}
		if _, ok, err := db.QueryRow[note](t.Context(), d.Read(t.Context()), "SELECT id FROM notes WHERE n = ?", 7); ok ||
			err != nil {
			t.Errorf("a row that is not there: %t, %v", ok, err)
		}
		if want := "o.id AS x_id, o.body AS x_body, o.n AS x_n, o.at AS x_at, o.made AS x_made"; m.Columns("o",
			"x_") != want {
			t.Error(m.Columns("o", "x_"))
		}
	})
}

// TestStatementsOutsideOfAUnit refuses each statement without an open transaction.
func TestStatementsOutsideOfAUnit(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		q := d.InUnit(t.Context())
		_, err := db.Modify(t.Context(), q.NewDelete().Model((*note)(nil)).Where("id = 'a'"))
		wantKind(t, err, fault.Internal)
		_, err = db.First(t.Context(), q.NewSelect().Model(&note{}).Where("id = 'a'"))
		wantKind(t, err, fault.Internal)
	})
}

func TestAtMost(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		mustInsert(t, d, note{ID: "a"})
		mustInsert(t, d, note{ID: "b"})
		for limit, want := range map[int]int{-1: 0, 0: 0, 1: 1, 5: 2} {
			var got []note
			err := d.Read(t.Context()).NewSelect().Model(&got).Apply(db.AtMost(limit)).Scan(t.Context())
			if err != nil || len(got) != want {
				t.Errorf("at most %d: %d rows, %v", limit, len(got), err)
			}
		}
	})
}
