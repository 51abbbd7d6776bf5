package stream

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// deltaEvery is the least time between two deltas of a matrix: with the one that an end forces, ten a second.
const deltaEvery = 110 * time.Millisecond

// pace collects events that change a matrix until the next delta is due.
type pace struct {
	told  int64 // the revision that the follower holds
	order int64 // in which order of hosts and tasks
	due   bool
	timer *time.Timer
}

func newPace(told int64) *pace {
	t := time.NewTimer(deltaEvery)
	t.Stop()
	return &pace{told: told, timer: t}
}

func (p *pace) stop() { p.timer.Stop() }

// C is signalled when a delta is due.
func (p *pace) C() <-chan time.Time { return p.timer.C }

// heard makes a delta due where the event changes the matrix.
func (p *pace) heard(e *runs.Event) {
	if e.Host != "" || e.TaskID != "" || e.Type == runs.EventTaskStarted || e.Type == runs.EventStats {
		p.look()
	}
}

// children makes a delta of a parent due: whether its children have changed the matrix is known when they are asked. No revision follows
// from the parent's own events, so that a follower holds none at first.
func (p *pace) children(first bool) {
	if first {
		p.told = 0
	}
	p.look()
}

func (p *pace) look() {
	if !p.due {
		p.due = true
		p.timer.Reset(deltaEvery)
	}
}

// tellMatrix tells what became of the matrix, where anything may have.
func (f *follower) tellMatrix(ctx context.Context) error {
	p := f.matrix
	if !p.due || f.deltas == nil {
		return nil
	}
	p.due = false
	p.timer.Stop()
	d, err := f.deltas.Delta(ctx, f.last, p.told, p.order, f.after)
	if err != nil || d == nil {
		return err
	}
	p.told, p.order = d.Rev, d.Order
	return f.emit(runs.Update{Matrix: d})
}
