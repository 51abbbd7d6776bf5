package fire

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Settings of an Engine. All are required.
type Settings struct {
	Topic   string        // of the signal that a schedule was saved
	Catchup time.Duration // a slot that is missed by more makes no run
	Hold    time.Duration // how long a slot is this server's, and so how long it tries
	Poll    time.Duration // how long it sleeps at most, and how often it looks for abandoned slots
	Pool    int           // how many runs are made at once
}

// Times computes slots: the latest one of a schedule that is due, which is not after now, and the first one after now, zero where it
// fires no more.
type Times interface {
	Slots(s *scheduling.Schedule, now time.Time) (latest, next time.Time, err error)
}

// Maker makes the run of a firing, the same one however often it is asked.
type Maker interface {
	Make(ctx context.Context, f *scheduling.Firing) (runID string, err error)
}

// Engine is one server's part. Stop waits for all that it has started.
type Engine struct {
	schedules scheduling.ScheduleStore
	slots     scheduling.SlotStore
	times     Times
	maker     Maker
	signals   events.Signals
	clock     clock.Clock
	log       *slog.Logger
	set       Settings

	places chan struct{} // one for each run that is being made
	// What the loop alone knows: the store's time when it looked last, and how long it waited for a place since it last saw all that
	// was due. A slot that came in that time was not missed.
	now    time.Time
	waited time.Duration

	mu   sync.Mutex
	stop context.CancelFunc
	work sync.WaitGroup
}

// New makes an engine; Start begins it.
func New(
	schedules scheduling.ScheduleStore, slots scheduling.SlotStore, t Times, m Maker, sig events.Signals, c clock.Clock, log *slog.Logger, set Settings,
) *Engine {
	return &Engine{
		schedules: schedules, slots: slots, times: t, maker: m, signals: sig, clock: c, log: log, set: set,
		places: make(chan struct{}, set.Pool),
	}
}

// Start begins the work and returns at once. It does nothing where the work has begun.
func (e *Engine) Start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stop != nil {
		return
	}
	// The work outlives the call that started it; Stop ends it.
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	e.work.Go(func() { e.loop(ctx) })
}

// Stop ends the work and returns when nothing runs any more. A slot of which it is not known what became goes to another server, or to
// this one when it is started again.
func (e *Engine) Stop() {
	e.mu.Lock()
	stop := e.stop
	e.stop = nil
	e.mu.Unlock()
	if stop != nil {
		stop()
	}
	e.work.Wait()
}

// loop sleeps until the next slot, until a schedule was saved, or until it is time to look.
func (e *Engine) loop(ctx context.Context) {
	saved, end := e.signals.Watch(e.set.Topic)
	defer end()
	look := time.NewTicker(e.set.Poll)
	defer look.Stop()
	wait := e.pass(ctx)
	e.retake(ctx)
	for ctx.Err() == nil {
		next := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-next.C:
		case <-saved:
		case <-look.C:
			e.retake(ctx)
		}
		next.Stop()
		wait = e.pass(ctx)
	}
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
