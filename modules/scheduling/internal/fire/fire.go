package fire

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/records"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	// The pauses between attempts grow from the first to the longest.
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
	// noteTime is the timeout for recording the result of a slot. It also applies while the server stops, because the
	// run may exist.
	noteTime = 5 * time.Second
)

// The reasons of slots without a run, in addition to refusals.
const (
	disabled = "the schedule was disabled before it was known whether this slot made a run"
	lost     = "the server that held this slot ended, and nobody took it over in time; it is not known whether it made " +
		"a run"
)

// fire creates the run and records the result of the slot. If it does not finish within the lease, the next holder of
// the slot does.
func (e *Engine) fire(ctx context.Context, f *scheduling.Firing, stale bool) {
	id, slot := f.Schedule.ID, f.Slot
	run, reason, err := e.outcome(ctx, f, stale)
	switch {
	case scheduling.ScheduleNotFound.Is(err):
		e.log.InfoContext(ctx, "a schedule was deleted while its slot was held", "schedule", id, "slot", slot)
		return
	case err != nil:
		e.log.WarnContext(ctx, "a slot is left to the next server", "schedule", id, "slot", slot, "err", err)
		return
	case run != "":
		e.log.InfoContext(ctx, "schedule fired", "schedule", id, "slot", slot, "run", run)
	default:
		e.log.WarnContext(ctx, "a slot made no run", "schedule", id, "slot", slot, "reason", reason)
	}
	note, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	err = e.until(note, func(ctx context.Context) error { return e.slots.Settle(ctx, id, slot, run, reason) })
	if err != nil {
		e.log.ErrorContext(ctx, "what became of a slot was not noted; the next server finds its run", "schedule", id, "slot",
			slot, "err", err)
	}
}

// outcome returns the slot's run, or the reason why there is none. An error means that the result is unknown.
func (e *Engine) outcome(ctx context.Context, f *scheduling.Firing, stale bool) (run, reason string, err error) {
	if stale {
		return "", lost, nil
	}
	err = e.until(ctx, func(ctx context.Context) error {
		// It may have changed while it waited for its place; its owner is responsible for the stored state.
		s, err := e.schedules.ScheduleByID(ctx, f.Schedule.ID)
		if err != nil {
			return err
		}
		if !s.Enabled {
			reason = disabled
			return nil
		}
		run, err = e.maker.Make(ctx, &scheduling.Firing{Schedule: s, Slot: f.Slot})
		return err
	})
	switch {
	case err == nil:
		return run, reason, nil
	case passing(err), ctx.Err() != nil, scheduling.ScheduleNotFound.Is(err):
		return "", "", err
	case fault.KindOf(err) == fault.Internal:
		e.log.ErrorContext(ctx, "a slot made no run for an internal error", "schedule", f.Schedule.ID, "slot", f.Slot,
			"err", err)
	}
	return "", records.Reason(err), nil
}

// until calls fn until it succeeds, fails for good or ctx ends.
func (e *Engine) until(ctx context.Context, fn func(ctx context.Context) error) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := fn(ctx)
		if err == nil || !passing(err) {
			return err
		}
		if !background.Wait(ctx, pause) {
			return fmt.Errorf("the hold is over: %w", err)
		}
	}
}

// passing reports whether an error is temporary: a dependency is unavailable or limits its load.
func passing(err error) bool {
	return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.RateLimited)
}
