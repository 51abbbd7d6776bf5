package source

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture contains the dependencies of a refresher, with a collector that never responds while it hangs.
type fixture struct {
	catalog.SourceStore
	catalog.InventoryStore

	mu     sync.Mutex
	hangs  bool
	due    []string
	waits  time.Duration
	takes  []time.Duration // the times of searches for due sources, since the start
	begin  time.Time
	failed string
	filled int
}

func (w *fixture) SourceByID(_ context.Context, id string) (catalog.InventorySource, error) {
	s := catalog.InventorySource{Kind: catalog.HTTPSource, InventoryID: "inv"}
	s.ID = id
	return s, nil
}

func (w *fixture) InventoryByID(context.Context, string) (catalog.Inventory, error) {
	return catalog.Inventory{}, nil
}

func (w *fixture) FillInventory(context.Context, catalog.Inventory) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.filled++
	return nil
}

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
	return NewRefresher(RefresherParams{Unit: w, Clock: w, Log: slog.New(slog.DiscardHandler), Recorder: w, Inventories: w,
		Sources:   w,
		Collector: w})
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
		if time.Since(w.begin) != collectTime || w.failed != "the source did not answer within 120 seconds" || w.filled != 0 {
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
			if n := len(w.takes); n < least || n > most || len(w.due) != 0 || w.filled != 3 {
				t.Error(w.due, w.filled, w.takes)
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
