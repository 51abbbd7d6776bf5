package fire

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Settings of an Engine. All are required.
type Settings struct {
	Topic     string        // of the signal that a schedule was saved
	Catchup   time.Duration // a slot that is missed by more makes no run
	LeaseTime time.Duration // how long a slot is this server's, and so how long it tries
	Poll      time.Duration // how long it sleeps at most, and how often it looks for abandoned slots
	Pool      int           // how many runs are made at once
}

// Times computes slots: the latest one of a schedule that is due, which is not after now, and the first one after
// now, zero where it fires no more.
type Times interface {
	Slots(s *scheduling.Schedule, now time.Time) (latest, next time.Time, err error)
}

// Maker makes the run of a firing, the same one however often it is asked.
type Maker interface {
	Make(ctx context.Context, f *scheduling.Firing) (runID string, err error)
}

// Engine is one server's part. Stop waits for all that it has started.
type Engine struct {
	*background.Loop
	schedules scheduling.ScheduleStore
	slots     scheduling.SlotStore
	times     Times
	maker     Maker
	clock     clock.Clock
	log       *slog.Logger
	set       Settings

	places chan struct{} // one for each run that is being made
	// What the loop alone knows: the store's time when it looked last, and how long it waited for a place since it last
	// saw all that was due. A slot that came in that time was not missed.
	now    time.Time
	waited time.Duration
	looked time.Time     // when abandoned slots were looked for
	wait   time.Duration // until the next pass

	work sync.WaitGroup
}

// New makes an engine. When it is stopped, the runs that it makes are given up where they are not made yet; whoever
// takes their slots next makes them.
func New(
	schedules scheduling.ScheduleStore, slots scheduling.SlotStore, t Times, m Maker, sig events.Signals, c clock.Clock, log *slog.Logger, set Settings,
) *Engine {
	e := &Engine{
		schedules: schedules, slots: slots, times: t, maker: m, clock: c, log: log, set: set,
		places: make(chan struct{}, set.Pool),
	}
	e.Loop = &background.Loop{
		Name: "schedules", Pass: e.look, Next: func() time.Duration { return e.wait }, Last: e.work.Wait,
		Watch: func() (<-chan string, func()) {
			e.looked = time.Time{} // a start looks for abandoned slots
			return sig.Watch(set.Topic)
		},
	}
	return e
}

// look books what is due, and takes abandoned slots over where it is time to look for them.
func (e *Engine) look(ctx context.Context) error {
	e.wait = e.pass(ctx)
	if now := e.clock.Now(); now.Sub(e.looked) >= e.set.Poll || now.Before(e.looked) {
		e.looked = now
		e.retake(ctx)
	}
	e.wait = max(0, min(e.wait, e.looked.Add(e.set.Poll).Sub(e.clock.Now())))
	return nil
}

// place waits for a free place of the pool. It is false where ctx ends first.
func (e *Engine) place(ctx context.Context) bool {
	select {
	case e.places <- struct{}{}:
		return true
	default:
	}
	since := e.clock.Now()
	select {
	case e.places <- struct{}{}:
		e.waited += max(0, e.clock.Now().Sub(since))
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *Engine) leave() { <-e.places }
