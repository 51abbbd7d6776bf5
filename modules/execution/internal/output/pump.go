package output

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/spool"
	"github.com/writ-automation/writ/ports/runs"
)

// Batching: a batch is sent at this size or this age, in pieces of at most the other sizes.
const (
	batchBytes  = 64 << 10
	batchAge    = 50 * time.Millisecond
	pieceBytes  = 512 << 10
	pieceEvents = 1000
	callTimeout = 30 * time.Second
)

// Hooks report the plane's answers to the owner of a pump.
type Hooks struct {
	Lost   func()          // the lease was lost, or the plane refuses the run's reports for good
	Failed func(err error) // a call failed and is tried again
}

// Pump sends the content of a run's spools to the control plane.
type Pump struct {
	plane  runs.Journal
	lease  runs.Lease
	log    *spool.Log
	events *spool.Events
	hooks  Hooks

	waiting   atomic.Int64 // bytes since the last batch, roughly
	timerRuns atomic.Bool  // the timer is running
	wake      chan struct{}
	timer     *time.Timer

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // nil until the goroutine starts
	halted bool
}

// NewPump makes the pump of one run. Stop ends it.
func NewPump(
	ctx context.Context, plane runs.Journal, l runs.Lease, log *spool.Log, events *spool.Events, h Hooks,
) *Pump {
	p := &Pump{plane: plane, lease: l, log: log, events: events, hooks: h, wake: make(chan struct{}, 1)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.timer = time.AfterFunc(time.Hour, p.batchDue)
	p.timer.Stop()
	return p
}

// LogGrew reports new output: the next batch contains it.
func (p *Pump) LogGrew(n int) {
	if p.waiting.Add(int64(n)) >= batchBytes {
		p.start()
	} else {
		p.startTimer()
	}
}

// EventsGrew reports a new event: it is sent at once if nothing was sent recently.
func (p *Pump) EventsGrew(n int) {
	if p.waiting.Add(int64(n)) >= batchBytes || !p.timerRuns.Load() {
		p.start()
	}
}

// startTimer starts the time of a batch.
func (p *Pump) startTimer() {
	if p.timerRuns.CompareAndSwap(false, true) {
		p.timer.Reset(batchAge)
	}
}

// batchDue ends the time of a batch.
func (p *Pump) batchDue() {
	p.timerRuns.Store(false)
	if p.waiting.Load() > 0 {
		p.start()
	}
}

// start wakes the goroutine, and starts it on first use.
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

// flush sends the content of the spools, retrying until ctx ends. It returns false when nothing remains to do for this
// run.
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

// Stop ends the goroutine after a running call.
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

// Drain sends the content of the spools until the rest is small enough for the ending. It runs after Stop and returns
// false if ctx ended or the lease was lost.
func (p *Pump) Drain(ctx context.Context) bool {
	return p.sendWhile(ctx, func() bool { return !p.Small() })
}
