package deliver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/notify"
)

// Settings of an Engine. All are required.
type Settings struct {
	Topic     string          // of the signal that something is due
	Poll      time.Duration   // how long it sleeps at most
	LeaseTime time.Duration   // how long a delivery is this server's: longer than a try with what is noted of it
	Try       time.Duration   // how long one try may take
	Grace     time.Duration   // how much longer is waited for a channel that does not heed its time
	Pauses    []time.Duration // between tries; there is one try more than pauses
	Pool      int             // tries at once
	PerLane   int             // tries at once of one target
	Strays    int             // calls at once of channels, with those that did not return in their time
}

// Sender makes one try. Its errors are those of send.Sender.
type Sender interface {
	Send(ctx context.Context, d notify.Delivery) error
}

// Engine is one server's part.
type Engine struct {
	*background.Loop
	store  notify.Store
	sender Sender
	meter  notify.Meter
	log    *slog.Logger
	set    Settings
	wait   time.Duration // until the next pass; the loop's own

	mu     sync.Mutex
	busy   int
	strays int
	lanes  map[string]int // tries by target, strays among them
	work   sync.WaitGroup
}

// New makes an engine. When it is stopped it takes no more deliveries, and Stop returns when those under way have
// ended, or their time has, and what became of each is noted.
func New(s notify.Store, sender Sender, sig events.Signals, m notify.Meter, log *slog.Logger, set Settings) *Engine {
	e := &Engine{store: s, sender: sender, meter: m, log: log, set: set, lanes: map[string]int{}}
	e.Loop = &background.Loop{
		Name: "notifications", Pass: func(ctx context.Context) error { e.wait = e.pass(ctx); return nil },
		Next: func() time.Duration { return e.wait }, Last: e.work.Wait,
		Watch: func() (<-chan string, func()) { return sig.Watch(set.Topic) },
	}
	return e
}

// capacity returns how many tries may begin, and the targets that may not have another one.
func (e *Engine) capacity() (free int, full []string) {
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
	e.Wake()
}

// await waits for a channel that did not return in its time. Nobody waits for this: there is no way to end the channel.
func (e *Engine) await(lane string, stray <-chan struct{}) {
	<-stray
	e.mu.Lock()
	e.strays--
	e.clear(lane)
	e.mu.Unlock()
	e.Wake()
}

func (e *Engine) clear(lane string) {
	if e.lanes[lane]--; e.lanes[lane] == 0 {
		delete(e.lanes, lane)
	}
}
