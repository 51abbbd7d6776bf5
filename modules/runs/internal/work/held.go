package work

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/runs"
)

// Held rejects runs, also steps of pipelines, that nobody approves in time. Any number of servers may do so: each run
// is checked under its row's lock.
type Held struct {
	machine *lifecycle.Machine
	queue   runs.Queue
	ttl     time.Duration
	log     *slog.Logger
}

// NewHeld rejects runs that are held for longer than ttl.
func NewHeld(m *lifecycle.Machine, q runs.Queue, ttl time.Duration, log *slog.Logger) *Held {
	return &Held{m, q, ttl, log}
}

// Pass rejects the runs whose time is over, at most a batch, and returns how many it rejected. A failure for one run
// does not stop the others.
func (h *Held) Pass(ctx context.Context) (int, error) {
	list, err := h.queue.Held(ctx, h.machine.Now().Add(-h.ttl), batch)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range list {
		if err := h.expire(ctx, r.ID); err != nil {
			if ctx.Err() != nil {
				return n, err
			}
			h.log.ErrorContext(ctx, "cannot reject a run that was held for too long", "run", r.ID, "err", err)
			continue
		}
		n++
	}
	return n, nil
}

func (h *Held) expire(ctx context.Context, id string) error {
	reason := fmt.Sprintf("nobody approved the run within %s", h.ttl)
	return h.machine.Do(ctx, func(ctx context.Context) error {
		return h.machine.RejectHeld(ctx, id, "approval-ttl", reason)
	})
}
