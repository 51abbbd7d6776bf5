package schedule

import (
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/cron"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Times computes slots. Local is the zone of schedules without one.
type Times struct{ Local *time.Location }

// Check returns an expression without surrounding space. Invalid faults name cron or timezone.
func (t Times) Check(expr, timezone string) (string, error) {
	e, err := cron.Parse(expr, timezone, t.Local)
	if err != nil {
		return "", err
	}
	return e.String(), nil
}

// First returns the first slot of a schedule after a time, zero if it is disabled. An expression that never fires is
// an Invalid fault that names cron.
func (t Times) First(s *scheduling.Schedule, now time.Time) (time.Time, error) {
	e, err := cron.Parse(s.Cron, s.Timezone, t.Local)
	if err != nil {
		return time.Time{}, err
	}
	next, ok := e.Next(now)
	switch {
	case !ok:
		return time.Time{}, fault.BadField("cron", "never fires")
	case !s.Enabled:
		return time.Time{}, nil
	default:
		return next, nil
	}
}

// Slots returns the latest slot of a due schedule, which is not after now, and the first one after now, zero if it
// fires no more. Its cost does not depend on the number of past slots.
func (t Times) Slots(s *scheduling.Schedule, now time.Time) (latest, next time.Time, err error) {
	e, err := cron.Parse(s.Cron, s.Timezone, t.Local)
	if err != nil {
		return time.Time{}, time.Time{}, err
	}
	latest = s.NextRunAt
	next, more := e.Next(latest)
	if more && !next.After(now) {
		latest = last(e, next, now)
		next, more = e.Next(now)
	}
	if !more {
		next = time.Time{}
	}
	return latest, next, nil
}

// last returns the latest slot not after now by bisection, given a first one.
func last(e *cron.Expr, first, now time.Time) time.Time {
	found, empty := first, now // no slot is after empty and up to now
	for empty.Sub(found) > time.Second {
		middle := found.Add(empty.Sub(found) / 2)
		if at, ok := e.Next(middle); ok && !at.After(now) {
			found = at
		} else {
			empty = middle
		}
	}
	if at, ok := e.Next(found); ok && !at.After(now) {
		return at
	}
	return found
}
