package prove

import (
	"context"
	"errors"
	"sync"
)

const (
	batchSize = 128
	batches   = 4 // batches under way at once
)

// batchStream passes batches of items from a reading goroutine to a checking one and reuses a few batches.
type batchStream[T any] struct {
	full  chan []T
	empty chan []T
	done  chan struct{}
	err   error // of the source, once full is closed
}

// stream starts reading. It ends with the source or with ctx.
func stream[T any](
	ctx context.Context, source func(ctx context.Context, give func(item *T) error) error,
) *batchStream[T] {
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

func (f *batchStream[T]) fill(
	ctx context.Context, source func(ctx context.Context, give func(item *T) error) error,
) error {
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

// next returns the next batch, or nil at the end. It takes back the previous batch.
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
	f.empty <- batch[:0] // the channel has room for every batch
}

// wait returns after the source has ended.
func (f *batchStream[T]) wait() { <-f.done }

// singleFlight runs one verification at a time. A caller that arrives during one waits for the next, which begins
// later and so sees everything the caller could know of; all waiting callers share it.
type singleFlight struct {
	mu      sync.Mutex
	running *shared
	next    *shared
}

// shared is one verification. It is canceled when no caller waits for it any more.
type shared struct {
	run     func(ctx context.Context) (found, error)
	base    context.Context // of the first caller, without its cancellation
	stop    context.CancelFunc
	done    chan struct{}
	waiting int
	found   found
	err     error
}

// do returns the result of run, or the error of the caller's context.
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

// begin starts the next verification. The caller holds the lock.
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

// leave cancels a verification without callers: one that has not begun is dropped.
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
