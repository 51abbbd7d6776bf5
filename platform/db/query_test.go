package db_test

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
)

func TestExecAndCount(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		mustInsert(t, d, note{ID: "a", N: 7})
		mustInsert(t, d, note{ID: "b", N: 7})
		err := d.Do(t.Context(), func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err != nil {
				return err
			}
			for n, want := range map[int]int64{7: 2, 9: 0} {
				if got, err := db.Exec(ctx, q, "UPDATE notes SET owner = ? WHERE n = ?", db.OrNull("a"), n); err != nil ||
					got != want {
					t.Errorf("%d rows, not %d: %v", got, want, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		q := d.Read(t.Context())
		for query, want := range map[string]int{
			"SELECT count(*) FROM notes WHERE owner = 'a'": 2,
			"SELECT n FROM notes WHERE id = 'a'":           7,
			"SELECT n FROM notes WHERE id = 'none'":        0,
		} {
			if got, err := db.Count(t.Context(), q, query); err != nil || got != want {
				t.Errorf("%s: %d, not %d: %v", query, got, want, err)
			}
		}
		_, err = db.Count(t.Context(), q, "SELECT n FROM nowhere")
		wantKind(t, err, fault.Internal)
		wantKind(t, d.Do(t.Context(), func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err != nil {
				return err
			}
			_, err = db.Exec(ctx, q, "DELETE FROM nowhere")
			return err
		}), fault.Internal)
	})
}

func TestOrNull(t *testing.T) {
	t.Parallel()
	if got := db.OrNull(""); got != nil {
		t.Errorf("%v", got)
	}
	if got := db.OrNull(" "); got != " " {
		t.Errorf("%v", got)
	}
}
