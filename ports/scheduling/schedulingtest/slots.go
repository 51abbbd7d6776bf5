package schedulingtest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/scheduling"
)

func slotCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"what is due":                slotDue,
		"nothing is due":             slotNext,
		"advance":                    slotAdvance,
		"a slot that exists":         slotTwice,
		"skip":                       slotSkip,
		"abandoned slots":            slotAbandoned,
		"slots without a result":     slotUnsettled,
		"what becomes of a slot":     slotSettle,
		"an earlier slot settles":    slotEarlier,
		"a run stays":                slotRunStays,
		"a schedule is gone":         slotGone,
		"old slots":                  slotForget,
		"slots join the unit of ctx": slotJoins,
	}
}

// minute is the n-th minute after a full one.
func minute(n int) time.Time {
	return epoch.Truncate(time.Minute).Add(time.Duration(n) * time.Minute)
}

func next(at time.Time) func(*scheduling.Schedule) {
	return func(s *scheduling.Schedule) { s.NextRunAt = at }
}

func (e *env) due(t *testing.T, limit int) (found []string, now, next time.Time) {
	t.Helper()
	list, now, next, err := e.Slots.Due(t.Context(), limit)
	if err != nil {
		t.Fatalf("look for what is due: %v", err)
	}
	found = []string{}
	for _, s := range list {
		found = append(found, s.ID)
	}
	return found, now, next
}

// advance books a slot, or skips it if slot is zero.
func (e *env) advance(t *testing.T, id string, was, next, slot time.Time, d time.Duration, want bool) {
	t.Helper()
	ok, err := e.Slots.Advance(t.Context(), id, was, next, slot, d)
	if err != nil || ok != want {
		t.Fatalf("advance %s from %s: %t, %v, want %t", id, was, ok, err, want)
	}
}

func (e *env) settle(t *testing.T, id string, slot time.Time, run, reason string) {
	t.Helper()
	if err := e.Slots.Settle(t.Context(), id, slot, run, reason); err != nil {
		t.Fatalf("settle: %v", err)
	}
}

// abandoned returns the slots of Abandoned, as schedule and slot.
func (e *env) abandoned(t *testing.T, d time.Duration, limit int) []string {
	t.Helper()
	list, err := e.Slots.Abandoned(t.Context(), d, limit)
	if err != nil {
		t.Fatalf("look for abandoned slots: %v", err)
	}
	out := []string{}
	for _, f := range list {
		out = append(out, f.Key())
	}
	return out
}

func key(id string, slot time.Time) string {
	f := scheduling.Firing{Slot: slot}
	f.Schedule.ID = id
	return f.Key()
}

func slotDue(t *testing.T, e *env) {
	before := time.Now().Add(-time.Hour)
	late, early := e.add(t, next(minute(2))), e.add(t, next(minute(1)))
	e.add(t, next(minute(0)), func(s *scheduling.Schedule) { s.Enabled = false })
	e.add(t, next(time.Time{}))
	e.add(t, next(time.Now().Add(24*time.Hour)))
	got, now, nothing := e.due(t, 10)
	same(t, "due", []string{early.ID, late.ID}, got)
	if now.Before(before) || now.After(time.Now().Add(time.Hour)) || !nothing.IsZero() || now.Location() != time.UTC {
		t.Errorf("the store's time is %s, the next slot %s", now, nothing)
	}
	if got, _, _ := e.due(t, 1); len(got) != 1 || got[0] != early.ID {
		t.Errorf("of one: %q", got)
	}
	before, err := e.Slots.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, now, _, err := e.Slots.Due(t.Context(), 1)
	if after, late := e.Slots.Now(t.Context()); late != nil || now.Before(before) || after.Before(now) {
		t.Errorf("the time goes from %v over %v to %v, %v", before, now, after, late)
	}
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the whole record", []scheduling.Schedule{early}, list)
}

func slotNext(t *testing.T, e *env) {
	if got, now, next := e.due(t, 10); len(got) != 0 || now.IsZero() || !next.IsZero() {
		t.Errorf("an empty store: %q, %s, %s", got, now, next)
	}
	first := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Minute)
	e.add(t, next(first.Add(time.Hour)))
	e.add(t, next(first))
	e.add(t, next(first.Add(-time.Hour)), func(s *scheduling.Schedule) { s.Enabled = false })
	if got, _, next := e.due(t, 10); len(got) != 0 || !next.Equal(first) {
		t.Errorf("%q, the next at %s, want %s", got, next, first)
	}
}

