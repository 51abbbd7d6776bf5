package fire

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Keeps F25.
func TestCatchup(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		now := b.storeTime().Truncate(time.Minute)
		inside, outside := now.Add(-3*time.Minute), now.Add(-10*time.Minute)
		late, missed, many := b.add(once(inside), inside), b.add(once(outside), outside),
			b.add("* * * * *", now.AddDate(0, -1, 0))
		b.all()
		b.last(late.ID, inside, b.maker.runs[key(late.ID, inside)], "")
		b.last(missed.ID, time.Time{}, "", Missed)
		for _, s := range []scheduling.Schedule{late, missed} {
			if next := b.get(s.ID).NextRunAt; next.Sub(now) < 360*24*time.Hour {
				t.Errorf("the next slot is %s", next)
			}
		}
		got := b.get(many.ID)
		if age := b.storeTime().Sub(got.LastRunAt); age < 0 || age > 2*time.Minute || got.LastRunID == "" ||
			!got.NextRunAt.After(got.LastRunAt) {
			t.Errorf("of many the latest is %s, the next %s", got.LastRunAt, got.NextRunAt)
		}
		if n := b.maker.count(); n < 2 || n > 3 { // one more if a minute began meanwhile
			t.Errorf("%d runs", n)
		}
		if n := b.open(); n != 0 {
			t.Errorf("%d slots are open", n)
		}
	})
}

func key(id string, slot time.Time) string {
	f := scheduling.Firing{Slot: slot}
	f.Schedule.ID = id
	return f.Key()
}

func TestDisabledAndDeleted(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		slot := b.storeTime().Truncate(time.Minute)
		off, gone := b.add(once(slot), slot), b.add(once(slot), slot)
		// They become due, and change before they are booked.
		due, now, _, err := b.store.Due(t.Context(), 9)
		if err != nil || len(due) != 2 {
			t.Fatal(len(due), err)
		}
		changed := off
		changed.Enabled, changed.NextRunAt = false, time.Time{}
		b.update(changed)
		b.remove(gone.ID)
		for i := range due {
			if ok, err := b.advance(t.Context(), &due[i], now, time.Minute); ok || err != nil {
				t.Errorf("%t, %v", ok, err)
			}
		}
		// They are booked, and change before they fire.
		off, gone = b.add(once(slot), slot), b.add(once(slot), slot)
		b.maker.first = func(ctx context.Context, f *scheduling.Firing) error { return errors.New("nobody fires") }
		for _, s := range []scheduling.Schedule{off, gone} {
			if ok, err := b.store.Advance(t.Context(), s.ID, slot, slot.Add(time.Hour), slot, -time.Second); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		changed = off
		changed.Enabled, changed.NextRunAt = false, time.Time{}
		b.update(changed)
		list, err := b.store.Abandoned(t.Context(), time.Minute, 9)
		if err != nil || len(list) != 2 {
			t.Fatal(len(list), err)
		}
		b.remove(gone.ID)
		for i := range list {
			b.fire(t.Context(), &list[i], false)
		}
		b.last(off.ID, slot, "", disabled)
		b.all()
		if n := b.open() + b.maker.count(); n != 0 {
			t.Errorf("%d slots are open or made runs", n)
		}
	})
}

func TestRefusals(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		slot := b.storeTime().Truncate(time.Minute)
		for _, c := range []struct {
			err  error
			want string
		}{
			{fault.BadField("answers.n", "is too large"), "answers.n: is too large"},
			{scheduling.NotAllowed.New("the account that owns it is gone"), "the account that owns it is gone"},
			{fault.Wrap(fault.Conflict, errors.New("a cause"), "two\nlines\x00"), "two lines "},
			{scheduling.NotAllowed.New("%s", strings.Repeat("ä", 600)), strings.Repeat("ä", 500)},
			{errors.New("postgres://user:secret@host"), "an internal error, which the server's log names"},
		} {
			s := b.add(once(slot), slot)
			b.maker.first = func(context.Context, *scheduling.Firing) error { return c.err }
			b.all()
			b.last(s.ID, slot, "", c.want)
		}
		if n := b.open() + b.maker.count(); n != 0 {
			t.Errorf("%d slots are open or made runs", n)
		}
		s := b.add("no expression", slot)
		b.all()
		if got := b.get(s.ID); !got.NextRunAt.IsZero() ||
			!strings.HasPrefix(got.LastError, "fires no more until it is saved again: cron: ") {
			t.Errorf("%s, %q", got.NextRunAt, got.LastError)
		}
	})
}

