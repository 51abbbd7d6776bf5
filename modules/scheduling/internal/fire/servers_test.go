package fire

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/scheduling/internal/schedule"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/scheduling"
)

// seconds fires every second.
type seconds struct{}

func (seconds) Slots(_ *scheduling.Schedule, now time.Time) (latest, next time.Time, err error) {
	latest = now.Truncate(time.Second)
	return latest, latest.Add(time.Second), nil
}

// TestServers: four servers fire schedules each second for a while. One of them is paused between booking a slot and
// creating its run until another one has taken the slot over and created it. The clocks of the servers are hours apart
// and step; the database's clock decides.
// Keeps F14, F24.
func TestServers(t *testing.T) {
	t.Parallel()
	const servers = 4
	schedules, rounds := depthtest.Of(5, 20), depthtest.Of(3, 12)
	url := dbtest.Fresh(t, db.Postgres, migrations.FS)
	recorder := newLedger()
	// The lease is longer than a slow machine needs for a run, and shorter than the test.
	set := Settings{Topic: schedule.Topic, Catchup: time.Minute, LeaseTime: 3 * time.Second, Poll: 500 * time.Millisecond,
		Pool: 8}
	var all []*bundle
	for i := range servers {
		b := setup(t, dbtest.Connect(t, db.Config{URL: url, UnitTimeout: time.Minute}), set, seconds{}, recorder)
		b.clock = &stepping{by: time.Duration(i-2) * 7 * time.Hour}
		all = append(all, b)
	}
	var paused atomic.Bool
	taken := make(chan struct{})
	resumed := make(chan struct{})
	all[0].maker.first = func(_ context.Context, f *scheduling.Firing) error {
		if !paused.CompareAndSwap(false, true) {
			return nil
		}
		defer close(resumed)
		// A stopped process does not observe its timeout.
		for recorder.made(f.Key()) == "" {
			<-taken
		}
		return nil
	}
	slot := all[0].storeTime().Truncate(time.Second)
	for range schedules {
		all[0].add("@hourly", slot)
	}
	for _, b := range all {
		b.Start()
	}
	limit := time.After(2 * time.Minute)
	for n := 0; n < schedules*rounds; {
		select {
		case <-recorder.seen:
			n++
			select {
			case taken <- struct{}{}:
			default:
			}
		case <-limit:
			t.Fatalf("%d runs", recorder.count())
		}
	}
	for woken := false; !woken; {
		select {
		case <-resumed:
			woken = true
		case <-recorder.seen:
			select {
			case taken <- struct{}{}:
			default:
			}
		case <-limit:
			t.Fatal("nobody took the slot of the paused server over")
		}
	}
	for _, b := range all {
		b.Stop()
	}
	check(t, all[0], recorder)
}

// stepping is a clock that is some hours wrong and steps by as much, forth and back, at every second reading.
type stepping struct {
	by    time.Duration
	looks atomic.Int64
}

func (c *stepping) Now() time.Time {
	if c.looks.Add(1)%2 == 0 {
		return time.Now().Add(-c.by)
	}
	return time.Now().Add(c.by)
}

// check compares the stored slots with the created runs: one run for every slot, and no other run.
func check(t *testing.T, b *bundle, recorder *ledger) {
	t.Helper()
	b.expire()
	b.all()
	b.retake(t.Context())
	b.work.Wait()
	rows, err := b.d.Read(t.Context()).QueryContext(t.Context(),
		"SELECT schedule_id, slot, run_id FROM schedule_slots WHERE settled_at IS NOT NULL")
	if err != nil {
		t.Fatal(err)
	}
	stored, again := 0, 0
	for rows.Next() {
		var id, run string
		var slot db.Time
		if err := rows.Scan(&id, &slot, &run); err != nil {
			t.Fatal(err)
		}
		stored++
		if made := recorder.made(key(id, slot.Time)); run == "" || made != run {
			t.Errorf("the slot %s has the run %q, %q was made", key(id, slot.Time), run, made)
		}
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range recorder.asked {
		if n > 1 {
			again++
		}
	}
	if stored != recorder.count() || again == 0 {
		t.Errorf("%d slots, %d runs, %d asked for more than once", stored, recorder.count(), again)
	}
	t.Logf("%d slots, %d asked for more than once", stored, again)
}

func (l *ledger) made(key string) string { l.mu.Lock(); defer l.mu.Unlock(); return l.runs[key] }

// TestStop stops a server while it creates a run: the next one creates it.
func TestStop(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		slot := b.storeTime().Truncate(time.Minute)
		begun := make(chan struct{})
		b.maker.first = func(ctx context.Context, _ *scheduling.Firing) error {
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		}
		s := b.add(once(slot), slot)
		b.Start()
		b.Start()
		<-begun
		b.Stop()
		b.Stop()
		if n := b.open(); n != 1 || b.maker.count() != 0 {
			t.Fatalf("%d open slots, %d runs", n, b.maker.count())
		}
		b.expire()
		b.maker.first = nil
		b.Start()
		<-b.maker.seen
		b.Stop()
		b.last(s.ID, slot, "run_1", "")
	})
}

// TestStoppedAfterTheRun stops a server as soon as its run is created: the result of the slot is recorded
// nevertheless.
func TestStoppedAfterTheRun(t *testing.T) {
	eachEngine(t, usual, func(t *testing.T, b *bundle) {
		slot := b.storeTime().Truncate(time.Minute)
		s := b.add(once(slot), slot)
		ctx, cancel := context.WithCancel(t.Context())
		b.maker.first = func(context.Context, *scheduling.Firing) error { cancel(); return nil }
		b.pass(ctx)
		b.work.Wait()
		b.last(s.ID, slot, "run_1", "")
	})
}

// TestWoken stores a schedule while the server sleeps.
func TestWoken(t *testing.T) {
	set := usual
	set.Poll = 10 * time.Minute
	eachEngine(t, set, func(t *testing.T, b *bundle) {
		b.Start()
		defer b.Stop()
		for range 3 {
			slot := b.storeTime().Truncate(time.Minute)
			s := b.add(once(slot), slot)
			// The server may start listening after the first signal.
			for woken := false; !woken; {
				if err := b.d.Signals().Signal(t.Context(), schedule.Topic, s.ID); err != nil {
					t.Fatal(err)
				}
				select {
				case <-b.maker.seen:
					woken = true
				case <-time.After(50 * time.Millisecond):
				}
			}
		}
	})
}

// TestSleepsUntilTheNextSlot has one server with a slot that is due in a moment.
func TestSleepsUntilTheNextSlot(t *testing.T) {
	set := usual
	set.Poll = 10 * time.Minute
	eachEngine(t, set, func(t *testing.T, b *bundle) {
		now := b.storeTime()
		s := b.add(once(now.Add(time.Hour)), now.Add(time.Second))
		if wait := b.pass(t.Context()); wait <= 0 || wait > time.Second {
			t.Errorf("it sleeps for %s", wait)
		}
		b.Start()
		defer b.Stop()
		if got := <-b.maker.seen; got != key(s.ID, now.Add(time.Second)) {
			t.Errorf("it fired %s", got)
		}
	})
}
