package db_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

// grouped runs a test on both engines, one after the other, with groups that stay open as long as units wait.
func grouped(t *testing.T, test func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			test(t, dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, migrations(t)), MaxGroupTime: time.Minute}))
		})
	}
}

// queued runs the functions as units that wait together behind a first one, so that they share a group, and returns
// their errors. They run in the order given.
func queued(t *testing.T, d *db.DB, fns ...func(ctx context.Context) error) []error {
	t.Helper()
	release, blocked := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	var once sync.Once
	all.Go(func() {
		err := d.Do(t.Context(), func(context.Context) error {
			once.Do(func() { close(blocked) })
			<-release
			return nil
		})
		if err != nil {
			t.Errorf("the unit that held the others: %v", err)
		}
	})
	<-blocked
	errs := make([]error, len(fns))
	for i, fn := range fns {
		all.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					errs[i] = fmt.Errorf("panic: %v", r)
				}
			}()
			errs[i] = errors.New("left its goroutine")
			errs[i] = d.Do(t.Context(), fn)
		})
		waittest.Eventually(t, 20*time.Second, "the unit waits", func() bool { return waitingUnits() > i })
	}
	close(release)
	all.Wait()
	return errs
}

// waitingUnits counts the goroutines that are blocked until the writer takes their unit.
func waitingUnits() int {
	stacks := make([]byte, 1<<20)
	n := 0
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		header, frames, _ := strings.Cut(stack, "\n")
		if strings.Contains(header, "[select") && strings.Contains(frames, "(*writer).attempt") {
			n++
		}
	}
	return n
}

func TestGroupSharesACommitAndFailuresStayAlone(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		put := func(id string) func(context.Context) error {
			return func(ctx context.Context) error { return insert(ctx, d, note{ID: id}) }
		}
		stop := errors.New("stop")
		errs := queued(t, d,
			put("a"),
			func(ctx context.Context) error { return errors.Join(insert(ctx, d, note{ID: "b"}), stop) },
			put("c"),
			func(ctx context.Context) error { _ = insert(ctx, d, note{ID: "d"}); panic("boom") },
			put("e"),
			func(ctx context.Context) error { _ = insert(ctx, d, note{ID: "f"}); runtime.Goexit(); return nil },
			put("a"),
			put("g"),
		)
		for i, want := range []string{"", "stop", "", "panic: boom", "", "left its goroutine", "such a record exists", ""} {
			if got := fmt.Sprint(errs[i]); want == "" && errs[i] != nil || !strings.Contains(got, want) {
				t.Errorf("unit %d returned %v, want %q", i, errs[i], want)
			}
		}
		if diff := cmp.Diff([]string{"a", "c", "e", "g"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
		s := d.Stats()
		if s.Commits != 1 || s.Units != 5 || s.Failed != 4 {
			t.Errorf("%d units failed and %d shared %d commits, want 4 and 5 and 1", s.Failed, s.Units, s.Commits)
		}
	})
}

func TestCommitErrorIsAnErrorOfEveryUnitOfTheGroup(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		broken := true
		d.InterceptCommit(func(next func() error) error {
			if broken {
				broken = false
				return errors.New("input/output error")
			}
			return next()
		})
		put := func(ctx context.Context) error { return insert(ctx, d, note{ID: fmt.Sprintf("%p", ctx)}) }
		for i, err := range queued2(t, d, put, put, put) {
			if !db.OutcomeUnknown.Is(err) {
				t.Errorf("unit %d returned %v", i, err)
			}
		}
		mustInsert(t, d, note{ID: "after"})
		if diff := cmp.Diff([]string{"after"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
		if s := d.Stats(); s.Reopened != 1 || s.CommitErrors != 1 {
			t.Errorf("counted %+v", s)
		}
	})
}

// queued2 is queued with the first unit inside of the group, so that it shares the group's result.
func queued2(t *testing.T, d *db.DB, fns ...func(ctx context.Context) error) []error {
	t.Helper()
	return queuedIn(t.Context(), t, d, fns...)
}

// queuedIn is queued2 with the context of the units.
func queuedIn(ctx context.Context, t *testing.T, d *db.DB, fns ...func(ctx context.Context) error) []error {
	t.Helper()
	release, blocked := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(fns))
	var all sync.WaitGroup
	var once sync.Once
	for i, fn := range fns {
		all.Go(func() {
			errs[i] = d.Do(ctx, func(ctx context.Context) error {
				if i == 0 {
					once.Do(func() { close(blocked) })
					<-release
				}
				return fn(ctx)
			})
		})
		<-blocked
		waittest.Eventually(t, 20*time.Second, "the unit waits", func() bool { return waitingUnits() >= i })
	}
	close(release)
	all.Wait()
	return errs
}

