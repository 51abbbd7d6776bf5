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
	Topic     string          // topic of the signal that a delivery is due
	Poll      time.Duration   // longest sleep
	LeaseTime time.Duration   // duration of a claim: longer than a try and the update after it
	Try       time.Duration   // bounds one try
	Grace     time.Duration   // extra wait for a channel that ignores its deadline
	Pauses    []time.Duration // between tries; there is one try more than pauses
	Pool      int             // concurrent tries
	PerLane   int             // concurrent tries of one target
	Strays    int             // concurrent calls of channels, including those past their deadline
}

// Sender makes one try. Its errors are those of send.Sender.
type Sender interface {
	Send(ctx context.Context, d notify.Delivery) error
}

// Engine makes the deliveries of one server.
type Engine struct {
	*background.Loop
	store  notify.Store
	sender Sender
	meter  notify.Meter
	log    *slog.Logger
	set    Settings
	wait   time.Duration // until the next pass; used only by the loop

	mu     sync.Mutex
	busy   int
	strays int
	lanes  map[string]int // tries by target, including those past their deadline
	work   sync.WaitGroup
}

// New returns an engine. When it is stopped it claims no more deliveries. Stop returns when the running tries have
// ended or timed out and their results are stored.
func New(s notify.Store, sender Sender, sig events.Signals, m notify.Meter, log *slog.Logger, set Settings) *Engine {
	e := &Engine{store: s, sender: sender, meter: m, log: log, set: set, lanes: map[string]int{}}
	e.Loop = &background.Loop{
		Name: "notifications", Pass: func(ctx context.Context) error { e.wait = e.pass(ctx); return nil },
		Next: func() time.Duration { return e.wait }, Last: e.work.Wait,
		Watch: func() (<-chan string, func()) { return sig.Watch(set.Topic) },
	}
	return e
}

// capacity returns how many tries may begin, and the targets that must not get another one.
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

// leave frees the slot, and that of the target if its channel has returned.
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

// await waits for a channel that missed its deadline. It may wait forever, since a channel cannot be stopped.
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