func slotAdvance(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	e.advance(t, s.ID, minute(0), minute(2), minute(1), leaseTime, false)
	e.advance(t, "sch_none", minute(1), minute(2), minute(1), leaseTime, false)
	e.advance(t, s.ID, time.Time{}, minute(2), minute(1), leaseTime, false)
	e.advance(t, s.ID, minute(1), minute(5), minute(3), leaseTime, true)
	e.advance(t, s.ID, minute(1), minute(9), minute(1), leaseTime, false)
	want := s
	want.NextRunAt = minute(5)
	same(t, "afterwards", want, e.get(t, s.ID))
	e.advance(t, s.ID, minute(5), minute(6), time.Time{}, leaseTime, true)
	e.advance(t, s.ID, minute(6), time.Time{}, minute(6), leaseTime, true)
	if got := e.get(t, s.ID); !got.NextRunAt.IsZero() {
		t.Errorf("it fires again at %s", got.NextRunAt)
	}
	off := e.add(t, next(minute(1)), func(s *scheduling.Schedule) { s.Enabled = false })
	e.advance(t, off.ID, minute(1), minute(2), minute(1), leaseTime, false)
}

// slotTwice books a slot again, as a change of the schedule may do: no server gets it twice, and the schedule does not
// stay due.
func slotTwice(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	e.advance(t, s.ID, minute(1), minute(2), minute(1), leaseTime, true)
	e.must(t, func(ctx context.Context) error {
		_, err := e.Schedules.UpdateSchedule(ctx, s, 0)
		return err
	})
	e.advance(t, s.ID, minute(1), minute(2), minute(1), leaseTime, false)
	if got := e.get(t, s.ID); !got.NextRunAt.Equal(minute(2)) {
		t.Errorf("the next slot is %s", got.NextRunAt)
	}
}

func slotSkip(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	for _, c := range []struct {
		was  time.Time
		want bool
	}{{minute(0), false}, {minute(1), true}, {minute(1), false}} {
		if ok, err := e.Slots.Skip(t.Context(), s.ID, c.was, minute(9), hard); ok != c.want || err != nil {
			t.Errorf("skip from %s: %t, %v", c.was, ok, err)
		}
	}
	want := s
	want.NextRunAt, want.LastError = minute(9), hard
	same(t, "afterwards", want, e.get(t, s.ID))
	same(t, "slots", []string{}, e.abandoned(t, leaseTime, 9))
}

func slotAbandoned(t *testing.T, e *env) {
	a, b := e.add(t, next(minute(1))), e.add(t, next(minute(1)))
	e.advance(t, a.ID, minute(1), minute(2), minute(1), 2*gone, true)
	e.advance(t, b.ID, minute(1), minute(2), minute(1), gone, true)
	e.advance(t, a.ID, minute(2), minute(3), minute(2), leaseTime, true)
	e.advance(t, b.ID, minute(2), minute(3), minute(2), gone, true)
	e.settle(t, b.ID, minute(2), "", "why")
	same(t, "one of them", []string{key(a.ID, minute(1))}, e.abandoned(t, leaseTime, 1))
	list, err := e.Slots.Abandoned(t.Context(), leaseTime, 9)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d, %v", len(list), err)
	}
	same(t, "the other one, with the schedule as it is", scheduling.Firing{Schedule: e.get(t, b.ID), Slot: minute(1)},
		list[0])
	same(t, "within the hold", []string{}, e.abandoned(t, leaseTime, 9))
}

// slotUnsettled: a slot counts from its booking to its result, whoever holds it.
func slotUnsettled(t *testing.T, e *env) {
	s, other := e.add(t, next(minute(1))), e.add(t, next(minute(1)))
	oldest := func(what string, id string, want time.Time) {
		t.Helper()
		if got, err := e.Slots.Unsettled(t.Context(), id); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v, want %s", what, got, err, want)
		}
	}
	oldest("one that never fired", s.ID, time.Time{})
	oldest("an unknown one", "sch_none", time.Time{})
	e.advance(t, s.ID, minute(1), minute(2), minute(1), gone, true)
	oldest("an expired lease", s.ID, minute(1))
	e.advance(t, s.ID, minute(2), minute(3), minute(2), leaseTime, true)
	oldest("two", s.ID, minute(1))
	oldest("of another schedule", other.ID, time.Time{})
	e.settle(t, s.ID, minute(1), "", "why")
	oldest("a reason", s.ID, minute(2))
	e.settle(t, s.ID, minute(2), "run_1", "")
	oldest("a run", s.ID, time.Time{})
	if ok, err := e.Slots.Skip(t.Context(), s.ID, minute(3), minute(4), "why"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	oldest("one that was skipped", s.ID, time.Time{})
	err := e.do(t, func(ctx context.Context) error {
		if _, err := e.Slots.Advance(ctx, s.ID, minute(4), minute(5), minute(4), gone); err != nil {
			return err
		}
		if got, err := e.Slots.Unsettled(ctx, s.ID); err != nil || !got.Equal(minute(4)) {
			t.Errorf("in the unit: %s, %v", got, err)
		}
		return context.Canceled
	})
	if err == nil {
		t.Fatal("the unit committed")
	}
	oldest("after a unit that failed", s.ID, time.Time{})
}

