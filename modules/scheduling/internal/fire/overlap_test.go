package fire

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/waittest"
)

// alone stores a schedule that skips what overlaps, with a due slot.
func (b *bundle) alone(expr string, slot time.Time) scheduling.Schedule {
	b.t.Helper()
	s := b.add(expr, slot)
	s.Overlap = scheduling.OverlapSkip
	b.update(s)
	return b.get(s.ID)
}

// again makes a slot of a schedule due, and books what is due.
func (b *bundle) again(id string, slot time.Time) {
	b.t.Helper()
	s := b.get(id)
	s.Cron, s.NextRunAt = once(slot), slot
	b.update(s)
	b.all()
}

// TestOverlapSkip: while the last run of a schedule is unfinished its slots are missed, with the reason, and the last
// run stays that one.
func TestOverlapSkip(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		now := b.storeTime().Truncate(time.Minute)
		first := now.Add(-4 * time.Minute)
		s := b.alone(once(first), first)
		b.all()
		run := b.get(s.ID).LastRunID
		b.last(s.ID, first, run, "")
		for i, status := range []runs.Status{runs.PendingApproval, runs.Pending, runs.Running} {
			b.maker.becomes(run, status, nil)
			b.again(s.ID, first.Add(time.Duration(i+1)*time.Minute))
			b.last(s.ID, first, run, "missed: the last run, "+run+", is not finished ("+string(status)+")")
			if next := b.get(s.ID).NextRunAt; next.Sub(now) < 360*24*time.Hour {
				t.Errorf("the next slot is %s", next)
			}
		}
		if n := b.maker.count() + b.open(); n != 1 {
			t.Errorf("%d runs and open slots", n)
		}
		for i, end := range []error{nil, runs.RunNotFound.New("deleted")} {
			b.maker.becomes(run, runs.Failed, end)
			slot := now.Add(-time.Duration(i) * time.Second)
			b.again(s.ID, slot)
			if got := b.get(s.ID); b.maker.count() != i+2 || got.LastError != "" {
				t.Errorf("after the end: %d runs, %+v", b.maker.count(), got)
			}
			b.maker.becomes(run, runs.Failed, nil)
			run = b.get(s.ID).LastRunID
		}
	})
}

// TestOverlapAllowed: the other schedules do not look for their last runs.
func TestOverlapAllowed(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		now := b.storeTime().Truncate(time.Minute)
		b.maker.becomes("", "", errors.New("nobody asks"))
		for i, overlap := range []scheduling.Overlap{scheduling.OverlapAllow, scheduling.OverlapQueue} {
			s := b.add(once(now.Add(-time.Minute)), now.Add(-time.Minute))
			s.Overlap = overlap
			b.update(s)
			b.all()
			b.again(s.ID, now)
			if n := b.maker.count(); n != 2*(i+1) {
				t.Errorf("%s: %d runs", overlap, n)
			}
		}
	})
}

// TestOverlapUnknown: a slot is missed while it is not known what became of the one before, as after the crash of a
// server between the run and its record. The server that takes the slot over finds that run and makes no other one.
func TestOverlapUnknown(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		now := b.storeTime().Truncate(time.Minute)
		first := now.Add(-time.Minute)
		s := b.alone(once(first), first)
		if ok, err := b.store.Advance(t.Context(), s.ID, first, now, first, time.Minute); !ok || err != nil {
			t.Fatal(ok, err)
		}
		run := b.maker.make(&scheduling.Firing{Schedule: s, Slot: first}) // and then the server crashed
		b.again(s.ID, now)
		if got := b.get(s.ID); !strings.Contains(got.LastError, "the slot of "+first.UTC().Format(time.RFC3339)) ||
			got.LastRunID != "" || b.maker.count() != 1 {
			t.Errorf("%d runs, %+v", b.maker.count(), got)
		}
		b.expire()
		b.retake(t.Context())
		b.work.Wait()
		b.last(s.ID, first, run, "")
		b.again(s.ID, now.Add(-time.Second))
		if got := b.get(s.ID); b.maker.count() != 1 || !strings.Contains(got.LastError, run) {
			t.Errorf("%d runs, %+v", b.maker.count(), got)
		}
	})
}

// TestOverlapIsNotKnown: while runs cannot be read nothing is booked, and the slot is not lost.
func TestOverlapIsNotKnown(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		now := b.storeTime().Truncate(time.Minute)
		s := b.alone(once(now.Add(-time.Minute)), now.Add(-time.Minute))
		b.all()
		run := b.get(s.ID).LastRunID
		b.maker.becomes(run, runs.Succeeded, fault.Wrap(fault.Unavailable, errors.New("down"), "the database is down"))
		b.again(s.ID, now)
		if got := b.get(s.ID); !got.NextRunAt.Equal(now) || got.LastError != "" || b.maker.count() != 1 {
			t.Errorf("%d runs, %+v", b.maker.count(), got)
		}
		b.maker.becomes(run, runs.Succeeded, nil)
		b.all()
		if n := b.maker.count(); n != 2 {
			t.Errorf("%d runs", n)
		}
	})
}

// TestOverlapServers: several servers fire a schedule each second whose runs end now and then. No run begins while
// another one of the schedule is unfinished.
func TestOverlapServers(t *testing.T) {
	t.Parallel()
	url := dbtest.Fresh(t, db.Postgres, migrations.FS)
	recorder := newLedger()
	set := usual
	set.Poll = 500 * time.Millisecond
	var all []*bundle
	for range 3 {
		b := setup(t, dbtest.Connect(t, db.Config{URL: url, UnitTimeout: time.Minute}), set, seconds{}, recorder)
		b.maker.first = func(_ context.Context, f *scheduling.Firing) error {
			if last := recorder.unfinished(); last != "" {
				t.Errorf("the slot %s fires while %s is unfinished", f.Slot, last)
			}
			return nil
		}
		all = append(all, b)
	}
	s := all[0].alone("@hourly", all[0].storeTime().Truncate(time.Second))
	for _, b := range all {
		b.Start()
	}
	for n := 1; n <= 3; n++ {
		waittest.Eventually(t, 2*time.Minute, "a run", func() bool { return recorder.count() == n })
		waittest.Eventually(t, 2*time.Minute, "a slot is missed", func() bool {
			return strings.Contains(all[0].get(s.ID).LastError, recorder.unfinished())
		})
		recorder.becomes(recorder.unfinished(), runs.Succeeded, nil)
	}
	for _, b := range all {
		b.Stop()
	}
}

// unfinished returns the run that has not ended.
func (l *ledger) unfinished() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.runs {
		if l.status[id] == "" {
			return id
		}
	}
	return ""
}
