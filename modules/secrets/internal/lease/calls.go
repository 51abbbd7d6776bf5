package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// atOnce bounds the running calls of one engine, including those whose caller has stopped waiting.
	atOnce = 8
	// grace is the time after a call's deadline in which an engine that respects its context can return an error.
	grace = 2 * time.Second
)

// ErrSilent is the error of a call that missed its deadline.
var ErrSilent = errors.New("it did not answer in time")

// Calls bounds the calls of engines, which may be third-party code: their number and their time. It recovers their
// panics. It is safe for concurrent use.
type Calls struct {
	mu    sync.Mutex
	slots map[string]chan struct{}
	n     int
	idle  chan struct{} // closed when no call runs; nil while nothing waits for that
}

// NewCalls returns the bounds of the calls of all engines.
func NewCalls() *Calls { return &Calls{slots: map[string]chan struct{}{}} }

// Do calls fn within a time and waits for it slightly longer. If the call has not returned by then, Do returns
// ErrSilent, and late is called with the result when it returns. The error after a panic does not contain the panic's
// value. Do returns the error of a cancelled ctx.
func Do[T any](
	ctx context.Context, c *Calls, engine string, within time.Duration, fn func(ctx context.Context) (T, error),
	late func(T, error),
) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, silent(ctx)
	}
	bound, cancel := context.WithTimeout(ctx, within)
	slot := c.slot(engine)
	select {
	case slot <- struct{}{}:
	case <-bound.Done():
		cancel()
		return none, silent(ctx)
	}
	c.begin()
	w := &waiting[T]{ended: make(chan struct{})}
	go func() {
		defer c.end()
		defer func() { <-slot }()
		defer cancel()
		if v, err := guard(bound, fn); !w.put(v, err) {
			late(v, err)
		}
	}()
	w.await(bound)
	if v, err, ok := w.take(); ok {
		if errors.Is(err, context.DeadlineExceeded) {
			err = ErrSilent
		}
		return v, err
	}
	return none, silent(ctx)
}

// waiting connects a running call and its waiter.
type waiting[T any] struct {
	ended chan struct{}

	mu    sync.Mutex
	value T
	err   error
	done  bool // the call has ended
	gone  bool // the waiter has stopped waiting
}

// put stores the result of a call and reports whether the waiter is still waiting.
func (w *waiting[T]) put(v T, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return false
	}
	w.value, w.err, w.done = v, err, true
	close(w.ended)
	return true
}

// take returns the result, or stops waiting.
func (w *waiting[T]) take() (T, error, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = !w.done
	return w.value, w.err, w.done
}

// await waits for a call for its time and the grace after it.
func (w *waiting[T]) await(bound context.Context) {
	select {
	case <-w.ended:
		return
	case <-bound.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-w.ended:
	case <-timer.C:
	}
}

func silent(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	return ErrSilent
}

// guard recovers a panic of an engine. Its value is dropped, since it may contain secrets.
func guard[T any](ctx context.Context, fn func(ctx context.Context) (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked with a %T", p)
		}
	}()
	return fn(ctx)
}

func (c *Calls) slot(engine string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.slots[engine]
	if !ok {
		s = make(chan struct{}, atOnce)
		c.slots[engine] = s
	}
	return s
}

func (c *Calls) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *Calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// Wait returns when no call is running, or when ctx ends.
func (c *Calls) Wait(ctx context.Context) error {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
