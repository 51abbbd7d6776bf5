package catalogtest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func dueCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"what is due":                    due,
		"what is due again":              dueAgain,
		"an interval that changes":       dueChanged,
		"a due source that is undone":    dueUndone,
		"due sources are taken once":     dueRace,
		"a due source goes as it is due": dueGoes,
	}
}

func every(seconds int) func(*catalog.InventorySource) {
	return func(s *catalog.InventorySource) { s.SyncInterval = seconds }
}

type taken struct {
	source catalog.InventorySource
	ok     bool
	wait   time.Duration
}

func (e *env) take(ctx context.Context) (k taken, err error) {
	err = e.Unit.Do(ctx, func(ctx context.Context) error {
		k.source, k.ok, k.wait, err = e.Sources.TakeDue(ctx)
		return err
	})
	return k, err
}

// takes requires TakeDue to return the source.
func (e *env) takes(t *testing.T, want catalog.InventorySource) taken {
	t.Helper()
	k, err := e.take(t.Context())
	txtest.NoError(t, err)
	if !k.ok {
		t.Fatalf("nothing is due for %v", k.wait)
	}
	txtest.Same(t, "taken", want, k.source)
	return k
}

// idle requires that no source is due, and a wait of about the duration, where 0 means without end.
func (e *env) idle(t *testing.T, about time.Duration) {
	t.Helper()
	k, err := e.take(t.Context())
	txtest.NoError(t, err)
	if k.ok {
		t.Fatalf("%s is due", k.source.ID)
	}
	near(t, k.wait, about)
}

// near allows for the delays of a busy machine.
func near(t *testing.T, wait, about time.Duration) {
	t.Helper()
	if wait > about || about > 0 && wait < about-30*time.Second || wait < 0 || about > 0 && wait == 0 {
		t.Errorf("the next one is due in %v, want about %v", wait, about)
	}
}

func due(t *testing.T, e *env) {
	e.idle(t, 0)
	e.addSource(t, "inv_1")
	e.idle(t, 0)
	// A source without a refresh is due immediately, whatever times its record contains.
	hour := e.addSource(t, "inv_1", every(3600), func(s *catalog.InventorySource) {
		s.Name, s.SyncedAt, s.LastError = odd, txtest.Epoch(), odd
	})
	minute := e.addSource(t, "inv_1", every(60))
	if k := e.takes(t, hour); k.wait <= 0 {
		t.Errorf("the wait for what is due is %v", k.wait)
	}
	near(t, e.takes(t, minute).wait, time.Minute)
	e.idle(t, time.Minute)
	txtest.Same(t, "a record that was taken", hour, sources(e).Get(t, hour.ID))
	e.Must(t, func(ctx context.Context) error { return e.Sources.DeleteSource(ctx, minute.ID, 0) })
	e.idle(t, time.Hour)
	e.Must(t, func(ctx context.Context) error {
		return e.Sources.NoteRefresh(ctx, hour.ID, "failed", "", txtest.Epoch())
	})
	e.idle(t, time.Hour)
	e.Must(t, func(ctx context.Context) error { return e.Sources.DeleteSource(ctx, hour.ID, 0) })
	e.idle(t, 0)
	if _, _, _, err := e.Sources.TakeDue(t.Context()); err == nil {
		t.Error("a source is taken outside of a unit")
	}
}

// dueAgain waits in real time for the store's clock: the source is due again when its interval is over, and no earlier.
func dueAgain(t *testing.T, e *env) {
	is := e.addSource(t, "inv_1", every(2))
	before := time.Now()
	e.takes(t, is)
	for end := before.Add(time.Minute); ; {
		k, err := e.take(t.Context())
		txtest.NoError(t, err)
		if k.ok {
			txtest.Same(t, "taken", is, k.source)
			break
		}
		if k.wait <= 0 || k.wait > 2*time.Second || time.Now().After(end) {
			t.Fatalf("after %v the next one is due in %v", time.Since(before), k.wait)
		}
		select {
		case <-time.After(k.wait):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
	if passed := time.Since(before); passed < 1900*time.Millisecond {
		t.Errorf("it was due again after %v", passed)
	}
}

func dueChanged(t *testing.T, e *env) {
	is := e.addSource(t, "inv_1", every(3600))
	set := func(seconds int) {
		t.Helper()
		is.SyncInterval = seconds
		e.Must(t, func(ctx context.Context) (err error) {
			is, err = e.Sources.UpdateSource(ctx, is, 0)
			return err
		})
		txtest.Same(t, "interval", seconds, is.SyncInterval)
	}
	set(3600) // it is still due
	e.takes(t, is)
	e.idle(t, time.Hour)
	set(60)
	e.idle(t, time.Minute)
	set(60)
	e.idle(t, time.Minute)
	set(0)
	e.idle(t, 0)
	set(7200)
	e.idle(t, 2*time.Hour)
	set(1 << 40) // a very long interval must not overflow
	k, err := e.take(t.Context())
	txtest.NoError(t, err)
	if k.ok || k.wait < 365*24*time.Hour {
		t.Errorf("due in %v", k.wait)
	}
}

func dueUndone(t *testing.T, e *env) {
	is, stop := e.addSource(t, "inv_1", every(60)), errors.New("stop")
	err := e.Do(t, func(ctx context.Context) error {
		_, ok, _, err := e.Sources.TakeDue(ctx)
		txtest.NoError(t, err)
		txtest.Same(t, "taken", true, ok)
		_, ok, _, err = e.Sources.TakeDue(ctx)
		txtest.NoError(t, err)
		txtest.Same(t, "taken again in one unit", false, ok)
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	e.takes(t, is)
}

// dueRace checks that only one of several servers takes each source.
func dueRace(t *testing.T, e *env) {
	var want, got []string
	for range 40 {
		want = append(want, e.addSource(t, "inv_1", every(3600)).ID)
	}
	var mu sync.Mutex
	left := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(want) - len(got)
	}
	txtest.Together(txtest.Crowd, func(int) {
		for end := time.Now().Add(time.Minute); left() > 0 && time.Now().Before(end); {
			k, err := e.take(t.Context())
			if err != nil {
				t.Errorf("take: %v", err)
				return
			}
			if !k.ok { // other units hold the remaining sources
				continue
			}
			mu.Lock()
			got = append(got, k.source.ID)
			mu.Unlock()
		}
	})
	slices.Sort(got)
	txtest.Same(t, "taken", want, got)
	e.idle(t, time.Hour)
}

// dueGoes checks that a deleted source is never taken after its deletion.
func dueGoes(t *testing.T, e *env) {
	for range 10 {
		is := e.addSource(t, "inv_1", every(3600))
		txtest.Together(2, func(n int) {
			if n == 0 {
				if err := e.Do(t, func(ctx context.Context) error { return e.Sources.DeleteSource(ctx, is.ID, 0) }); err != nil {
					t.Errorf("delete: %v", err)
				}
				return
			}
			if k, err := e.take(t.Context()); err != nil || k.ok && k.source.ID != is.ID {
				t.Errorf("take: %+v, %v", k, err)
			}
		})
		e.idle(t, 0)
	}
}
