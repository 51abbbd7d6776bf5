package executors

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

// fleet lists workers and counts how often it was asked.
type fleet struct {
	execution.WorkerStore
	mu      sync.Mutex
	workers []execution.Worker
	err     error
	asked   int
}

func (f *fleet) Workers(context.Context, page.Window) ([]execution.Worker, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return f.workers, len(f.workers), f.err
}

// hand is a clock that is moved by hand.
type hand struct{ at time.Time }

func (h *hand) Now() time.Time { return h.at }

// TestQueues checks what is known of executors, for how long, and that a busy server hardly ever asks for them.
func TestQueues(t *testing.T) {
	t.Parallel()
	f := &fleet{workers: []execution.Worker{
		{Name: "a", Queues: []string{"served"}, Executors: 2, Fresh: true},
		{Name: "b", Queues: []string{"served", "lost"}, Executors: 2},
		{Name: "c", Queues: []string{"idle"}, Fresh: true},
	}}
	now := &hand{time.Unix(1000, 0)}
	s := New([]string{"own"}, f, now)
	check := func(queue string, want bool, asked int) {
		t.Helper()
		if got, err := s.Serve(t.Context(), queue); err != nil || got != want || f.asked != asked {
			t.Errorf("%s: %v, %v, asked %d times", queue, got, err, f.asked)
		}
	}
	check("own", true, 0)
	check("served", true, 1)
	for _, queue := range []string{"lost", "idle", "none"} {
		check(queue, false, 1)
	}
	now.at = now.at.Add(unservedFor)
	check("served", true, 1)
	f.workers[1].Fresh = true
	check("lost", true, 2)
	now.at = now.at.Add(servedFor)
	f.err = errors.New("broken")
	if _, err := s.Serve(t.Context(), "served"); err == nil {
		t.Error("an error is not reported")
	}
	check("served", true, 3) // what was known serves others until the next attempt
	if ok, err := New(nil, nil, now).Serve(t.Context(), "none"); !ok || err != nil {
		t.Error("without a list of executors, a queue is unserved")
	}
}

// TestQueuesAtOnce asks from many goroutines.
func TestQueuesAtOnce(t *testing.T) {
	t.Parallel()
	s := New(nil, &fleet{workers: []execution.Worker{{Queues: []string{"q"}, Executors: 1, Fresh: true}}},
		&hand{time.Unix(1000, 0)})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if ok, err := s.Serve(t.Context(), "q"); !ok || err != nil {
				t.Errorf("%v, %v", ok, err)
			}
		})
	}
	all.Wait()
}
