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
	if p.due || e.Host == "" && e.TaskID == "" && e.Type != runs.EventTaskStarted && e.Type != runs.EventStats {
		return
	}
	p.due = true
	p.timer.Reset(deltaEvery)
}

// tellMatrix tells what became of the matrix, where anything may have.
func (f *follower) tellMatrix(ctx context.Context) error {
	p := f.matrix
	if !p.due || f.deltas == nil {
		return nil
	}
	p.due = false
	p.timer.Stop()
	d, err := f.deltas.Delta(ctx, f.id, p.told, f.after)
	if err != nil || d == nil {
		return err
	}
	p.told = d.Rev
	return f.emit(runs.Update{Matrix: d})
}
