package output

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/spool"
	"github.com/writ-automation/writ/ports/runs"
)

// Batching: what waits goes when there is this much of it or it is this old, and in pieces of at most the other
// sizes.
const (
	batchBytes  = 64 << 10
	batchAge    = 50 * time.Millisecond
	pieceBytes  = 512 << 10
	pieceEvents = 1000
	callTimeout = 30 * time.Second
)

// Hooks tell the owner of a pump what the plane said.
type Hooks struct {
	Lost   func()          // the lease rules no more, or the plane refuses what the run says for good
	Failed func(err error) // a call failed and is tried again
}

// Pump moves what waits in a run's spools to the control plane.
type Pump struct {
	plane  runs.Journal
	lease  runs.Lease
	log    *spool.Log
	events *spool.Events
	hooks  Hooks

	waiting   atomic.Int64 // bytes since the last batch, roughly
	timerRuns atomic.Bool  // the timer runs
	wake      chan struct{}
	timer     *time.Timer

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // nil until the goroutine exists
	halted bool
}

// NewPump makes the pump of one run. Stop ends it.
func NewPump(ctx context.Context, plane runs.Journal, l runs.Lease, log *spool.Log, events *spool.Events, h Hooks) *Pump {
	p := &Pump{plane: plane, lease: l, log: log, events: events, hooks: h, wake: make(chan struct{}, 1)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.timer = time.AfterFunc(time.Hour, p.batchDue)
	p.timer.Stop()
	return p
}

// LogGrew says that output came: it goes with the next batch.
func (p *Pump) LogGrew(n int) {
	if p.waiting.Add(int64(n)) >= batchBytes {
		p.start()
	} else {
		p.startTimer()
	}
}

// EventsGrew says that an event came: it goes at once where nothing went lately.
func (p *Pump) EventsGrew(n int) {
	if p.waiting.Add(int64(n)) >= batchBytes || !p.timerRuns.Load() {
		p.start()
	}
}

// startTimer lets a batch's time run.
func (p *Pump) startTimer() {
	if p.timerRuns.CompareAndSwap(false, true) {
		p.timer.Reset(batchAge)
	}
}

// batchDue is the end of a batch's time.
func (p *Pump) batchDue() {
	p.timerRuns.Store(false)
	if p.waiting.Load() > 0 {
		p.start()
	}
}

// start wakes the goroutine, made at the first time.
func (p *Pump) start() {
	select {
	case p.wake <- struct{}{}:
	default:
		return // it is awake already
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil && !p.halted {
		p.done = make(chan struct{})
		go p.loop(p.done)
	}
}

func (p *Pump) loop(done chan struct{}) {
	defer close(done)
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		}
		if !p.flush(p.ctx) {
			return
		}
		p.startTimer()
	}
}

// flush sends what waits, retrying until ctx ends. It is false when there is nothing more to do for this run.
func (p *Pump) flush(ctx context.Context) bool {
	p.waiting.Store(0)
	return p.sendWhile(ctx, func() bool { return p.log.Pending() > 0 || p.events.Pending() > 0 })
}

func (p *Pump) sendWhile(ctx context.Context, more func() bool) bool {
	pause := Backoff{}
	for more() {
		if ctx.Err() != nil {
			return false
		}
		err := p.send(ctx)
		switch {
		case err == nil:
			pause = Backoff{}
		case Refused(err):
			p.hooks.Failed(err)
			p.hooks.Lost()
			return false
		default:
			p.hooks.Failed(err)
			if !pause.Wait(ctx) {
				return false
			}
		}
	}
	return true
}

// Stop ends the goroutine; a call that is under way is finished first.
func (p *Pump) Stop() {
	p.mu.Lock()
	p.halted = true
	done := p.done
	p.mu.Unlock()
	p.timer.Stop()
	p.cancel()
	if done != nil {
		<-done
	}
}

// Drain sends what waits until the rest is small enough for the ending. It runs after Stop and returns false when ctx
// ended or the lease was lost.
func (p *Pump) Drain(ctx context.Context) bool {
	return p.sendWhile(ctx, func() bool { return !p.Small() })
}
