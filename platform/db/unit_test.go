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

func TestUnitCommitsOrRollsBackWhole(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		stop := errors.New("stop")
		err := d.Do(t.Context(), func(ctx context.Context) error {
			if err := insert(ctx, d, note{ID: "a"}); err != nil {
				return err
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Errorf("the unit returned %v, want the function's error", err)
		}
		err = d.Do(t.Context(), func(ctx context.Context) error {
			return errors.Join(insert(ctx, d, note{ID: "b"}), insert(ctx, d, note{ID: "c"}))
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"b", "c"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUnitReadsItsOwnWrites(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		err := d.Do(t.Context(), func(ctx context.Context) error {
			if err := insert(ctx, d, note{ID: "a"}); err != nil {
				return err
			}
			n, err := d.Read(ctx).NewSelect().Model((*note)(nil)).Count(ctx)
			if n != 1 {
				t.Errorf("the unit sees %d notes, want its own", n)
			}
			if outside := ids(t, d); len(outside) != 0 {
				t.Errorf("outside of the unit %v is seen before the commit", outside)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestNestedUnitJoins(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		err := d.Do(t.Context(), func(ctx context.Context) error {
			err := d.Do(ctx, func(ctx context.Context) error { return insert(ctx, d, note{ID: "a"}) })
			if err != nil {
				return err
			}
			if len(ids(t, d)) != 0 {
				t.Error("the nested unit committed by itself")
			}
			return insert(ctx, d, note{ID: "b"})
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a", "b"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestErrorOfNestedUnitDoomsTheWhole(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		inner := errors.New("inner")
		err := d.Do(t.Context(), func(ctx context.Context) error {
			if err := insert(ctx, d, note{ID: "a"}); err != nil {
				return err
			}
			_ = d.Do(ctx, func(context.Context) error { return inner })
			return nil
		})
		if !errors.Is(err, inner) {
			t.Errorf("the unit returned %v, want the nested unit's error", err)
		}
		if got := ids(t, d); len(got) != 0 {
			t.Errorf("%v was committed", got)
		}
	})
}

func TestFailedStatementDoomsTheUnit(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		mustInsert(t, d, note{ID: "a"})
		err := d.Do(t.Context(), func(ctx context.Context) error {
			if err := insert(ctx, d, note{ID: "b"}); err != nil {
				return err
			}
			wantKind(t, insert(ctx, d, note{ID: "a"}), fault.Conflict)
			wantKind(t, insert(ctx, d, note{ID: "c"}), fault.Conflict)
			return nil
		})
		wantKind(t, err, fault.Conflict)
		if diff := cmp.Diff([]string{"a"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestHooksRunAfterTheCommitOnly(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ran := []string{}
		hook := func(ctx context.Context, name string) {
			tx.OnCommit(ctx, func() { ran = append(ran, name+" saw "+join(ids(t, d))) })
		}
		_ = d.Do(t.Context(), func(ctx context.Context) error {
			hook(ctx, "lost")
			return errors.New("stop")
		})
		err := d.Do(t.Context(), func(ctx context.Context) error {
			hook(ctx, "first")
			err := d.Do(ctx, func(ctx context.Context) error {
				hook(ctx, "nested")
				return insert(ctx, d, note{ID: "a"})
			})
			if len(ran) != 0 {
				t.Errorf("%v ran before the commit", ran)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"first saw a", "nested saw a"}, ran); diff != "" {
			t.Error(diff)
		}
	})
}

func join(ids []string) string {
	all := ""
	for _, id := range ids {
		all += id
	}
	return all
}

func TestEscapedContextIsRefused(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var escaped context.Context
		err := d.Do(t.Context(), func(ctx context.Context) error {
			escaped = context.WithoutCancel(ctx)
			return insert(ctx, d, note{ID: "a"})
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Write(escaped); err == nil {
			t.Error("a write was allowed after the unit's end")
		} else {
			wantKind(t, err, fault.Internal)
		}
		wantKind(t, d.Do(escaped, func(context.Context) error { return nil }), fault.Internal)
		var n int
		wantKind(t, d.Read(escaped).NewSelect().Model((*note)(nil)).Column("n").Scan(escaped, &n), fault.Internal)
		wantKind(t, d.Read(escaped).QueryRowContext(escaped, "SELECT 1").Scan(&n), fault.Internal)
		_, err = d.Read(escaped).NewRaw("DELETE FROM notes").Exec(escaped)
		wantKind(t, err, fault.Internal)
		if diff := cmp.Diff([]string{"a"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWriteOutsideOfUnit(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		_, err := d.Write(t.Context())
		wantKind(t, err, fault.Internal)
		err = d.Do(t.Context(), func(ctx context.Context) error {
			_, err := d.Read(ctx).BeginTx(ctx, nil)
			return err
		})
		wantKind(t, err, fault.Internal)
	})
}

func TestCanceledContextRunsNothing(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := d.Do(ctx, func(context.Context) error {
			t.Error("the unit ran")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the unit returned %v", err)
		}
	})
}

func TestPanicRollsBackAndGoesOn(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("recovered %v", got)
				}
			}()
			_ = d.Do(t.Context(), func(ctx context.Context) error {
				if err := insert(ctx, d, note{ID: "a"}); err != nil {
					t.Error(err)
				}
				panic("boom")
			})
		}()
		mustInsert(t, d, note{ID: "b"})
		if diff := cmp.Diff([]string{"b"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

// Keeps F10.
func TestErrorOfTheCommitIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		broken := true
		d.InterceptCommit(func(next func() error) error {
			if broken {
				broken = false
				return errors.Join(next(), errors.New("the line went dead"))
			}
			return next()
		})
		ran := false
		err := d.Do(t.Context(), func(ctx context.Context) error {
			tx.OnCommit(ctx, func() { ran = true })
			return insert(ctx, d, note{ID: "a"})
		})
		wantKind(t, err, fault.Unavailable)
		if !db.OutcomeUnknown.Is(err) || ran {
			t.Errorf("the error is %v, the hook ran: %v", err, ran)
		}
		mustInsert(t, d, note{ID: "b"})
		if diff := cmp.Diff([]string{"a", "b"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
		if s := d.Stats(); s.CommitErrors != 1 || s.Commits != 1 {
			t.Errorf("counted %+v", s)
		}
	})
}