func TestVoidedGroupRunsAgain(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		put := func(id string) func(context.Context) error {
			return func(ctx context.Context) error { return insert(ctx, d, note{ID: id}) }
		}
		errs := queued(t, d,
			put("a"),
			func(ctx context.Context) error {
				w, err := d.Write(ctx)
				if err != nil {
					return err
				}
				// It ends the shared transaction, as SQLite does by itself on a full disk.
				_, err = w.NewRaw("ROLLBACK").Exec(ctx)
				return errors.Join(err, errors.New("stop"))
			},
			put("b"),
		)
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Errorf("the units returned %v", errs)
		}
		if diff := cmp.Diff([]string{"a", "b"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
		if d.Stats().Retries == 0 {
			t.Error("nothing ran again")
		}
	})
}

func TestUnitIsDetachedOnceItRuns(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		err := d.Do(ctx, func(ctx context.Context) error {
			cancel()
			return insert(ctx, d, note{ID: "a"})
		})
		if err != nil {
			t.Errorf("the unit returned %v", err)
		}
		if diff := cmp.Diff([]string{"a"}, ids(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWaitingUnitLeavesWithItsContext(t *testing.T) {
	grouped(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		err := d.Do(t.Context(), func(context.Context) error {
			go func() {
				left <- d.Do(ctx, func(context.Context) error { t.Error("the unit ran"); return nil })
			}()
			cancel()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("the waiting unit returned %v", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestUnitThatTakesTooLongIsAborted(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, migrations(t)), UnitTimeout: 2 * time.Second})
			err := d.Do(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				return insert(ctx, d, note{ID: "late"})
			})
			wantKind(t, err, fault.Unavailable)
			mustInsert(t, d, note{ID: "next"})
			if diff := cmp.Diff([]string{"next"}, ids(t, d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUnitWithMoreTime: a unit that asks for more time than the others has it, and no more than that.
func TestUnitWithMoreTime(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			const usual = 50 * time.Millisecond
			d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, migrations(t)), UnitTimeout: usual})
			var given time.Duration
			unit := func(ctx context.Context) error {
				at, _ := ctx.Deadline()
				given = time.Until(at)
				return insert(ctx, d, note{ID: "long"})
			}
			if err := d.Do(tx.Within(tx.Alone(t.Context()), time.Hour), unit); err != nil || given < time.Minute {
				t.Errorf("%v after %v", err, given)
			}
			err := d.Do(tx.Within(tx.Alone(t.Context()), 2*usual), func(ctx context.Context) error {
				<-ctx.Done()
				return insert(ctx, d, note{ID: "late"})
			})
			wantKind(t, err, fault.Unavailable)
			less := tx.Within(tx.Alone(t.Context()), time.Nanosecond)
			if tx.Limit(less, usual) != usual {
				t.Error("a unit has less time than the others")
			}
			if diff := cmp.Diff([]string{"long"}, ids(t, d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnitThatIgnoresItsEndDoesNotBlockTheOthers(t *testing.T) {
	t.Parallel()
	d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, db.SQLite, migrations(t)), UnitTimeout: 50 * time.Millisecond})
	release, stuck := make(chan struct{}), make(chan error, 1)
	go func() {
		stuck <- d.Do(t.Context(), func(ctx context.Context) error {
			err := insert(ctx, d, note{ID: "stuck"})
			<-release
			return err
		})
	}()
	waittest.Eventually(t, 20*time.Second, "a unit is given up", func() bool { return d.Stats().Stalled == 1 })
	mustInsert(t, d, note{ID: "next"})
	close(release)
	wantKind(t, <-stuck, fault.Unavailable)
	if diff := cmp.Diff([]string{"next"}, ids(t, d)); diff != "" {
		t.Error(diff)
	}
}

func TestManyGoroutines(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		const callers, units = 64, 10
		var all sync.WaitGroup
		want := []string{}
		for c := range callers {
			for n := range units {
				if n%3 != 0 {
					want = append(want, fmt.Sprintf("%02d-%d", c, n))
				}
			}
			all.Go(func() {
				for n := range units {
					err := d.Do(t.Context(), func(ctx context.Context) error {
						if err := insert(ctx, d, note{ID: fmt.Sprintf("%02d-%d", c, n)}); err != nil {
							return err
						}
						if n%3 == 0 {
							return errors.New("no")
						}
						return nil
					})
					if (err != nil) != (n%3 == 0) {
						t.Errorf("unit %d of %d returned %v", n, c, err)
					}
				}
			})
		}
		all.Wait()
		slices.Sort(want)
		if diff := cmp.Diff(want, ids(t, d)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestClosedDatabase(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		err := d.Do(t.Context(), func(ctx context.Context) error { return insert(ctx, d, note{ID: "a"}) })
		if err == nil {
			t.Error("a closed database took a unit")
		}
		if d.Probe(t.Context()) == nil {
			t.Error("a closed database is ready")
		}
	})
}
