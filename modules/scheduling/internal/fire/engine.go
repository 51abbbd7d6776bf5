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

// Settings are the settings of an Engine. All are required.
type Settings struct {
	Topic     string        // of the signal that a schedule was stored
	Catchup   time.Duration // a slot that is later than this creates no run
	LeaseTime time.Duration // the lease of a slot, and so how long a server retries
	Poll      time.Duration // the longest sleep, and the interval of the search for abandoned slots
	Pool      int           // how many runs are created at once
}

// Times computes slots: the latest one of a schedule that is due, not after now, and the first one after now, zero if
// it fires no more.
type Times interface {
	Slots(s *scheduling.Schedule, now time.Time) (latest, next time.Time, err error)
}

// Maker creates the run of a firing. Repeated calls return the same run.
type Maker interface {
	Make(ctx context.Context, f *scheduling.Firing) (runID string, err error)
}

// Engine fires schedules on one server. Stop waits for all work that it has started.
type Engine struct {
	*background.Loop
	schedules scheduling.ScheduleStore
	slots     scheduling.SlotStore
	times     Times
	maker     Maker
	runs      Runs
	clock     clock.Clock
	log       *slog.Logger
	set       Settings

	places chan struct{} // one for each run in creation
	// Only the loop uses these fields: the store's time of the last look, and the time spent waiting for a place since
	// all due schedules were last read. A slot of that time was not missed.
	now    time.Time
	waited time.Duration
	looked time.Time     // time of the last search for abandoned slots
	wait   time.Duration // until the next pass

	work sync.WaitGroup
}

// New creates an engine. Stop cancels the runs that are not created yet; the next holders of their slots create them.
func New(
	schedules scheduling.ScheduleStore, slots scheduling.SlotStore, t Times, m Maker, r Runs, sig events.Signals,
	c clock.Clock, log *slog.Logger, set Settings,
) *Engine {
	e := &Engine{
		schedules: schedules, slots: slots, times: t, maker: m, runs: r, clock: c, log: log, set: set,
		places: make(chan struct{}, set.Pool),
	}
	e.Loop = &background.Loop{
		Name: "schedules", Pass: e.look, Next: func() time.Duration { return e.wait }, Last: e.work.Wait,
		Watch: func() (<-chan string, func()) {
			e.looked = time.Time{} // search for abandoned slots at a start
			return sig.Watch(set.Topic)
		},
	}
	return e
}

// look books the due slots, and takes over abandoned ones if their next search is due.
func (e *Engine) look(ctx context.Context) error {
	e.wait = e.pass(ctx)
	if now := e.clock.Now(); now.Sub(e.looked) >= e.set.Poll || now.Before(e.looked) {
		e.looked = now
		e.retake(ctx)
	}
	e.wait = max(0, min(e.wait, e.looked.Add(e.set.Poll).Sub(e.clock.Now())))
	return nil
}

// place waits for a free place of the pool. It returns false if ctx ends first.
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
