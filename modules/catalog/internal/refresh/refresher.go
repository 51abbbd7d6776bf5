package refresh

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/mirror"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Bounds.
const (
	collectTime = 2 * time.Minute
	noteTime    = 10 * time.Second // of storing how it ended
	loops       = 2                // refreshes by the clock at once
	longestWait = 30 * time.Second
	afterError  = 5 * time.Second
)

// Params is what a refresher is made of.
type Params struct {
	Unit        tx.Unit
	Clock       clock.Clock
	Log         *slog.Logger
	Recorder    audit.Recorder
	Projects    catalog.ProjectStore
	Inventories catalog.InventoryStore
	Sources     catalog.SourceStore
	Collector   catalog.Collector
	Logins      catalog.Logins // may be nil: then no source with a credential can be refreshed
	Sealer      secrets.Sealer // opens the headers of sources
	Mirror      *mirror.Mirror
	TempDir     string // work trees of projects are made below it for as long as a refresh lasts
	ReadOnly    bool   // refreshes nothing
}

// Refresher fills inventories.
type Refresher struct {
	Params

	ctx    context.Context //nolint:containedctx // the life of the refreshes, which outlive their callers
	cancel context.CancelFunc
	wake   chan struct{}
	work   sync.WaitGroup

	mu       sync.Mutex
	begun    bool
	closed   bool
	inFlight map[string]*refreshCall
	locks    map[string]*inventoryLock
}

// New returns a refresher.
func New(p Params) *Refresher {
	ctx, cancel := context.WithCancel(context.Background())
	return &Refresher{
		Params: p, ctx: ctx, cancel: cancel, wake: make(chan struct{}, loops), inFlight: map[string]*refreshCall{}, locks: map[string]*inventoryLock{},
	}
}

// refreshCall is one refresh that is under way. err is read after done is closed.
type refreshCall struct {
	done chan struct{}
	end  outcome
	err  error
}

// RefreshForRequest refreshes a source for a request, whose entry is recorded with what was stored, also where it
// failed. RefreshFailed, SourceNotFound.
func (r *Refresher) RefreshForRequest(ctx context.Context, id string) error {
	fl, first, err := r.join(ctx, id, true)
	if err != nil {
		return err
	}
	if err := fl.wait(ctx); err != nil {
		return err
	}
	if !first { // the request has an entry of its own, whoever began
		if err := r.Unit.Do(ctx, func(ctx context.Context) error { return r.note(ctx, fl.end) }); err != nil {
			return err
		}
	}
	return fl.end.err()
}

// RefreshUnasked refreshes a source without anybody's request: what changes the inventory is recorded. RefreshFailed,
// SourceNotFound.
func (r *Refresher) RefreshUnasked(ctx context.Context, id string) error {
	fl, _, err := r.join(r.ctx, id, false)
	if err != nil {
		return err
	}
	if err := fl.wait(ctx); err != nil {
		return err
	}
	return fl.end.err()
}

func (fl *refreshCall) wait(ctx context.Context) error {
	select {
	case <-fl.done:
		return fl.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the refresh of a source that is under way, or begins one, whose entry is of the caller of ctx.
func (r *Refresher) join(ctx context.Context, id string, asked bool) (fl *refreshCall, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fl, ok := r.inFlight[id]; ok {
		return fl, false, nil
	}
	switch {
	case r.closed:
		return nil, false, errStopped()
	case r.ReadOnly:
		return nil, false, catalog.RefreshFailed.New("this server is read-only and refreshes nothing")
	}
	fl = &refreshCall{done: make(chan struct{})}
	r.inFlight[id] = fl
	r.work.Go(func() { r.runRefresh(ctx, id, fl, asked) })
	return fl, true, nil
}

// runRefresh outlives its caller, whose end must not fail the others, and ends with the process.
func (r *Refresher) runRefresh(ctx context.Context, id string, fl *refreshCall, asked bool) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	fl.end, fl.err = r.refresh(ctx, id, asked)
	r.mu.Lock()
	delete(r.inFlight, id)
	r.mu.Unlock()
	close(fl.done)
}

// inventoryLock lets one refresh of an inventory happen at a time.
type inventoryLock struct {
	free    chan struct{}
	waiting int
}

// lockInventory waits until no other refresh of the inventory is under way. The returned function gives the turn back.
func (r *Refresher) lockInventory(ctx context.Context, inventory string) (func(), error) {
	r.mu.Lock()
	t, ok := r.locks[inventory]
	if !ok {
		t = &inventoryLock{free: make(chan struct{}, 1)}
		r.locks[inventory] = t
	}
	t.waiting++
	r.mu.Unlock()
	leave := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(r.locks, inventory)
		}
	}
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// Start begins to refresh by the clock. It does nothing where it has begun, after Stop, and on a read-only server.
func (r *Refresher) Start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun || r.closed || r.ReadOnly {
		return
	}
	r.begun = true
	for range loops {
		r.work.Go(r.loop)
	}
}

// Stop ends every refresh and returns when nothing runs any more. Nothing is refreshed afterwards.
func (r *Refresher) Stop() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.work.Wait()
}

// Wake makes the clock be looked at anew, since a source may be due earlier than it was. It never blocks.
func (r *Refresher) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Refresher) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-timer.C:
		case <-r.wake:
		}
		timer.Reset(r.pass())
	}
}

// pass refreshes what is due, if anything is, and returns how long to wait.
func (r *Refresher) pass() time.Duration {
	var src catalog.InventorySource
	var ok bool
	var wait time.Duration
	ctx, cancel := context.WithTimeout(r.ctx, noteTime)
	defer cancel()
	err := r.Unit.Do(ctx, func(ctx context.Context) (err error) {
		src, ok, wait, err = r.Sources.TakeDue(ctx)
		return err
	})
	switch {
	case r.ctx.Err() != nil:
		return longestWait
	case err != nil:
		r.Log.ErrorContext(r.ctx, "due inventory sources cannot be read; it is tried again", "err", err)
		return afterError
	case !ok && (wait <= 0 || wait > longestWait):
		return longestWait
	case !ok:
		return wait
	}
	if err := r.RefreshUnasked(r.ctx, src.ID); err != nil && r.ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
		r.Log.WarnContext(r.ctx, "an inventory source was not refreshed", "source", src.ID, "err", err)
	}
	return 0
}

func errStopped() error {
	return &fault.Error{Kind: fault.Unavailable, Message: "the server is stopping"}
}
