// Package background runs the periodic work of a process: a pass that is repeated at an interval, on a wake-up, or when
// the next piece of work is due.
package background

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Observer counts and measures passes.
type Observer interface {
	// Pass is called when a pass begins, and ended when it has ended. A pass that a stop cut short ends with the error
	// that it returned.
	Pass(work string) (ended func(err error))
}

// Loop repeats a pass in one goroutine between Start and Stop. Its exported members are set before Start.
type Loop struct {
	// Name names the loop in logs and metrics: lower-case words.
	Name string
	// Pass does the work once. Its error is logged, and the next pass tries again.
	Pass func(context.Context) error
	// First is the pause before the first pass.
	First time.Duration
	// Every is the pause between two passes, more than zero unless Next is set.
	Every time.Duration
	// Next returns the pause before the next pass if that depends on the work. It is called after each pass. Nil
	// means Every.
	Next func() time.Duration
	// Watch, unless it is nil, opens a channel whose values wake the loop until end is called.
	Watch func() (wake <-chan string, end func())
	// Timeout bounds one pass. Zero means no bound.
	Timeout time.Duration
	// Last, unless it is nil, is called once after the last pass. It bounds itself.
	Last func()
	// Log may be nil, and so may Observer.
	Log      *slog.Logger
	Observer Observer

	mu   sync.Mutex
	wake chan struct{}
	stop context.CancelFunc
	done chan struct{}
}

// Start begins the loop and returns at once. It does nothing while the loop runs, even if a Stop that returned early
// is still ending it.
func (l *Loop) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done: // an earlier run has ended
	default:
		if l.done != nil {
			return
		}
	}
	// The work outlives the call that started it; Stop ends it.
	ctx, cancel := context.WithCancel(context.Background())
	l.stop, l.done = cancel, make(chan struct{})
	go l.run(ctx, l.waker(), l.done)
}

// Wake has the next pass begin at once, or right after the one under way. It never blocks. Before Start it shortens
// the first pause.
func (l *Loop) Wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.waker() <- struct{}{}:
	default:
	}
}

// waker returns the channel that wakes the loop. The caller holds mu.
func (l *Loop) waker() chan struct{} {
	if l.wake == nil {
		l.wake = make(chan struct{}, 1)
	}
	return l.wake
}

// Stop ends the context of the pass under way and returns when the goroutine has ended, or with the error of ctx when
// that ends first. It does nothing if the loop does not run.
func (l *Loop) Stop(ctx context.Context) error {
	l.mu.Lock()
	stop, done := l.stop, l.done
	l.stop = nil
	l.mu.Unlock()
	if done == nil {
		return nil
	}
	if stop != nil {
		stop()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Loop) run(ctx context.Context, wake <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	if l.Last != nil {
		defer l.Last()
	}
	var signal <-chan string // nil never wakes
	if l.Watch != nil {
		var end func()
		signal, end = l.Watch()
		defer end()
	}
	timer := time.NewTimer(l.First)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-signal:
		case <-timer.C:
		}
		if ctx.Err() != nil { // a stop has priority over the wake-up
			return
		}
		l.pass(ctx)
		if l.Next != nil {
			timer.Reset(l.Next())
		} else {
			timer.Reset(l.Every)
		}
	}
}

func (l *Loop) pass(ctx context.Context) {
	bound, cancel := ctx, context.CancelFunc(func() {})
	if l.Timeout > 0 {
		bound, cancel = context.WithTimeout(ctx, l.Timeout)
	}
	defer cancel()
	ended := func(error) {}
	if l.Observer != nil {
		ended = l.Observer.Pass(l.Name)
	}
	err := l.Pass(bound)
	if ctx.Err() != nil {
		err = nil
	}
	ended(err)
	if err != nil && l.Log != nil {
		l.Log.ErrorContext(ctx, "background work failed; trying again", "work", l.Name, "err", err)
	}
}

// Group is work that starts and stops together.
type Group []*Loop

// Start begins every loop.
func (g Group) Start() {
	for _, l := range g {
		l.Start()
	}
}

// Stop ends every loop at once and returns when all have ended, or with the error of ctx when that ends first.
func (g Group) Stop(ctx context.Context) error {
	errs := make(chan error, len(g))
	for _, l := range g {
		go func() { errs <- l.Stop(ctx) }()
	}
	var first error
	for range g {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}
