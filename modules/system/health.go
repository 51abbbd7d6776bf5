package system

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/system"
)

// readyWithin is the timeout of a probe.
const readyWithin = time.Second

// Health probes the store. It is safe for concurrent use: concurrent callers share one probe, so a store that hangs
// holds one goroutine, however many callers there are.
type Health struct {
	probe system.Probe

	mu      sync.Mutex
	current *attempt
}

type attempt struct {
	done chan struct{}
	err  error
}

var _ system.Health = (*Health)(nil)

// Params are the dependencies of Health.
type Params struct {
	Probe system.Probe
}

// New creates the health check. It returns an error if the probe is nil.
func New(p Params) (*Health, error) {
	if p.Probe == nil {
		return nil, errors.New("system: a dependency is missing")
	}
	return &Health{probe: p.Probe}, nil
}

func (h *Health) Ready(ctx context.Context) error {
	a := h.join()
	limit := time.NewTimer(readyWithin)
	defer limit.Stop()
	select {
	case <-a.done:
		return refused(a.err)
	case <-limit.C:
		return refused(context.DeadlineExceeded)
	case <-ctx.Done():
		return refused(ctx.Err())
	}
}

func refused(cause error) error {
	if cause == nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, cause, "the store does not answer")
}

// join returns the probe in progress, or starts one.
func (h *Health) join() *attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current != nil {
		return h.current
	}
	a := &attempt{done: make(chan struct{})}
	h.current = a
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
		defer cancel()
		a.err = h.probe.Probe(ctx)
		h.mu.Lock()
		h.current = nil
		h.mu.Unlock()
		close(a.done)
	}()
	return a
}
