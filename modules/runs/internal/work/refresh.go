package work

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// Times and bounds of the refreshes of held runs.
const (
	refreshPoll  = 5 * time.Second
	refreshLease = binding.RefreshTime + 30*time.Second
	refreshes    = 8 // at once
)

// Refresher refreshes the inventories of held runs, and binds the runs to what they say then. Any number of servers may
// do so: the one that works on a run has moved its due time into the future, and another one takes the run after that.
type Refresher struct {
	Loop *background.Loop

	machine *lifecycle.Machine
	queue   runs.Queue
	binder  *binding.Binder
	log     *slog.Logger
	places  chan struct{}
	work    sync.WaitGroup
}

// NewRefresher returns a refresher. The caller starts its Loop. A stop ends the refreshes under way; they are repeated.
func NewRefresher(m *lifecycle.Machine, q runs.Queue, b *binding.Binder, log *slog.Logger) *Refresher {
	f := &Refresher{machine: m, queue: q, binder: b, log: log, places: make(chan struct{}, refreshes)}
	f.Loop = &background.Loop{Name: "held inventories", Every: refreshPoll, Pass: f.pass, Last: f.work.Wait,
		Watch: func() (<-chan string, func()) { return m.Signals.Watch(events.TopicHeld) }}
	return f
}

// pass begins the refreshes that are due, as long as there is a free place. The end of one wakes the loop.
func (f *Refresher) pass(ctx context.Context) error {
	list, err := f.queue.Refreshing(ctx, batch)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.Approvals.Refreshing.Due.After(f.machine.Now()) {
			continue
		}
		select {
		case f.places <- struct{}{}:
		default:
			return nil
		}
		taken, err := f.take(ctx, r.ID)
		if err != nil || !taken {
			<-f.places
			if err != nil {
				return err
			}
			continue
		}
		f.work.Go(func() {
			defer f.Loop.Wake()
			defer func() { <-f.places }()
			if err := f.refresh(ctx, r.ID); err != nil && ctx.Err() == nil {
				f.log.ErrorContext(ctx, "cannot refresh the inventories of a held run", "run", r.ID, "err", err)
			}
		})
	}
	return nil
}

// take reports whether this server is to refresh the inventories of a run.
func (f *Refresher) take(ctx context.Context, id string) (taken bool, err error) {
	err = f.machine.Do(ctx, func(ctx context.Context) error {
		r, err := f.awaiting(ctx, id)
		if taken = r != nil && !r.Approvals.Refreshing.Due.After(f.machine.Now()); err != nil || !taken {
			return err
		}
		r.Approvals.Refreshing.Due = f.machine.Now().Add(refreshLease)
		return f.machine.Store.Amend(ctx, id, runs.Amendment{Approvals: r.Approvals})
	})
	return taken, err
}

// awaiting locks a run and returns it if it still waits for its inventories, else nil.
func (f *Refresher) awaiting(ctx context.Context, id string) (*runs.Run, error) {
	r, err := f.machine.Store.Lock(ctx, id)
	if err != nil || r.Status != runs.PendingApproval || !r.Approvals.Awaiting() {
		return nil, err
	}
	return r, nil
}

// refresh refreshes the inventories of a run and binds it.
func (f *Refresher) refresh(ctx context.Context, id string) error {
	r, err := f.machine.Store.ByID(ctx, id)
	if err != nil {
		return err
	}
	warnings, err := f.binder.Refresh(ctx, r)
	if err != nil {
		return err
	}
	parts, err := f.binder.Bind(ctx, r)
	if err != nil {
		return err
	}
	return f.machine.Do(ctx, func(ctx context.Context) error {
		r, err := f.awaiting(ctx, id)
		if err != nil || r == nil {
			return err
		}
		r.Approvals.Refreshing, r.Approvals.Parts = nil, parts
		if err := f.machine.Store.Amend(ctx, id, runs.Amendment{Approvals: r.Approvals, Warnings: warnings}); err != nil {
			return err
		}
		return f.machine.Touch(ctx, id)
	})
}
