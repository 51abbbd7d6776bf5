package prove

import (
	"context"
	"errors"
	"sync"
)

const (
	batchSize = 128
	batches   = 4 // in the air at once
)

// batchStream hands items from a goroutine that reads them to one that checks them, in batches, of which few are made.
type batchStream[T any] struct {
	full  chan []T
	empty chan []T
	done  chan struct{}
	err   error // of the source, once full is closed
}

// stream starts reading. It ends with the source, or with ctx.
func stream[T any](ctx context.Context, source func(ctx context.Context, give func(item *T) error) error) *batchStream[T] {
	f := &batchStream[T]{full: make(chan []T, batches), empty: make(chan []T, batches), done: make(chan struct{})}
	for range batches {
		f.empty <- make([]T, 0, batchSize)
	}
	go func() {
		defer close(f.done)
		defer close(f.full)
		f.err = f.fill(ctx, source)
	}()
	return f
}

func (f *batchStream[T]) fill(ctx context.Context, source func(ctx context.Context, give func(item *T) error) error) error {
	var batch []T
	send := func() error {
		select {
		case f.full <- batch:
			batch = nil
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := source(ctx, func(item *T) error {
		if batch == nil {
			select {
			case batch = <-f.empty:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if batch = append(batch, *item); len(batch) == cap(batch) {
			return send()
		}
		return nil
	})
	if err == nil && len(batch) > 0 {
		err = send()
	}
	return err
}

// next returns the next batch, nil at the end. The batch goes back once it was read.
func (f *batchStream[T]) next(ctx context.Context) ([]T, error) {
	select {
	case batch, ok := <-f.full:
		if !ok {
			return nil, f.err
		}
		return batch, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx))
	}
}

func (f *batchStream[T]) back(batch []T) {
	clear(batch)
	f.empty <- batch[:0] // there is room for every batch that was made
}

// wait returns once the source has ended.
func (f *batchStream[T]) wait() { <-f.done }

// singleFlight runs one verification at a time. Who comes while one runs waits for the next one, which begins behind
// it and so sees all that the caller could know of; everybody who waits for the next one shares it.
type singleFlight struct {
	mu      sync.Mutex
	running *shared
	next    *shared
}

// shared is one verification. It ends early once nobody waits for it any more.
type shared struct {
	run     func(ctx context.Context) (found, error)
	base    context.Context // of the first caller, without its end
	stop    context.CancelFunc
	done    chan struct{}
	waiting int
	found   found
	err     error
}

// do returns what run finds, or the caller's own end.
func (f *singleFlight) do(ctx context.Context, run func(ctx context.Context) (found, error)) (found, error) {
	mine := f.join(ctx, run)
	select {
	case <-mine.done:
		return mine.found, mine.err
	case <-ctx.Done():
		f.leave(mine)
		return found{}, context.Cause(ctx)
	}
}

func (f *singleFlight) join(ctx context.Context, run func(ctx context.Context) (found, error)) *shared {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		base, stop := context.WithCancel(context.WithoutCancel(ctx))
		f.next = &shared{run: run, base: base, stop: stop, done: make(chan struct{})}
	}
	mine := f.next
	mine.waiting++
	if f.running == nil {
		f.begin()
	}
	return mine
}

// begin starts the next flight. The lock is held.
func (f *singleFlight) begin() {
	f.running, f.next = f.next, nil
	if f.running != nil {
		go f.fly(f.running)
	}
}

func (f *singleFlight) fly(one *shared) {
	one.found, one.err = one.run(one.base)
	one.stop()
	close(one.done)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
}

// leave ends a flight that nobody waits for: one that has not begun is forgotten.
func (f *singleFlight) leave(one *shared) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.waiting--; one.waiting > 0 {
		return
	}
	one.stop()
	if f.next == one {
		f.next = nil
	}
}