func slotSettle(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	e.advance(t, s.ID, minute(1), minute(2), minute(1), gone, true)
	e.settle(t, s.ID, minute(1), "run_1", "")
	want := s
	want.NextRunAt, want.LastRunAt, want.LastRunID = minute(2), minute(1), "run_1"
	same(t, "a run", want, e.get(t, s.ID))
	e.advance(t, s.ID, minute(2), minute(3), minute(2), gone, true)
	e.settle(t, s.ID, minute(2), "", hard)
	want.NextRunAt, want.LastRunAt, want.LastRunID, want.LastError = minute(3), minute(2), "", hard
	same(t, "a reason", want, e.get(t, s.ID))
	same(t, "abandoned", []string{}, e.abandoned(t, leaseTime, 9))
	e.settle(t, s.ID, minute(8), "run_8", "")
	e.settle(t, "sch_none", minute(1), "run_8", "")
	same(t, "a slot that never was", want, e.get(t, s.ID))
}

func slotEarlier(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	e.advance(t, s.ID, minute(1), minute(2), minute(1), gone, true)
	e.advance(t, s.ID, minute(2), minute(3), minute(2), gone, true)
	e.settle(t, s.ID, minute(2), "run_2", "")
	e.settle(t, s.ID, minute(1), "", "late")
	if got := e.get(t, s.ID); !got.LastRunAt.Equal(minute(2)) || got.LastRunID != "run_2" || got.LastError != "" {
		t.Errorf("the last is %s, %s, %q", got.LastRunAt, got.LastRunID, got.LastError)
	}
	same(t, "abandoned", []string{}, e.abandoned(t, leaseTime, 9))
}

// slotRunStays: a server that lost the slot records its reason after the next holder made a run; the run stays.
func slotRunStays(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	e.advance(t, s.ID, minute(1), minute(2), minute(1), gone, true)
	e.settle(t, s.ID, minute(1), "", "no run")
	e.settle(t, s.ID, minute(1), "run_1", "")
	e.settle(t, s.ID, minute(1), "", "no run")
	if got := e.get(t, s.ID); got.LastRunID != "run_1" || got.LastError != "" {
		t.Errorf("the last is %s, %q", got.LastRunID, got.LastError)
	}
}

func slotGone(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	e.advance(t, s.ID, minute(1), minute(2), minute(1), gone, true)
	e.must(t, func(ctx context.Context) error { return e.Schedules.DeleteSchedule(ctx, s.ID, 0) })
	same(t, "abandoned", []string{}, e.abandoned(t, leaseTime, 9))
	e.settle(t, s.ID, minute(1), "run_1", "")
	e.advance(t, s.ID, minute(2), minute(3), minute(2), leaseTime, false)
}

func slotForget(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	e.advance(t, s.ID, minute(1), minute(2), minute(1), gone, true)
	e.advance(t, s.ID, minute(2), minute(1), minute(2), gone, true)
	e.settle(t, s.ID, minute(1), "run_1", "")
	forget := func(age time.Duration) {
		t.Helper()
		if err := e.Slots.ForgetSlots(t.Context(), age); err != nil {
			t.Fatal(err)
		}
	}
	forget(time.Hour)
	e.advance(t, s.ID, minute(1), minute(2), minute(1), gone, false)
	forget(-time.Minute)
	same(t, "one that is open stays", []string{key(s.ID, minute(2))}, e.abandoned(t, gone, 9))
	e.advance(t, s.ID, minute(2), minute(1), time.Time{}, gone, true)
	e.advance(t, s.ID, minute(1), minute(3), minute(1), gone, true)
}

func slotJoins(t *testing.T, e *env) {
	s := e.add(t, next(minute(1)))
	err := e.do(t, func(ctx context.Context) error {
		if ok, err := e.Slots.Advance(ctx, s.ID, minute(1), minute(2), minute(1), gone); !ok || err != nil {
			t.Errorf("advance: %t, %v", ok, err)
		}
		list, err := e.Slots.Abandoned(ctx, leaseTime, 9)
		if len(list) != 1 || err != nil {
			t.Errorf("abandoned: %d, %v", len(list), err)
		}
		return context.Canceled
	})
	if err == nil {
		t.Fatal("the unit committed")
	}
	same(t, "afterwards", s, e.get(t, s.ID))
	same(t, "abandoned", []string{}, e.abandoned(t, leaseTime, 9))
}
