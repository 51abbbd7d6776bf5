package compose

import (
	"context"
	"log/slog"
	"sync"
	"time"

	portclock "github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// Time between attempts while the server does not answer a claim.
const (
	reachAfter = time.Second
	reachMost  = 30 * time.Second
)

// reach is the relay for the claims of an executor. While the server does not answer or refuses the worker, one claim
// at a time tries again, at growing intervals, and the log names the reason. A failed claim is not an error: it may
// have taken a run, and the lease of that run then expires.
type reach struct {
	execution.ControlPlane
	clock      portclock.Clock
	log        *slog.Logger
	hello      func(ctx context.Context) error // checks that the server lets this worker claim
	onAdmitted func(ctx context.Context)       // called once, when it does for the first time

	mu     sync.Mutex
	known  bool // the server has answered
	busy   bool // a claim is being retried
	failed int  // tries since it answered last
	next   time.Time
}

func (r *reach) Claim(ctx context.Context, q runs.ClaimRequest) (*runs.Assignment, error) {
	first, ok := r.begin()
	if !ok {
		return nil, nil
	}
	if first {
		if err := r.hello(ctx); err != nil {
			r.end(ctx, err)
			return nil, nil
		}
		r.onAdmitted(ctx)
	}
	a, err := r.ControlPlane.Claim(ctx, q)
	r.end(ctx, err)
	if err != nil {
		return nil, nil
	}
	return a, nil
}

// reached reports whether the server ever answered.
func (r *reach) reached() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

// begin reports whether it is the caller's turn, and whether the server has never answered.
func (r *reach) begin() (first, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known && r.failed == 0 {
		return false, true
	}
	if left := r.next.Sub(r.clock.Now()); r.busy || left > 0 && left <= reachMost {
		return false, false
	}
	r.busy = true
	return !r.known, true
}

// end records the result of a claim.
func (r *reach) end(ctx context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
	if err == nil {
		if r.failed > 0 && r.known {
			r.log.InfoContext(ctx, "the worker claims runs from the server again", "tries", r.failed)
		}
		r.known, r.failed = true, 0
		return
	}
	pause := min(reachMost, reachAfter<<min(r.failed, 5))
	r.failed++
	r.next = r.clock.Now().Add(pause)
	r.log.WarnContext(ctx, "cannot claim runs from the server; trying again", "in", pause.String(), "error", err)
}
