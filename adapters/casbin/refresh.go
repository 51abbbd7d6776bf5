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

// readTimeout bounds one reading of the rights.
const readTimeout = 30 * time.Second

// confirmedFor is how long a confirmation of the store holds.
const confirmedFor = 5 * time.Second

// refresher keeps an index as new as its readers need it. However many ask, the store is asked once at a time.
//
// The store can also come to know less than the index: a replica that lags takes over, or a backup is restored while
// servers run. A caller whose version is older than the index may be a sign of that; most were let in just before a
// change. So the store is asked whether it still knows the index's version, and everything is read again where it does
// not.
type refresher struct {
	store        identity.RightsStore
	index        *index
	confirmation atomic.Pointer[confirmation] // the last one, nil for none

	mu       sync.Mutex
	inFlight *refresh // nil for none
}

// confirmation says that the store knew the index of a version.
type confirmation struct {
	index int64
	least int64           // callers of this version and newer ones need not ask again
	since clock.Stopwatch // from before the question
}

// refresh is one reading of the rights. err is read after done is closed.
type refresh struct {
	version int64 // of the caller for whom it began
	done    chan struct{}
	err     error
}

// require returns once the index knows a version and the store knows the index, and an Unavailable fault where either
// fails.
func (f *refresher) require(ctx context.Context, version int64) error {
	version = max(version, 0)
	// A refresh in flight may have begun before the version existed; the next one has not.
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

// current reports whether a caller of a version can be decided about without asking the store. Where nothing has
// changed that is one comparison.
func (f *refresher) current(version int64) bool {
	known := f.index.version.Load()
	if version >= known {
		return version == known
	}
	c := f.confirmation.Load()
	return c != nil && c.index == known && version >= c.least && c.since.Elapsed() < confirmedFor
}

// join returns the refresh to wait for, nil where there is nothing to wait for.
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

// run has a context of its own: the end of one caller must not fail the others, and what a caller's unit of work has
// not committed must not come into the index.
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

// catchUp brings the index to what the store knows, which can be less than the index did.
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
