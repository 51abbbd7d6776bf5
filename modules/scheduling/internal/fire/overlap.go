package fire

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Runs returns the records of runs. Errors: RunNotFound of package runs.
type Runs interface {
	Get(ctx context.Context, id string) (*runs.Run, error)
}

// overlap returns why a schedule makes no run of its due slot: a slot before has no result yet, or the last run is
// unfinished. It returns "" if nothing is in the way. This stays true until the slot is booked: only a booking leads to
// another run, and of the bookings of one slot a single one succeeds.
func (e *Engine) overlap(ctx context.Context, s *scheduling.Schedule) (string, error) {
	if s.Overlap != scheduling.OverlapSkip {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	slot, err := e.slots.Unsettled(ctx, s.ID)
	switch {
	case err != nil:
		return "", err
	case !slot.IsZero():
		return "missed: what became of the slot of " + slot.UTC().Format(time.RFC3339) + " is not known yet", nil
	}
	// The schedule is read after its slots, so that it names the run of the last one.
	now, err := e.schedules.ScheduleByID(ctx, s.ID)
	if scheduling.ScheduleNotFound.Is(err) || err == nil && now.LastRunID == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	run, err := e.runs.Get(ctx, now.LastRunID)
	switch {
	case runs.RunNotFound.Is(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for the last run of a schedule: %w", err)
	case run.Status.Terminal():
		return "", nil
	}
	return fmt.Sprintf("missed: the last run, %s, is not finished (%s)", run.ID, run.Status), nil
}
