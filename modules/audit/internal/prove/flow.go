package prove

import (
	"context"
	"errors"
)

const (
	batchSize = 128
	batches   = 4 // in the air at once
)

// flow hands items from a goroutine that reads them to one that checks them, in batches, of which few are made.
type flow[T any] struct {
	full  chan []T
	empty chan []T
	done  chan struct{}
	err   error // of the source, once full is closed
}

// stream starts reading. It ends with the source, or with ctx.
func stream[T any](ctx context.Context, source func(ctx context.Context, give func(item *T) error) error) *flow[T] {
	f := &flow[T]{full: make(chan []T, batches), empty: make(chan []T, batches), done: make(chan struct{})}
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

func (f *flow[T]) fill(ctx context.Context, source func(ctx context.Context, give func(item *T) error) error) error {
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
func (f *flow[T]) next(ctx context.Context) ([]T, error) {
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

func (f *flow[T]) back(batch []T) {
	clear(batch)
	f.empty <- batch[:0] // there is room for every batch that was made
}

// wait returns once the source has ended.
func (f *flow[T]) wait() { <-f.done }
