// Package executors knows which queues executors serve.
package executors

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

// How long what is known of the executors is used: to find that a queue is served, and that it is not. A worker that
// has just started is known after the shorter one.
const (
	servedFor   = 5 * time.Second
	unservedFor = 100 * time.Millisecond
	maxWorkers  = 10_000
)

// Queues knows which queues executors serve. It reads the list of executors at most ten times a second, so that a
// request hardly ever waits for that. It is safe for concurrent use. A nil Queues reports every queue as served.
type Queues struct {
	own     []string
	workers execution.WorkerStore
	clock   clock.Clock

	mu     sync.Mutex
	read   time.Time
	queues map[string]bool
}

// New returns the queues of the process's own executors, and those of the workers. Without a store it returns nil.
func New(own []string, w execution.WorkerStore, c clock.Clock) *Queues {
	if w == nil {
		return nil
	}
	return &Queues{own: own, workers: w, clock: c}
}

// Serve reports whether an executor serves the queue. The error is that of the store.
func (s *Queues) Serve(ctx context.Context, queue string) (bool, error) {
	if s == nil || slices.Contains(s.own, queue) {
		return true, nil
	}
	if served, known := s.known(queue); known {
		return served, nil
	}
	queues := map[string]bool{}
	for offset := 0; offset < maxWorkers; {
		list, total, err := s.workers.Workers(ctx, page.Window{Offset: offset})
		if err != nil {
			return false, fmt.Errorf("list executors: %w", err)
		}
		for _, w := range list {
			for _, q := range w.Queues {
				queues[q] = queues[q] || w.Fresh && w.Executors > 0
			}
		}
		if offset += len(list); len(list) == 0 || offset >= total {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues, s.read = queues, s.clock.Now()
	return queues[queue], nil
}

// known returns what was read last, unless that is too old. Then the caller reads, and others take the old answer until
// it has.
func (s *Queues) known(queue string) (served, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil {
		return false, false
	}
	served = s.queues[queue]
	now := s.clock.Now()
	if age := now.Sub(s.read); age < unservedFor || age < servedFor && served {
		return served, true
	}
	s.read = now
	return served, false
}
