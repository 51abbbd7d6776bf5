package fire

import (
	"context"
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/records"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	// batch is the number of schedules per read of the store.
	batch = 100
	// retryPause is the pause after a failure, and soon the one after another server was faster.
	retryPause    = time.Second
	conflictPause = 20 * time.Millisecond
	// askTime is the timeout of one read of the store.
	askTime = 30 * time.Second
)

// Missed is the reason of a slot that was due while no server ran.
const Missed = "missed while no server ran"

// pass books the due slots and returns the time until the next pass.
func (e *Engine) pass(ctx context.Context) time.Duration {
	due, now, next, err := e.due(ctx)
	if err != nil {
		if ctx.Err() == nil {
			e.log.ErrorContext(ctx, "schedules that are due were not read; it is tried again", "err", err)
		}
		return min(retryPause, e.set.Poll)
	}
	e.now = now
	grace := e.set.Catchup + e.waited
	if len(due) < batch {
		e.waited = 0
	}
	if len(due) == 0 {
		if next.IsZero() {
			return e.set.Poll
		}
		return min(max(next.Sub(now), conflictPause), e.set.Poll)
	}
	moved := false
	for i := range due {
		ok, err := e.advance(ctx, &due[i], now, grace)
		switch {
		case ctx.Err() != nil:
			return 0
		case err != nil:
			e.log.ErrorContext(ctx, "a slot was not booked; it is tried again", "schedule", due[i].ID, "err", err)
			return min(retryPause, e.set.Poll)
		}
		moved = moved || ok
	}
	if !moved {
		return conflictPause
	}
	return 0
}

func (e *Engine) due(ctx context.Context) ([]scheduling.Schedule, time.Time, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return e.slots.Due(ctx, batch)
}

// advance moves one schedule to its next slot. Of several past slots only the latest creates a run, so a server does
// not start many runs at once after an outage.
func (e *Engine) advance(
	ctx context.Context, s *scheduling.Schedule, now time.Time, grace time.Duration,
) (ok bool, err error) {
	slot, next, err := e.times.Slots(s, now)
	if err != nil {
		// Its expression was valid when it was stored. Its next slot is unknown now, and it would stay due forever.
		e.log.ErrorContext(ctx, "a schedule cannot be read any more and fires no more", "schedule", s.ID, "err", err)
		return e.skip(ctx, s, time.Time{}, "fires no more until it is saved again: "+records.Reason(err))
	}
	if now.Sub(slot) > grace {
		e.log.WarnContext(ctx, "a slot was missed", "schedule", s.ID, "slot", slot)
		return e.skip(ctx, s, next, Missed)
	}
	reason, err := e.overlap(ctx, s)
	if err != nil {
		return false, err
	}
	if reason != "" {
		e.log.InfoContext(ctx, "a slot was missed", "schedule", s.ID, "slot", slot, "reason", reason)
		return e.skip(ctx, s, next, reason)
	}
	if !e.place(ctx) {
		return false, ctx.Err()
	}
	// Work with this context ends before the lease of the slot, which begins later.
	leased, cancel := context.WithTimeout(ctx, e.set.LeaseTime)
	ok, err = e.slots.Advance(leased, s.ID, s.NextRunAt, next, slot, e.set.LeaseTime)
	if err != nil || !ok {
		cancel()
		e.leave()
		return false, err
	}
	e.start(leased, cancel, &scheduling.Firing{Schedule: *s, Slot: slot}, false)
	return true, nil
}

func (e *Engine) skip(ctx context.Context, s *scheduling.Schedule, next time.Time, reason string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return e.slots.Skip(ctx, s.ID, s.NextRunAt, next, reason)
}

// retake takes over slots with an expired lease, as many as there are free places.
func (e *Engine) retake(ctx context.Context) {
	free := cap(e.places) - len(e.places) // only the loop takes places
	if free == 0 || ctx.Err() != nil || e.now.IsZero() {
		return
	}
	leased, cancel := context.WithTimeout(ctx, e.set.LeaseTime)
	defer cancel()
	list, err := e.slots.Abandoned(leased, e.set.LeaseTime, free)
	if err != nil {
		if ctx.Err() == nil {
			e.log.ErrorContext(ctx, "abandoned slots were not read; it is tried again", "err", err)
		}
		return
	}
	for i := range list {
		if !e.place(ctx) {
			return
		}
		// A slot is taken over one lease and one poll after it was booked. A much older one was leased while no server
		// ran and counts as missed; after a day its idempotency key would be deleted as well.
		stale := e.now.Sub(list[i].Slot) > e.set.Catchup+e.set.LeaseTime+2*e.set.Poll
		one, done := context.WithTimeout(ctx, e.set.LeaseTime)
		e.start(one, done, &list[i], stale)
	}
}

// start creates the run of a slot in the place that was taken for it.
func (e *Engine) start(ctx context.Context, cancel context.CancelFunc, f *scheduling.Firing, stale bool) {
	e.work.Go(func() {
		defer e.leave()
		defer cancel()
		e.fire(ctx, f, stale)
	})
}
