package db_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

func TestWhatIsGatheredIsTheLastPartOfItsUnit(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		gather := func(ctx context.Context, item string) error {
			return tx.BeforeCommit(ctx, tx.Early, t.Name(), item, func(ctx context.Context, items []string) error {
				var err error
				for _, id := range items {
					err = errors.Join(err, insert(ctx, d, note{ID: "last-" + id}))
				}
				return err
			})
		}
		err := d.Do(t.Context(), func(ctx context.Context) error {
			nested := d.Do(ctx, func(ctx context.Context) error { return gather(ctx, "a") })
			if err := errors.Join(nested, gather(ctx, "b")); err != nil {
				return err
			}
			if n, err := d.Read(ctx).NewSelect().Model((*note)(nil)).Count(ctx); n != 0 {
				t.Errorf("%d notes before the end of the unit, error %v", n, err)
			}
			return insert(ctx, d, note{ID: "first"})
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"first", "last-a", "last-b"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnErrorOfTheLastPartUndoesTheUnit(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		stop, committed, last := errors.New("stop"), false, 0
		for _, failing := range []error{stop, nil} {
			err := d.Do(t.Context(), func(ctx context.Context) error {
				tx.OnCommit(ctx, func() { committed = true })
				if err := insert(ctx, d, note{ID: "a"}); err != nil {
					return err
				}
				return tx.BeforeCommit(ctx, tx.Early, t.Name(), 1, func(context.Context, []int) error { last++; return failing })
			})
			if !errors.Is(err, failing) || committed != (failing == nil) {
				t.Errorf("error %v, want %v; committed %t", err, failing, committed)
			}
		}
		_ = d.Do(t.Context(), func(ctx context.Context) error {
			_ = tx.BeforeCommit(ctx, tx.Early, t.Name(), 1, func(context.Context, []int) error { last++; return nil })
			return stop
		})
		if last != 2 {
			t.Errorf("the last part ran %d times: it is for units whose function had no error", last)
		}
	})
}

func TestNothingIsGatheredOutsideOfAUnit(t *testing.T) {
	err := tx.BeforeCommit(t.Context(), tx.Early, "k", 1, func(context.Context, []int) error { return nil })
	if !fault.Is(err, fault.Internal) || err == nil {
		t.Errorf("the error is %v", err)
	}
}
