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

// patience is how long the store may take to tell the rights.
const patience = 30 * time.Second

// trust is how long the store's word holds that it knows all that the index does.
const trust = 5 * time.Second

// feed keeps an index as new as its readers need it. However many ask, the store is asked once at a time.
//
// The store can also come to know less than the index: a replica that lags takes over, or a backup is restored while
// servers run. A caller who was told of less than the index knows may be a sign of that, and is mostly one who was told
// just before a change. So the store is asked whether it still knows the index's version, and everything is read anew
// where it does not.
type feed struct {
	store identity.RightsStore
	index *index
	word  atomic.Pointer[word] // the last one, nil for none

	mu     sync.Mutex
	flight *flight // the catching up that is under way, nil for none
}

// word is what the store said: that it knows the index of a version.
type word struct {
	index int64
	least int64           // callers of this version and newer ones need not ask again
	since clock.Stopwatch // from before the question
}

// flight is one catching up. err is read after done is closed.
type flight struct {
	version int64 // of the caller for whom it began
	done    chan struct{}
	err     error
}

// reach returns once the index knows a version and the store knows the index, and an Unavailable fault where that does
// not come about.
func (f *feed) reach(ctx context.Context, version int64) error {
	version = max(version, 0)
	// A flight that is under way may have begun before the version was; the next one has not.
	for range 2 {
		fl := f.join(version)
		if fl == nil {
			return nil
		}
		select {
		case <-fl.done:
		case <-ctx.Done():
			return unavailable(context.Cause(ctx))
		}
		if fl.err != nil {
			return unavailable(fl.err)
		}
	}
	if !f.index.knows(version) {
		return unavailable(errors.New("casbin: the store knows less than the caller"))
	}
	return nil
}

// settled reports whether a caller of a version can be decided about without asking the store. Where nothing has changed
// that is one comparison.
func (f *feed) settled(version int64) bool {
	known := f.index.version.Load()
	if version >= known {
		return version == known
	}
	w := f.word.Load()
	return w != nil && w.index == known && version >= w.least && w.since.Elapsed() < trust
}

// join returns the flight to wait for, nil where there is nothing to wait for.
func (f *feed) join(version int64) *flight {
	if f.settled(version) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.settled(version) {
		return nil
	}
	if f.flight == nil {
		f.flight = &flight{version: version, done: make(chan struct{})}
		go f.run(f.flight)
	}
	return f.flight
}

// run has a context of its own: the end of one caller must not fail the others, and what a caller's unit of work has
// not committed must not come into the index.
func (f *feed) run(fl *flight) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w := &word{least: fl.version, since: clock.Start()}
	if fl.err = f.catchUp(ctx); fl.err == nil {
		w.index = f.index.version.Load()
		f.word.Store(w)
	}
	f.mu.Lock()
	f.flight = nil
	f.mu.Unlock()
	close(fl.done)
}

// catchUp brings the index to what the store knows, which can be less than the index did.
func (f *feed) catchUp(ctx context.Context) error {
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
