package windows

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// Worker opens and closes the windows of runs that wait. Any number of servers may do so: what one stores is of a
// version of the windows, and what was overtaken is done again. It is used by one goroutine.
type Worker struct {
	machine *lifecycle.Machine
	windows *Windows
	log     *slog.Logger
	// asked is the version of the windows that everything was asked about, -1 at first, and next when something changes.
	asked int64
	next  time.Time
}

// NewWorker returns a worker that asks windows. Their evaluator must not be nil.
func NewWorker(m *lifecycle.Machine, w *Windows, log *slog.Logger) *Worker {
	return &Worker{machine: m, windows: w, log: log, asked: -1}
}

// The pauses between two looks: while there are no windows, while there are, and the shortest one. batch is how many
// runs with an answer are listed at once, unasked how many without one.
const (
	idlePause   = 20 * time.Second
	windowPause = time.Second
	shortPause  = 20 * time.Millisecond
	batch       = 100
	unasked     = 5000
)

// Pass asks about the runs for which the answer may be another one. A failure for one run does not stop the others; the
// next pass asks again.
func (w *Worker) Pass(ctx context.Context) error {
	version, err := w.windows.policies.Windows(ctx)
	if err == nil {
		w.next, err = w.machine.Waits.NextWait(ctx)
	}
	now := w.machine.Now()
	if err != nil || version == w.asked && (w.next.IsZero() || w.next.After(now)) {
		return err
	}
	done, err := w.due(ctx, version, now)
	if err == nil && done {
		done, err = w.others(ctx, version)
	}
	if err == nil && done {
		w.asked = version
		w.next, err = w.machine.Waits.NextWait(ctx)
	}
	return err
}

// Pause returns the time until the next pass.
func (w *Worker) Pause() time.Duration {
	pause := windowPause
	if w.asked == 0 {
		pause = idlePause
	}
	if !w.next.IsZero() {
		pause = min(pause, max(w.next.Sub(w.machine.Now()), shortPause))
	}
	return pause
}

// due asks about runs whose answer is old. done is false if it failed for one.
func (w *Worker) due(ctx context.Context, version int64, now time.Time) (done bool, err error) {
	done = true
	for after := int64(0); ; {
		list, err := w.machine.Waits.DueWaits(ctx, version, now, after, batch)
		if err != nil {
			return false, err
		}
		for _, r := range list {
			after = r.Seq
			if !w.look(ctx, r.ID, true) {
				done = false
			}
		}
		if len(list) < batch || ctx.Err() != nil {
			return done, ctx.Err()
		}
	}
}

// others asks about runs to which no window applied until now, once for each version.
func (w *Worker) others(ctx context.Context, version int64) (done bool, err error) {
	asked, err := w.machine.Waits.Asked(ctx)
	if err != nil || asked >= version {
		return err == nil, err
	}
	done = true
	for after := (runs.Waiting{}); ; {
		list, err := w.machine.Waits.Unasked(ctx, after, unasked)
		if err != nil {
			return false, err
		}
		for _, r := range list {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			after = r
			if !w.look(ctx, r.ID, false) {
				done = false
			}
		}
		if len(list) < unasked {
			break
		}
	}
	if !done {
		return false, nil
	}
	return true, w.machine.Do(ctx, func(ctx context.Context) error { return w.machine.Waits.SetAsked(ctx, version) })
}

// look asks about a run and stores the answer. known tells that an answer is stored. It returns false for a failure,
// which it logs.
func (w *Worker) look(ctx context.Context, id string, known bool) bool {
	err := w.store(ctx, id, known)
	if err == nil || runs.RunNotFound.Is(err) {
		return true
	}
	if ctx.Err() == nil {
		w.log.ErrorContext(ctx, "cannot tell when windows let a run start; it is tried again", "run", id, "err", err)
	}
	return false
}

func (w *Worker) store(ctx context.Context, id string, known bool) error {
	r, err := w.machine.Store.ByID(ctx, id)
	if err != nil {
		return err
	}
	var wait *runs.Wait
	if r.Status == runs.Pending {
		t, err := w.windows.Ask(ctx, r)
		if err != nil {
			return err
		}
		wait = Wait(t, w.machine.Now())
	}
	if wait == nil && !known {
		return nil
	}
	return w.machine.Do(ctx, func(ctx context.Context) error {
		opened, err := w.machine.Waits.PutWait(ctx, id, wait)
		if err == nil {
			err = w.machine.SignalQueues(ctx, opened)
		}
		if err == nil && r.Slotted && wait.Closed() { // it no longer keeps others from slots
			err = w.machine.Signals.Signal(ctx, events.TopicSlots, "")
		}
		if err == nil {
			err = w.machine.Touch(ctx, id)
		}
		return err
	})
}
