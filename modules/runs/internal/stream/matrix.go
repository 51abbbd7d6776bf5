package stream

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// deltaEvery is the least time between two deltas of a matrix: with the one that an end forces, ten a second.
const deltaEvery = 110 * time.Millisecond

// deltaTimer collects events that change a matrix until the next delta is due.
type deltaTimer struct {
	sentRev int64 // the revision that the follower holds
	order   int64 // in which order of hosts and tasks
	due     bool
	timer   *time.Timer
}

func newDeltaTimer(sent int64) *deltaTimer {
	t := time.NewTimer(deltaEvery)
	t.Stop()
	return &deltaTimer{sentRev: sent, timer: t}
}

func (p *deltaTimer) stop() { p.timer.Stop() }

// C is signalled when a delta is due.
func (p *deltaTimer) C() <-chan time.Time { return p.timer.C }

// observe makes a delta due where the event changes the matrix.
func (p *deltaTimer) observe(e *runs.Event) {
	if e.Host != "" || e.TaskID != "" || e.Type == runs.EventTaskStarted || e.Type == runs.EventStats {
		p.look()
	}
}

// children makes a delta of a parent due: whether its children have changed the matrix is known when they are asked.
// No revision follows from the parent's own events, so that a follower holds none at first.
func (p *deltaTimer) children(first bool) {
	if first {
		p.sentRev = 0
	}
	p.look()
}

func (p *deltaTimer) look() {
	if !p.due {
		p.due = true
		p.timer.Reset(deltaEvery)
	}
}

// sendMatrix tells what became of the matrix, where anything may have.
func (f *follower) sendMatrix(ctx context.Context) error {
	p := f.matrix
	if !p.due || f.deltas == nil {
		return nil
	}
	p.due = false
	p.timer.Stop()
	d, err := f.deltas.Delta(ctx, f.last, p.sentRev, p.order, f.after)
	if err != nil || d == nil {
		return err
	}
	p.sentRev, p.order = d.Rev, d.Order
	return f.emit(runs.Update{Matrix: d})
}
