package casbin

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// readTimeout is the timeout of one read of the rights.
const readTimeout = 30 * time.Second

// confirmedFor is how long a confirmation of the store is valid.
const confirmedFor = 5 * time.Second

// refresher keeps an index as new as its readers need it. It runs at most one read of the store at a time.
//
// The store can also fall behind the index: a lagging replica takes over, or a backup is restored while servers run. A
// caller with an older version than the index may indicate that, although most such callers were authenticated just
// before a change. So the refresher asks whether the store still has the index's version, and loads everything again
// if it does not.
type refresher struct {
	store        identity.RightsStore
	index        *index
	confirmation atomic.Pointer[confirmation] // the last one, nil for none

	mu       sync.Mutex
	inFlight *refresh // nil for none
}

// confirmation records that the store had the index's version.
type confirmation struct {
	index int64
	least int64           // callers of this version and newer ones need no new confirmation
	since clock.Stopwatch // started before the read
}

// refresh is one read of the rights. err is read after done is closed.
type refresh struct {
	version int64 // of the caller that started it
	done    chan struct{}
	err     error
}

// require returns when the index includes a version and the store has the index's version. It returns an Unavailable
// fault if either fails.
func (f *refresher) require(ctx context.Context, version int64) error {
	version = max(version, 0)
	// A refresh in progress may have started before the version existed; the next one has not.
	for range 2 {
		r := f.join(version)
		if r == nil {
			return nil
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return unavailable(context.Cause(ctx))
		}
		if r.err != nil {
			return unavailable(r.err)
		}
	}
	if !f.index.knows(version) {
		return unavailable(errors.New("casbin: the store knows less than the caller"))
	}
	return nil
}

// current reports whether a caller of a version can be decided without a read of the store. Without changes it is a
// single comparison.
func (f *refresher) current(version int64) bool {
	known := f.index.version.Load()
	if version >= known {
		return version == known
	}
	c := f.confirmation.Load()
	return c != nil && c.index == known && version >= c.least && c.since.Elapsed() < confirmedFor
}

// join returns the refresh to wait for, nil for none.
func (f *refresher) join(version int64) *refresh {
	if f.current(version) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current(version) {
		return nil
	}
	if f.inFlight == nil {
		f.inFlight = &refresh{version: version, done: make(chan struct{})}
		go f.run(f.inFlight)
	}
	return f.inFlight
}

// run uses its own context: the end of one caller must not fail the others, and uncommitted changes of a caller's unit
// must not reach the index.
func (f *refresher) run(r *refresh) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	c := &confirmation{least: r.version, since: clock.Start()}
	if r.err = f.catchUp(ctx); r.err == nil {
		c.index = f.index.version.Load()
		f.confirmation.Store(c)
	}
	f.mu.Lock()
	f.inFlight = nil
	f.mu.Unlock()
	close(r.done)
}

// catchUp updates the index to the store's version, which can be lower than the index's.
func (f *refresher) catchUp(ctx context.Context) error {
	if f.index.knows(0) {
		r, ok, err := f.store.RightsSince(ctx, f.index.version.Load())
		if err != nil {
			return err
		}
		if ok {
			f.index.apply(r)
			return nil
		}
	}
	r, err := f.store.LoadRights(ctx)
	if err != nil {
		return err
	}
	f.index.load(r)
	return nil
}

func unavailable(cause error) error {
	f := fault.Wrap(fault.Unavailable, cause, "who may do what could not be read")
	f.RetryAfter = time.Second
	return f
}
