package stream

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// deltaEvery is the minimum time between two deltas of a matrix. Together with the one at the end these are at most
// ten a second.
const deltaEvery = 110 * time.Millisecond

// deltaTimer collects events that change a matrix until the next delta is due.
type deltaTimer struct {
	sentRev int64 // the revision that the follower has
	order   int64 // the order of hosts and tasks that the follower has
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

// observe makes a delta due if the event may change the matrix.
func (p *deltaTimer) observe(e *runs.Event) {
	if e.Host != "" || e.TaskID != "" || e.Type == runs.EventTaskStarted || e.Type == runs.EventStats {
		p.look()
	}
}

// children makes a delta of a parent due, since only a query shows whether its children changed the matrix. The
// parent's own events determine no revision, so that a new follower starts without one.
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

// sendMatrix sends the changes of the matrix if a delta is due.
func (f *follower) sendMatrix(ctx context.Context) error {
	p := f.matrix
	if !p.due || f.deltas == nil {
		return nil
	}
	p.due = false
	p.timer.Stop()
	d, err := f.sub.delta(ctx, f.deltas, f.last, p.sentRev, p.order, f.after)
	if err != nil || d == nil {
		return err
	}
	key := textKey{kind: deltaText, from: d.Since, to: d.Rev, order: d.Order}
	p.sentRev, p.order = d.Rev, d.Order
	return f.emit(runs.Update{Matrix: d, Text: f.sub.text(key, len(d.Cells))})
}