// TestUnavailable: the submitter is unavailable for a short time, and for longer than the lease.
func TestUnavailable(t *testing.T) {
	set := usual
	set.LeaseTime = 5 * time.Second
	eachEngine(t, set, func(t *testing.T, b *bundle) {
		slot := b.storeTime().Truncate(time.Minute)
		var calls atomic.Int64
		away := fault.Wrap(fault.Unavailable, errors.New("down"), "the database does not answer")
		b.maker.first = func(context.Context, *scheduling.Firing) error {
			if calls.Add(1) <= 2 {
				return away
			}
			return nil
		}
		s := b.add(once(slot), slot)
		b.all()
		b.last(s.ID, slot, b.maker.runs[key(s.ID, slot)], "")
		if calls.Load() != 3 || b.maker.count() != 1 {
			t.Errorf("%d attempts, %d runs", calls.Load(), b.maker.count())
		}
		b.set.LeaseTime = time.Second
		b.maker.first = func(context.Context, *scheduling.Firing) error { return away }
		s = b.add(once(slot), slot)
		b.all()
		b.last(s.ID, time.Time{}, "", "")
		if n := b.open(); n != 1 {
			t.Fatalf("%d slots are open", n)
		}
		b.expire()
		other := setup(t, b.d, usual, nil, b.maker.ledger)
		other.all()
		other.retake(t.Context())
		other.work.Wait()
		b.last(s.ID, slot, b.maker.runs[key(s.ID, slot)], "")
		if b.maker.count() != 2 || b.open() != 0 {
			t.Errorf("%d runs, %d open slots", b.maker.count(), b.open())
		}
	})
}

// TestStaleSlot takes over a slot that was leased while no server ran for long.
func TestStaleSlot(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		slot := b.storeTime().Truncate(time.Minute).Add(-2 * time.Hour)
		s := b.add(once(slot), slot)
		if ok, err := b.store.Advance(t.Context(), s.ID, slot, time.Time{}, slot, -time.Second); !ok || err != nil {
			t.Fatal(ok, err)
		}
		b.retake(t.Context()) // nothing before the first read of the store's time
		b.all()
		b.last(s.ID, time.Time{}, "", "")
		b.retake(t.Context())
		b.work.Wait()
		b.last(s.ID, slot, "", lost)
		if n := b.open() + b.maker.count(); n != 0 {
			t.Errorf("%d slots are open or made runs", n)
		}
	})
}

// TestChangedWhileItWaited books a slot with a schedule as read before a change: the run has the stored target.
func TestChangedWhileItWaited(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		slot := b.storeTime().Truncate(time.Minute)
		s := b.add(once(slot), slot)
		changed := s
		changed.Owner, changed.Target.TemplateID = "usr_2", "tpl_2"
		b.update(changed)
		var got scheduling.Schedule
		b.maker.first = func(_ context.Context, f *scheduling.Firing) error { got = f.Schedule; return nil }
		if ok, err := b.advance(t.Context(), &s, b.storeTime(), time.Hour); !ok || err != nil {
			t.Fatal(ok, err)
		}
		b.work.Wait()
		if got.Owner != "usr_2" || got.Target.TemplateID != "tpl_2" {
			t.Errorf("it fired %+v", got)
		}
	})
}

// TestFullPool: slots wait for a place far longer than the catch-up.
func TestFullPool(t *testing.T) {
	set := usual
	set.Pool, set.Catchup = 1, time.Minute
	eachEngine(t, set, func(t *testing.T, b *bundle) {
		slot := b.storeTime().Truncate(time.Minute)
		release := make(chan struct{})
		b.maker.first = func(ctx context.Context, _ *scheduling.Firing) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for range 3 {
			b.add(once(slot), slot)
		}
		b.clock = &leap{now: slot}
		done := make(chan struct{})
		go func() { defer close(done); b.pass(t.Context()) }()
		for range 3 {
			release <- struct{}{}
		}
		<-done
		b.work.Wait()
		if n := b.maker.count(); n != 3 || b.open() != 0 {
			t.Errorf("%d runs, %d open slots", n, b.open())
		}
		// A schedule that became due while the loop waited is not missed, however late the loop reads it.
		b.waited = time.Hour
		late := slot.Add(-30 * time.Minute)
		s := b.add(once(late), late)
		go func() { release <- struct{}{} }()
		b.pass(t.Context())
		b.work.Wait()
		b.last(s.ID, late, b.maker.runs[key(s.ID, late)], "")
		if b.waited != 0 {
			t.Errorf("%s are still forgiven", b.waited)
		}
	})
}

// leap is a clock that advances by a second at each reading.
type leap struct{ now time.Time }

func (l *leap) Now() time.Time { l.now = l.now.Add(time.Second); return l.now }
