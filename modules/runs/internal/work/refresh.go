package work

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Times and bounds of the refreshes of held runs.
const (
	refreshPoll  = 5 * time.Second
	refreshLease = binding.RefreshTime + 30*time.Second
	refreshes    = 8 // at once
	evaluations  = 5 // of one run, while policies keep changing
)

// Refresher refreshes the inventories of held runs, binds the runs to what they say then, and evaluates them again for
// the hosts that they have then. Any number of servers may do so: the one that works on a run has moved its due time
// into the future, and another one takes the run after that.
type Refresher struct {
	Loop *background.Loop

	machine  *lifecycle.Machine
	queue    runs.Queue
	binder   *binding.Binder
	policies policy.Evaluator
	log      *slog.Logger
	places   chan struct{}
	work     sync.WaitGroup
}

// NewRefresher returns a refresher. If e is nil, there are no policies. The caller starts its Loop. A stop ends the
// refreshes under way; they are repeated.
func NewRefresher(
	m *lifecycle.Machine, q runs.Queue, b *binding.Binder, e policy.Evaluator, log *slog.Logger,
) *Refresher {
	f := &Refresher{machine: m, queue: q, binder: b, policies: e, log: log, places: make(chan struct{}, refreshes)}
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

// refresh refreshes the inventories of a run and binds it to them.
func (f *Refresher) refresh(ctx context.Context, id string) error {
	r, err := f.machine.Store.ByID(ctx, id)
	if err != nil {
		return err
	}
	warnings, err := f.binder.Refresh(ctx, r)
	if err != nil {
		return err
	}
	bound := runs.Approvals{Holds: r.Approvals.Holds}
	if bound.Parts, err = f.binder.Bind(ctx, r); err != nil {
		return err
	}
	r.Approvals = &bound
	hosts, err := f.binder.Hosts(ctx, r)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		err := f.machine.Do(ctx, func(ctx context.Context) error { return f.bind(ctx, id, bound.Parts, hosts, warnings) })
		if n >= evaluations || !policy.PoliciesChanged.Is(err) {
			return err
		}
	}
}

// bind binds a run and evaluates it again. A policy that denies it rejects it, and one that holds it too is added to
// those that do. A step was evaluated with its pipeline.
func (f *Refresher) bind(
	ctx context.Context, id string, parts runs.Parts, hosts []policy.Targets, warnings []runs.Warning,
) error {
	r, err := f.awaiting(ctx, id)
	if err != nil || r == nil {
		return err
	}
	r.Approvals.Refreshing, r.Approvals.Parts = nil, parts
	change := runs.Amendment{Approvals: r.Approvals, Warnings: warnings}
	var v policy.Verdict
	if f.policies != nil && r.ParentID == "" {
		if v, err = f.policies.Evaluate(ctx, r, hosts); err != nil {
			return err
		}
		if v.Denied == nil {
			change.Risk = &v.Risk
		}
		if err := f.add(ctx, r, v.Holds); err != nil {
			return err
		}
	}
	if err := f.machine.Store.Amend(ctx, id, change); err != nil {
		return err
	}
	if v.Denied != nil {
		return f.machine.RejectHeld(ctx, id, "policy", v.Denied.Denial())
	}
	return f.machine.Touch(ctx, id)
}

// add adds the holds of policies that do not hold the run yet, and records them.
func (f *Refresher) add(ctx context.Context, r *runs.Run, holds []runs.Hold) error {
	more := slices.DeleteFunc(slices.Clone(holds), func(h runs.Hold) bool {
		return slices.ContainsFunc(r.Approvals.Holds, func(have runs.Hold) bool { return have.ID == h.ID })
	})
	r.Approvals.Holds = append(r.Approvals.Holds, more...)
	added := *r
	added.Approvals = &runs.Approvals{Holds: more}
	return f.machine.NoteHolds(ctx, &added, nil)
}
