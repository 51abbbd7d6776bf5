package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/waittest"
)

// TestTheLastPartIsSharedByTheGroup collects items of three units, one of which fails, and one error of the last part,
// after which each unit has a commit of its own.
func TestTheLastPartIsSharedByTheGroup(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		var mu sync.Mutex // units that run again by themselves do so at once on Postgres
		var calls [][]string
		call := func(ids ...string) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, ids)
		}
		failing := errors.New("failing")
		collect := func(id string, err error) func(context.Context) error {
			return func(ctx context.Context) error {
				last := tx.BeforeCommit(ctx, tx.Last, t.Name(), id, func(ctx context.Context, ids []string) error {
					call(ids...)
					if slices.Contains(ids, "x") {
						return failing
					}
					return insert(ctx, d, note{ID: strings.Join(ids, "")})
				})
				return errors.Join(last, tx.BeforeCommit(ctx, tx.Early, "e", id, func(context.Context, []string) error {
					call("early")
					return nil
				}), err)
			}
		}
		stop := errors.New("stop")
		errs := queued2(t, d, collect("a", nil), collect("b", stop), collect("c", nil))
		if errs[0] != nil || !errors.Is(errs[1], stop) || errs[2] != nil {
			t.Errorf("the units returned %v", errs)
		}
		if diff := cmp.Diff([][]string{{"early"}, {"a", "c"}}, calls); diff != "" {
			t.Error(diff)
		}
		errs = queued2(t, d, collect("d", nil), collect("x", nil), collect("e", nil))
		if errs[0] != nil || !errors.Is(errs[1], failing) || errs[2] != nil {
			t.Errorf("the units returned %v", errs)
		}
		if diff := cmp.Diff([]string{"ac", "d", "e"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAPanicOfTheLastPartIsAnError leaves the database usable.
func TestAPanicOfTheLastPartIsAnError(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		wantKind(t, d.Do(t.Context(), func(ctx context.Context) error {
			return tx.BeforeCommit(ctx, tx.Last, t.Name(), 1, func(context.Context, []int) error { panic("boom") })
		}), fault.Internal)
		mustInsert(t, d, note{ID: "next"})
	})
}

// TestUnitsAlone run in groups of one.
func TestUnitsAlone(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		put := func(ctx context.Context) error { return insert(ctx, d, note{ID: fmt.Sprintf("%p", ctx)}) }
		for range 3 {
			if err := d.Do(tx.Alone(t.Context()), put); err != nil {
				t.Error(err)
			}
		}
		if s := d.Stats(); s.Commits != 3 || s.Units != 3 {
			t.Errorf("%d units in %d commits", s.Units, s.Commits)
		}
	})
}

// TestAUnitThatWaitsForAnotherServerLeavesItsGroup locks a row on one server, for which one of three units of another
// server waits. The other two commit meanwhile.
func TestAUnitThatWaitsForAnotherServerLeavesItsGroup(t *testing.T) {
	url := dbtest.Fresh(t, db.Postgres, migrations(t))
	a, b := dbtest.Connect(t, db.Config{URL: url}), dbtest.Connect(t, db.Config{URL: url})
	mustInsert(t, a, note{ID: "a"})
	change := func(d *db.DB) func(context.Context) error {
		return func(ctx context.Context) error {
			w, err := d.Write(ctx)
			if err == nil {
				_, err = w.NewRaw("UPDATE notes SET n = n + 1 WHERE id = 'a'").Exec(ctx)
			}
			return err
		}
	}
	waiting := make(chan error, 1)
	err := a.Do(t.Context(), func(ctx context.Context) error {
		if err := change(a)(ctx); err != nil {
			return err
		}
		go func() { waiting <- b.Do(t.Context(), change(b)) }()
		waittest.Eventually(t, 20*time.Second, "the unit leaves", func() bool { return b.Stats().Retries > 0 })
		mustInsert(t, b, note{ID: "b"})
		return nil
	})
	if err := errors.Join(err, <-waiting); err != nil {
		t.Error(err)
	}
	var n int
	err = a.Read(t.Context()).NewRaw("SELECT n FROM notes WHERE id = 'a'").Scan(t.Context(), &n)
	if err != nil || n != 2 {
		t.Errorf("the row was changed %d times: %v", n, err)
	}
}

// TestUnitsThatLeaveAllToTheEnd share a group with others, of which some fail. Such a unit has no savepoint.
func TestUnitsThatLeaveAllToTheEnd(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		m := db.ModelOf[note](d)
		at := time.Unix(1, 0)
		put := func(id string) func(context.Context) error {
			return func(ctx context.Context) error { return insert(ctx, d, note{ID: id, Made: at}) }
		}
		last := func(id string) func(context.Context) error {
			return func(ctx context.Context) error { return m.InsertAtEnd(ctx, d, note{ID: id, Made: at}) }
		}
		stop := errors.New("stop")
		then := func(fn func(context.Context) error) func(context.Context) error {
			return func(ctx context.Context) error { return errors.Join(fn(ctx), stop) }
		}
		errs := queued2(t, d, last("a"), put("b"), last("c"), then(last("x")), then(put("x")), last("d"), put("e"),
			then(last("b")))
		for i, failing := range []bool{false, false, false, true, true, false, false, true} {
			if errors.Is(errs[i], stop) != failing || errs[i] != nil && !failing {
				t.Errorf("unit %d returned %v", i, errs[i])
			}
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
		if s := d.Stats(); s.Commits != 1 || s.Failed != 3 {
			t.Errorf("%d units failed, %d commits", s.Failed, s.Commits)
		}
	})
}

// TestOptimisticUnits have no savepoint: one that fails costs its group a second attempt, and nobody a change.
func TestOptimisticUnits(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		stop := errors.New("stop")
		var mu sync.Mutex
		calls := map[string]int{}
		put := func(id string, err error) func(context.Context) error {
			return func(ctx context.Context) error {
				mu.Lock()
				calls[id]++
				mu.Unlock()
				return errors.Join(insert(ctx, d, note{ID: id}), err)
			}
		}
		together := func(fns ...func(context.Context) error) []error {
			return queuedIn(tx.Optimistic(t.Context()), t, d, fns...)
		}
		if errs := together(put("a", nil), put("b", nil)); errors.Join(errs...) != nil {
			t.Error(errs)
		}
		if s := d.Stats(); s.Commits != 1 || s.Units != 2 {
			t.Errorf("%d units in %d commits", s.Units, s.Commits)
		}
		errs := together(put("c", nil), put("x", stop), put("d", nil))
		if errs[0] != nil || !errors.Is(errs[1], stop) || errs[2] != nil {
			t.Errorf("the units returned %v", errs)
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "d"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 2, "d": 1, "x": 1}, calls); diff != "" {
			t.Error(diff)
		}
	})
}
