package source

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/inventories"
	"github.com/writ-automation/writ/modules/catalog/internal/project"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Limits.
const (
	collectTime = 2 * time.Minute
	noteTime    = 10 * time.Second // of storing the result
	loops       = 2                // concurrent refreshes of due sources
	longestWait = 30 * time.Second
	afterError  = 5 * time.Second
)

// RefresherParams are the dependencies of a Refresher.
type RefresherParams struct {
	Unit        tx.Unit
	Clock       clock.Clock
	Log         *slog.Logger
	Recorder    audit.Recorder
	Projects    catalog.ProjectStore
	Inventories inventories.Contents
	Sources     catalog.SourceStore
	Collector   catalog.Collector
	Logins      catalog.Logins // nil means that no source with a credential can be refreshed
	Sealer      secrets.Sealer // opens the headers of sources
	Mirror      *project.Mirror
	// Refreshes are those that executors of Queue do. Signals, which may be nil, wake them.
	Refreshes catalog.RefreshStore
	Queue     string
	Signals   events.Signals
	TempDir   string // the parent of temporary work trees
	ReadOnly  bool   // disables refreshes
}

// Refresher fills inventories from their sources.
type Refresher struct {
	RefresherParams

	ctx    context.Context //nolint:containedctx // the lifetime of the refreshes, which may outlast their callers
	cancel context.CancelFunc
	due    background.Group
	work   sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	inFlight map[string]*refreshCall
	locks    map[string]*inventoryLock
}

// NewRefresher returns a Refresher.
func NewRefresher(p RefresherParams) *Refresher {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Refresher{
		RefresherParams: p, ctx: ctx, cancel: cancel, inFlight: map[string]*refreshCall{}, locks: map[string]*inventoryLock{},
	}
	if !p.ReadOnly {
		for range loops {
			r.due = append(r.due, r.dueLoop())
		}
	}
	return r
}

// refreshCall is an active refresh. end and err are set before done is closed.
type refreshCall struct {
	done chan struct{}
	end  outcome
	err  error
}

// refreshForRequest refreshes a source for a request and records an audit entry for it, even if the refresh fails.
// Errors: RefreshFailed, SourceNotFound.
func (r *Refresher) refreshForRequest(ctx context.Context, id string) error {
	fl, first, err := r.join(ctx, id, true)
	if err != nil {
		return err
	}
	if err := fl.wait(ctx); err != nil {
		return err
	}
	if !first { // a request that joined a refresh has its own entry
		if err := r.Unit.Do(ctx, func(ctx context.Context) error { return r.note(ctx, fl.end) }); err != nil {
			return err
		}
	}
	return fl.end.err()
}

// RefreshUnasked refreshes a source without a request. It only records an entry if the inventory changes. Errors:
// RefreshFailed, SourceNotFound.
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

// join returns the active refresh of a source, or starts one. The entry of a new refresh names the caller in ctx.
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

// runRefresh continues after the end of its caller, since others may wait for it, and ends with the process.
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

// inventoryLock allows one refresh of an inventory at a time.
type inventoryLock struct {
	free    chan struct{}
	waiting int
}

// lockInventory waits for other refreshes of the inventory. The returned function releases the lock.
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

// Loops returns the loops that refresh due sources, none on a read-only server.
func (r *Refresher) Loops() background.Group { return r.due }

// Close ends all refreshes and returns when they have ended. No refresh starts afterwards.
func (r *Refresher) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.work.Wait()
}

// wake triggers a search for due sources, since a source may be due earlier than before. It never blocks.
func (r *Refresher) wake() {
	for _, l := range r.due {
		l.Wake()
	}
}

// dueLoop returns a loop that refreshes due sources one by one.
func (r *Refresher) dueLoop() *background.Loop {
	var wait time.Duration
	return &background.Loop{
		Name: "inventory sources", Next: func() time.Duration { return wait },
		Pass: func(ctx context.Context) (err error) { wait, err = r.refreshDue(ctx); return err },
	}
}

// refreshDue refreshes one due source, if there is one, and returns the pause before the next search.
func (r *Refresher) refreshDue(ctx context.Context) (time.Duration, error) {
	var src catalog.InventorySource
	var ok bool
	var wait time.Duration
	bound, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	err := r.Unit.Do(bound, func(ctx context.Context) (err error) {
		src, ok, wait, err = r.Sources.TakeDue(ctx)
		return err
	})
	switch {
	case err != nil:
		return afterError, fmt.Errorf("read due inventory sources: %w", err)
	case !ok && (wait <= 0 || wait > longestWait):
		return longestWait, nil
	case !ok:
		return wait, nil
	}
	if err := r.RefreshUnasked(ctx, src.ID); err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
		r.Log.WarnContext(ctx, "an inventory source was not refreshed", "source", src.ID, "err", err)
	}
	return 0, nil
}

func errStopped() error {
	return &fault.Error{Kind: fault.Unavailable, Message: "the server is stopping"}
}
