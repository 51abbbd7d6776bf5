package executiontest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// WorkerStores is a store of workers with the unit of work that it joins.
type WorkerStores struct {
	Unit  tx.Unit
	Store execution.WorkerStore
}

// RunWorkers tests a store of workers against its contract. each gives every case an empty store.
func RunWorkers(t *testing.T, each func(t *testing.T, fn func(t *testing.T, s WorkerStores))) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[WorkerStores]{
		"a report reads back":        reported,
		"lists are in windows":       listed,
		"one that ends is forgotten": ended,
		"silence makes stale":        silent,
		"a word is no report":        touched,
	}, each, func(s WorkerStores) WorkerStores { return s })
}

func (s WorkerStores) do(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	if err := s.Unit.Do(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func (s WorkerStores) report(t *testing.T, w execution.Worker) {
	t.Helper()
	s.do(t, func(ctx context.Context) error { return s.Store.ReportWorker(ctx, w) })
}

func (s WorkerStores) list(t *testing.T, w page.Window) ([]execution.Worker, int) {
	t.Helper()
	list, total, err := s.Store.Workers(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return list, total
}

func reported(t *testing.T, s WorkerStores) {
	w := execution.Worker{
		Name: "wkr 'ä'", Kind: execution.ServerWorker, Queues: []string{"default", "gpu"}, Executors: 8, Running: 3,
		Version: "1.2.3",
		Labels:  map[string]string{"site": "north \"ö\"", "empty": ""},
		Isolation: execution.WorkerIsolation{Isolation: runs.Isolation{Level: "users", Profile: "standard"}, LandlockABI: 7,
			Limits: []string{"processes"}, Reason: "say 'why'"},
	}
	s.report(t, execution.Worker{Name: w.Name, Kind: execution.RelayWorker, Executors: 1,
		Labels: map[string]string{"old": "x"}})
	s.report(t, w)
	list, total := s.list(t, page.Window{})
	if total != 1 || len(list) != 1 {
		t.Fatalf("%d of %d", len(list), total)
	}
	got := list[0]
	if since := time.Since(got.SeenAt); since < -time.Minute || since > time.Minute || !got.Fresh {
		t.Errorf("seen at %v, fresh %v", got.SeenAt, got.Fresh)
	}
	if got.Name != w.Name || got.Kind != w.Kind || !slices.Equal(got.Queues, w.Queues) || got.Executors != 8 ||
		got.Running != 3 || got.Version != "1.2.3" ||
		!maps.Equal(got.Labels, w.Labels) || !reflect.DeepEqual(got.Isolation, w.Isolation) {
		t.Errorf("%+v", got)
	}
	w.Labels, w.Isolation = nil, execution.WorkerIsolation{}
	s.report(t, w)
	if list, _ := s.list(t, page.Window{}); len(list) != 1 || len(list[0].Labels) != 0 || list[0].Isolation.Level != "" {
		t.Errorf("without labels and isolation: %+v", list)
	}
}

func touched(t *testing.T, s WorkerStores) {
	w := execution.Worker{Name: "a", Kind: execution.RelayWorker, Queues: []string{"q"}, Executors: 8, Running: 3,
		Version: "1", Labels: map[string]string{"k": "v"}}
	s.report(t, w)
	before, _ := s.list(t, page.Window{})
	s.do(t, func(ctx context.Context) error {
		return errors.Join(s.Store.TouchWorker(ctx, "a", 5), s.Store.TouchWorker(ctx, "nobody", 1))
	})
	list, total := s.list(t, page.Window{})
	if total != 1 || len(list) != 1 {
		t.Fatalf("%d of %d", len(list), total)
	}
	got := list[0]
	if got.Running != 5 || !got.Fresh || got.SeenAt.Before(before[0].SeenAt) {
		t.Errorf("%+v after %+v", got, before[0])
	}
	if got.Kind != w.Kind || !slices.Equal(got.Queues, w.Queues) || got.Executors != 8 || got.Version != "1" ||
		!maps.Equal(got.Labels, w.Labels) {
		t.Errorf("a word changed %+v", got)
	}
}

func listed(t *testing.T, s WorkerStores) {
	for _, n := range []int{3, 1, 0, 2, 4} {
		s.report(t, execution.Worker{Name: fmt.Sprint("w", n), Kind: execution.ServerWorker})
	}
	list, total := s.list(t, page.Window{Offset: 1, Limit: 2})
	if total != 5 || len(list) != 2 || list[0].Name != "w1" || list[1].Name != "w2" {
		t.Errorf("%+v of %d", list, total)
	}
}

func ended(t *testing.T, s WorkerStores) {
	s.report(t, execution.Worker{Name: "a", Kind: execution.ServerWorker})
	for range 2 {
		s.do(t, func(ctx context.Context) error { return s.Store.RemoveWorker(ctx, "a") })
	}
	if _, total := s.list(t, page.Window{}); total != 0 {
		t.Errorf("%d workers", total)
	}
}

func silent(t *testing.T, s WorkerStores) {
	s.report(t, execution.Worker{Name: "a", Kind: execution.ServerWorker})
	s.do(t, func(ctx context.Context) error { return s.Store.ForgetWorkers(ctx, time.Hour) })
	if _, total := s.list(t, page.Window{}); total != 1 {
		t.Errorf("one that reported just now is forgotten")
	}
	for range 10_000 { // until the store's clock has advanced
		s.do(t, func(ctx context.Context) error { return s.Store.ForgetWorkers(ctx, time.Microsecond) })
		if _, total := s.list(t, page.Window{}); total == 0 {
			return
		}
	}
	t.Error("one that has not reported for longer than its time is still there")
}
