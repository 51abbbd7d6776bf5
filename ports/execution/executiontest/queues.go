package executiontest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// QueueStores is a store of the limits of queues with the unit of work that it joins.
type QueueStores struct {
	Unit  tx.Unit
	Store execution.QueueStore
}

// RunQueues tests a store of the limits of queues against its contract. each gives every case an empty store.
func RunQueues(t *testing.T, each func(t *testing.T, fn func(t *testing.T, s QueueStores))) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[QueueStores]{
		"limits read back":         limitsRead,
		"a limit joins the unit":   limitJoins,
		"zero is the end of one":   limitEnds,
		"any name can be limited":  limitNames,
		"limits of many at a time": limitsRace,
	}, each, func(s QueueStores) QueueStores { return s })
}

func (s QueueStores) put(t *testing.T, name string, n int) {
	t.Helper()
	if err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
		return s.Store.PutQueueLimit(ctx, name, n)
	}); err != nil {
		t.Fatal(err)
	}
}

func (s QueueStores) expect(t *testing.T, what string, want map[string]int) {
	t.Helper()
	got, err := s.Store.QueueLimits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	txtest.Same(t, what, want, got)
}

func limitsRead(t *testing.T, s QueueStores) {
	s.expect(t, "nothing", map[string]int{})
	s.put(t, "a", 1)
	s.put(t, "b", 10_000)
	s.expect(t, "two", map[string]int{"a": 1, "b": 10_000})
	s.put(t, "a", 7)
	s.expect(t, "changed", map[string]int{"a": 7, "b": 10_000})
}

func limitJoins(t *testing.T, s QueueStores) {
	s.put(t, "a", 1)
	err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
		for name, n := range map[string]int{"a": 2, "b": 3} {
			if err := s.Store.PutQueueLimit(ctx, name, n); err != nil {
				t.Error(err)
			}
		}
		got, err := s.Store.QueueLimits(ctx)
		if err != nil {
			t.Error(err)
		}
		txtest.Same(t, "in the unit", map[string]int{"a": 2, "b": 3}, got)
		return context.Canceled
	})
	if err == nil {
		t.Fatal("the unit committed")
	}
	s.expect(t, "afterwards", map[string]int{"a": 1})
}

func limitEnds(t *testing.T, s QueueStores) {
	s.put(t, "a", 1)
	s.put(t, "b", 1)
	for range 2 {
		s.put(t, "a", 0)
	}
	s.expect(t, "one is left", map[string]int{"b": 1})
}

func limitNames(t *testing.T, s QueueStores) {
	want := map[string]int{}
	for i, name := range []string{"site/berlin:1", "A", "a", "a.b_c-d"} {
		want[name] = i + 1
		s.put(t, name, i+1)
	}
	s.expect(t, "names", want)
}

// limitsRace limits one queue from several sides: the last one stays, and no write fails.
func limitsRace(t *testing.T, s QueueStores) {
	done := make(chan error)
	for n := range 8 {
		go func() {
			done <- s.Unit.Do(t.Context(), func(ctx context.Context) error {
				return s.Store.PutQueueLimit(ctx, "a", n%2)
			})
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	s.put(t, "a", 5)
	s.expect(t, "the last", map[string]int{"a": 5})
}
