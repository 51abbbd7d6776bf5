package plan

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/modules/notify/internal/servertargets"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// Topic is the topic of the signal that deliveries were planned. The payload is the run's id.
	Topic = "notify"
	// maxOwn bounds the targets of one run to what a submission may contain.
	maxOwn = 1000
)

// Runs reads the runs that events name.
type Runs interface {
	ByID(ctx context.Context, id string) (*runs.Run, error)
}

// Planner plans deliveries to the targets and notifiers of one server.
type Planner struct {
	Runs          Runs
	Store         notify.Store
	ServerTargets *servertargets.Targets
	Notifiers     []string // names, in a fixed order
	Unit          tx.Unit
	Signals       events.Signals
	IDs           ids.Generator
	Meter         notify.Meter
}

// occasion is something that happened to a run.
type occasion struct {
	run    string
	event  notify.Event
	status runs.Status
	cause  string
	drift  *estate.DriftFound
}

// Subscriptions returns the bus subscriptions to runs that ended, are held or found drift.
func (p *Planner) Subscriptions() (finished, held, drift events.Subscription) {
	finished = events.On("notify", func(ctx context.Context, _ string, e runs.Finished) error {
		if !e.TopLevel || e.NoTargets && len(p.ServerTargets.All())+len(p.Notifiers) == 0 {
			return nil // the run need not be read
		}
		return p.plans(ctx, occasion{run: e.RunID, event: notify.Finished, status: e.Status})
	})
	held = events.On("notify", func(ctx context.Context, _ string, e runs.Held) error {
		return p.plans(ctx, occasion{run: e.RunID, event: notify.Held, status: runs.PendingApproval})
	})
	drift = events.On("notify", func(ctx context.Context, id string, e estate.DriftFound) error {
		return p.plans(ctx, occasion{run: e.RunID, event: notify.DriftFound, cause: id, drift: &e})
	})
	return finished, held, drift
}

// plans is plan until it succeeds, fails permanently or ctx ends. The bus retries only briefly, and the notifications
// would be lost.
func (p *Planner) plans(ctx context.Context, o occasion) error {
	return background.Retry(ctx, func(ctx context.Context) error { return p.plan(ctx, o) })
}

// plan plans an event once, also if the event is delivered again. A deleted run needs no notifications.
func (p *Planner) plan(ctx context.Context, o occasion) error {
	r, err := p.Runs.ByID(ctx, o.run)
	if err == nil && o.drift != nil && r.ParentID != "" {
		r, err = p.Runs.ByID(ctx, r.ParentID) // which has the targets of its shards and steps
	}
	switch {
	case runs.RunNotFound.Is(err):
		return nil
	case err != nil:
		return fmt.Errorf("plan notifications: %w", err)
	}
	list := p.deliveries(r, o)
	if len(list) == 0 {
		return nil // most runs have no targets: a unit for each would add a commit to every run
	}
	fresh := 0
	err = p.Unit.Do(ctx, func(ctx context.Context) error {
		fresh, err = p.Store.InsertDeliveries(ctx, list)
		if err != nil || fresh == 0 || !pending(list) {
			return err
		}
		return p.Signals.Signal(ctx, Topic, r.ID)
	})
	if err != nil {
		return fmt.Errorf("plan notifications: %w", err)
	}
	if fresh < len(list) {
		return nil // a repeated event: the metrics were counted the first time
	}
	for _, d := range list {
		if d.Status == notify.Skipped {
			p.Meter.Count(d.Origin, d.Kind, d.Status)
		}
	}
	return nil
}

func pending(list []notify.Delivery) bool {
	for i := range list {
		if list[i].Status == notify.Pending {
			return true
		}
	}
	return false
}

// deliveries lists the targets of an event: those of the server, those of the run, and the notifiers of extensions,
// which only receive ended runs.
func (p *Planner) deliveries(r *runs.Run, o occasion) []notify.Delivery {
	var list []notify.Delivery
	add := func(from notify.Origin, position int, kind string, n runs.Notification) *notify.Delivery {
		list = append(list, notify.Delivery{
			ID: p.IDs.New(ids.Delivery), RunID: r.ID, Event: o.event, Cause: o.cause, Drift: o.drift, Origin: from,
			Position: position, Kind: kind, Target: n, Status: notify.Pending,
		})
		return &list[len(list)-1]
	}
	setStatus := func(d *notify.Delivery) {
		if wants, why := notify.Wants(d.Target, o.event, o.status); !wants {
			d.Status, d.Reason = notify.Skipped, why
		}
	}
	for i, t := range p.ServerTargets.All() {
		d := add(notify.OfServer, i, t.Masked.Kind, t.Masked)
		d.Digest = t.Digest
		setStatus(d)
	}
	for i, n := range r.Spec.Notifications[:min(len(r.Spec.Notifications), maxOwn)] {
		masked := n.Masked()
		masked.Ref = n.Ref
		setStatus(add(notify.OfRun, i, n.Kind, masked))
	}
	if o.event == notify.Finished {
		for i, name := range p.Notifiers {
			add(notify.OfExtension, i, name, runs.Notification{})
		}
	}
	return list
}
