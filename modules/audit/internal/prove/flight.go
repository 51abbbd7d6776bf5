package prove

import (
	"context"
	"sync"
)

// flights runs one verification at a time. Who comes while one runs waits for the next one, which begins behind it and so sees
// all that the caller could know of; everybody who waits for the next one shares it.
type flights struct {
	mu      sync.Mutex
	running *flight
	next    *flight
}

// flight is one verification. It ends early once nobody waits for it any more.
type flight struct {
	run     func(ctx context.Context) (found, error)
	base    context.Context // of the first caller, without its end
	stop    context.CancelFunc
	done    chan struct{}
	waiting int
	found   found
	err     error
}

// do returns what run finds, or the caller's own end.
func (f *flights) do(ctx context.Context, run func(ctx context.Context) (found, error)) (found, error) {
	mine := f.join(ctx, run)
	select {
	case <-mine.done:
		return mine.found, mine.err
	case <-ctx.Done():
		f.leave(mine)
		return found{}, context.Cause(ctx)
	}
}

func (f *flights) join(ctx context.Context, run func(ctx context.Context) (found, error)) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		base, stop := context.WithCancel(context.WithoutCancel(ctx))
		f.next = &flight{run: run, base: base, stop: stop, done: make(chan struct{})}
	}
	mine := f.next
	mine.waiting++
	if f.running == nil {
		f.begin()
	}
	return mine
}

// begin starts the next flight. The lock is held.
func (f *flights) begin() {
	f.running, f.next = f.next, nil
	if f.running != nil {
		go f.fly(f.running)
	}
}

func (f *flights) fly(one *flight) {
	one.found, one.err = one.run(one.base)
	one.stop()
	close(one.done)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
}

// leave ends a flight that nobody waits for: one that has not begun is forgotten.
func (f *flights) leave(one *flight) {
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
