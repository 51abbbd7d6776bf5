package source

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/modules/catalog/internal/inventories"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture contains the dependencies of a refresher, with a collector that never responds while it hangs.
type fixture struct {
	catalog.SourceStore
	catalog.InventoryStore
	catalog.InventoryVersionStore

	mu     sync.Mutex
	hangs  bool
	due    []string
	waits  time.Duration
	takes  []time.Duration // the times of searches for due sources, since the start
	begin  time.Time
	failed string
	filled int
	shared int // changes of inventories that may share their commit with other units

	executed bool                 // the source runs a program
	state    catalog.RefreshState // of its refresh
	ended    bool

	other  *catalog.RefreshState // what another process that waited has made of the refresh
	others string                // and stored as the failure
}

func (w *fixture) AskRefresh(context.Context, string, int64, string) (int64, error) { return 1, nil }

func (w *fixture) RefreshState(context.Context, string, int64) (catalog.RefreshState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state, nil
}

func (w *fixture) EndRefresh(_ context.Context, _ string, _ int64, done bool) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.other != nil {
		w.state, w.failed = *w.other, w.others
		return false, nil
	}
	return done == w.state.Done, nil
}

func (w *fixture) SourceByID(_ context.Context, id string) (catalog.InventorySource, error) {
	s := catalog.InventorySource{Kind: catalog.HTTPSource, InventoryID: "inv"}
	if w.executed {
		s.Kind = catalog.ScriptSource
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.ID, s.LastError = id, w.failed
	return s, nil
}

func (w *fixture) InventoryByID(context.Context, string) (catalog.Inventory, error) {
	return catalog.Inventory{}, nil
}

func (w *fixture) FillInventory(ctx context.Context, i catalog.Inventory) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i.UpdatedAt.IsZero() {
		return errors.New("the content has no time")
	}
	w.filled++
	if !tx.IsAlone(ctx) {
		w.shared++
	}
	return nil
}

func (*fixture) KeepVersion(context.Context, string, catalog.InventoryVersion) error { return nil }

func (w *fixture) NoteRefresh(_ context.Context, _, failure, _ string, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = failure
	return nil
}

func (w *fixture) TakeDue(context.Context) (s catalog.InventorySource, ok bool, wait time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.takes = append(w.takes, time.Since(w.begin))
	if len(w.due) == 0 {
		return s, false, w.waits, nil
	}
	s.ID, w.due = w.due[0], w.due[1:]
	return s, true, w.waits, nil
}

func (w *fixture) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

func (w *fixture) Now() time.Time { return time.Now() }

func (w *fixture) Record(context.Context, audit.Entry) error { return nil }

func (w *fixture) Collect(ctx context.Context, _ catalog.Collection) ([]byte, catalog.Format, error) {
	if w.hangs {
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	return []byte("h\n"), "", nil
}

func made(w *fixture) *Refresher {
	w.begin = time.Now()
	return NewRefresher(RefresherParams{Unit: w, Clock: w, Log: slog.New(slog.DiscardHandler), Recorder: w,
		Inventories: inventories.Contents{InventoryStore: w, InventoryVersionStore: w}, Sources: w,
		Collector: w, Refreshes: w, Queue: "default"})
}

// TestNoExecutor waits a minute for an executor, again a minute after one has died, and no longer than a refresh lasts
// for one that does not end.
// Keeps T43.
func TestNoExecutor(t *testing.T) {
	t.Parallel()
	const none = `no executor of the queue "default" took the refresh within 60 seconds`
	for name, c := range map[string]struct {
		held  time.Duration // how long an executor holds it
		want  time.Duration
		fails string
	}{
		"nobody": {0, time.Minute, none}, "a dead one": {3 * time.Minute, 4 * time.Minute, none},
		"an endless one": {time.Hour, catalog.RefreshLife, "the source did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &fixture{executed: true, state: catalog.RefreshState{Held: c.held > 0}}
				r := made(w)
				defer time.AfterFunc(c.held, func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.state.Held = false
				}).Stop()
				err := r.refreshForRequest(t.Context(), "one")
				took := time.Since(w.begin)
				if err == nil || err.Error() != c.fails || w.failed != c.fails || w.filled != 0 || took < c.want-watchEvery ||
					took > c.want+watchEvery {
					t.Errorf("%v after %s, stored %q", err, took, w.failed)
				}
				if catalog.NoExecutor.Is(err) != (c.fails == none) || w.ended != (c.fails == none) {
					t.Errorf("%v, ended %t", err, w.ended)
				}
				r.Close()
			})
		})
	}
}

// TestStoredByAnother gives up when another process has ended the refresh, and tells what that one found. Its text
// decides nothing.
func TestStoredByAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state catalog.RefreshState
		want  fault.Code
	}{
		"no executor": {catalog.RefreshState{Over: true, Missed: true}, catalog.NoExecutor},
		"a failure":   {catalog.RefreshState{Over: true}, catalog.RefreshFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &fixture{executed: true, other: &c.state, others: noExecutor("elsewhere").Error()}
				r := made(w)
				if err := r.refreshForRequest(t.Context(), "one"); !c.want.Is(err) || err.Error() != w.others {
					t.Errorf("%v", err)
				}
				r.Close()
			})
		})
	}
}

// TestBounded checks that a hanging source fails after two minutes, including the wait for the lock.
func TestBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{hangs: true}
		r := made(w)
		var work sync.WaitGroup
		for _, id := range []string{"one", "two"} {
			work.Go(func() {
				if err := r.refreshForRequest(t.Context(), id); !catalog.RefreshFailed.Is(err) {
					t.Error(err)
				}
			})
		}
		work.Wait()
		if time.Since(w.begin) != collectTime || w.failed != "the source did not answer in time" || w.filled != 0 {
			t.Error(time.Since(w.begin), w.failed, w.filled)
		}
		if len(r.locks)+len(r.inFlight) != 0 {
			t.Errorf("%d turns and %d refreshes are left", len(r.locks), len(r.inFlight))
		}
		r.Close()
	})
}

// TestClock checks the searches for due sources: when the next one is due, every 30 seconds, and after wake.
func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{due: []string{"a", "b", "c"}, waits: 7 * time.Second}
		r := made(w)
		r.Loops().Start()
		synctest.Wait()
		taken := func(least, most int) {
			t.Helper()
			w.mu.Lock()
			defer w.mu.Unlock()
			if n := len(w.takes); n < least || n > most || len(w.due) != 0 || w.filled != 3 || w.shared != 0 {
				t.Error(w.due, w.filled, w.shared, w.takes)
			}
		}
		taken(3+loops, 3+loops)
		time.Sleep(7 * time.Second)
		synctest.Wait()
		taken(3+2*loops, 3+2*loops)
		w.mu.Lock()
		w.waits = time.Hour
		w.mu.Unlock()
		time.Sleep(7*time.Second + 2*longestWait)
		synctest.Wait()
		taken(3+5*loops, 3+5*loops)
		for range 10 {
			r.wake()
		}
		synctest.Wait()
		taken(4+5*loops, 12+5*loops) // simultaneous wakes are combined
		if err := r.Loops().Stop(t.Context()); err != nil {
			t.Error(err)
		}
		r.Close()
	})
}
