package deliver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/notify"
)

// Settings of an Engine. All are required.
type Settings struct {
	Topic   string          // of the signal that something is due
	Poll    time.Duration   // how long it sleeps at most
	Hold    time.Duration   // how long a delivery is this server's: longer than a try with what is noted of it
	Try     time.Duration   // how long one try may take
	Grace   time.Duration   // how much longer is waited for a channel that does not heed its time
	Pauses  []time.Duration // between tries; there is one try more than pauses
	Pool    int             // tries at once
	PerLane int             // tries at once of one target
	Strays  int             // calls at once of channels, with those that did not return in their time
}

// Sender makes one try. Its errors are those of send.Sender.
type Sender interface {
	Send(ctx context.Context, d notify.Delivery) error
}

// Engine is one server's part.
type Engine struct {
	store   notify.Store
	sender  Sender
	signals events.Signals
	meter   notify.Meter
	log     *slog.Logger
	set     Settings
	freed   chan struct{} // wakes the loop when a place is free again

	mu     sync.Mutex
	busy   int
	strays int
	lanes  map[string]int // tries by target, strays among them
	stop   context.CancelFunc
	work   sync.WaitGroup
}

// New makes an engine; Start begins it.
func New(s notify.Store, sender Sender, sig events.Signals, m notify.Meter, log *slog.Logger, set Settings) *Engine {
	return &Engine{store: s, sender: sender, signals: sig, meter: m, log: log, set: set, freed: make(chan struct{}, 1), lanes: map[string]int{}}
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

// Stop takes no more deliveries and returns when those under way have ended, or their time has, and what became of each is noted.
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

// loop sleeps until something is due, was planned or has ended, or until it is time to look.
func (e *Engine) loop(ctx context.Context) {
	planned, end := e.signals.Watch(e.set.Topic)
	defer end()
	for ctx.Err() == nil {
		next := time.NewTimer(e.pass(ctx))
		select {
		case <-ctx.Done():
		case <-next.C:
		case <-planned:
		case <-e.freed:
		}
		next.Stop()
	}
}

// room returns how many tries may begin, and the targets that may not have another one.
func (e *Engine) room() (free int, full []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for lane, n := range e.lanes {
		if n >= e.set.PerLane {
			full = append(full, lane)
		}
	}
	return max(0, min(e.set.Pool-e.busy, e.set.Strays-e.strays-e.busy)), full
}

func (e *Engine) enter(lane string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy++
	e.lanes[lane]++
}

// leave gives the place back, and the target's where its channel has returned.
func (e *Engine) leave(lane string, stray <-chan struct{}) {
	e.mu.Lock()
	e.busy--
	if stray == nil {
		e.clear(lane)
	} else {
		e.strays++
		go e.await(lane, stray)
	}
	e.mu.Unlock()
	e.wake()
}

// await waits for a channel that did not return in its time. Nobody waits for this: there is no way to end the channel.
func (e *Engine) await(lane string, stray <-chan struct{}) {
	<-stray
	e.mu.Lock()
	e.strays--
	e.clear(lane)
	e.mu.Unlock()
	e.wake()
}

func (e *Engine) clear(lane string) {
	if e.lanes[lane]--; e.lanes[lane] == 0 {
		delete(e.lanes, lane)
	}
}

func (e *Engine) wake() {
	select {
	case e.freed <- struct{}{}:
	default:
	}
}
