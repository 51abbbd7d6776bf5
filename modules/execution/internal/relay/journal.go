package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/output"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	// maxChunk is the maximum size of a piece of output.
	maxChunk = 4 << 20
	// spareEvents is how many events a run may have beyond those that its executor keeps: events from before the claim.
	spareEvents = 10_000
	// ahead is how far a worker's clock may be ahead of the server's before the time of arrival replaces the time of
	// its facts.
	ahead = time.Minute
)

func (r *Relay) AppendLog(ctx context.Context, h execution.Leaseholder, c runs.LogChunk) (int64, error) {
	l, err := r.lease(ctx, h)
	if err != nil {
		return 0, err
	}
	switch {
	case c.Offset < 0 || c.Offset > maxLog:
		return 0, fault.BadField("offset", "expected a number from 0 on")
	case len(c.Data) > maxChunk:
		return 0, fault.BadField("data", "is larger than %d bytes", maxChunk)
	}
	return r.Masks.AppendLog(ctx, r.Plane, l, c)
}

// Events beyond the maximum for a run are TooLarge.
func (r *Relay) AppendEvents(ctx context.Context, h execution.Leaseholder, events []runs.Event) (int64, error) {
	l, err := r.lease(ctx, h)
	if err != nil {
		return 0, err
	}
	if err := checkEvents(events); err != nil {
		return 0, err
	}
	if most := r.cfg.MaxEvents + spareEvents; len(events) > 0 && events[len(events)-1].Seq > most {
		return 0, &fault.Error{Kind: fault.TooLarge, Message: fmt.Sprintf("no more than %d events of a run are kept", most)}
	}
	m, err := r.Masks.Of(ctx, l)
	if err != nil {
		return 0, err
	}
	for i := range events {
		output.Mask(m, &events[i])
	}
	return r.Plane.AppendEvents(ctx, l, events)
}

func (r *Relay) SaveHosts(ctx context.Context, h execution.Leaseholder, hosts []runs.HostSummary) error {
	l, err := r.lease(ctx, h)
	if err != nil {
		return err
	}
	if err := checkHosts(hosts); err != nil {
		return err
	}
	m, err := r.Masks.Of(ctx, l)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(hosts))
	for i := range hosts {
		hosts[i].Host = m.String(hosts[i].Host)
		names = append(names, hosts[i].Host)
	}
	return r.hosts.store(l, names, func() error { return r.Plane.SaveHosts(ctx, l, hosts) })
}

func (r *Relay) SaveTasks(ctx context.Context, h execution.Leaseholder, tasks []runs.TaskSummary) error {
	l, err := r.lease(ctx, h)
	if err != nil {
		return err
	}
	if err := checkTasks(tasks); err != nil {
		return err
	}
	m, err := r.Masks.Of(ctx, l)
	if err != nil {
		return err
	}
	for i := range tasks {
		t := &tasks[i]
		t.Task, t.TaskID, t.Play = m.String(t.Task), m.String(t.TaskID), m.String(t.Play)
	}
	return r.Plane.SaveTasks(ctx, l, tasks)
}

// ProposeApply masks the texts of a plan, whose bounds are those of every plan.
func (r *Relay) ProposeApply(ctx context.Context, h execution.Leaseholder, p runs.Plan) (string, error) {
	l, err := r.lease(ctx, h)
	if err != nil {
		return "", err
	}
	if err := p.Check(); err != nil {
		return "", err
	}
	m, err := r.Masks.Of(ctx, l)
	if err != nil {
		return "", err
	}
	p.Summary = m.String(p.Summary)
	for i := range p.Findings {
		f := &p.Findings[i]
		f.Resource, f.Action, f.Diff = m.String(f.Resource), m.String(f.Action), m.String(f.Diff)
	}
	return r.Plane.ProposeApply(ctx, l, p)
}

// Facts are stored only for hosts with a result in the run: a worker reports nothing about other hosts.
func (r *Relay) SaveFacts(ctx context.Context, h execution.Leaseholder, facts []runs.HostFacts) error {
	l, err := r.lease(ctx, h)
	if err != nil {
		return err
	}
	if err := checkFacts(facts); err != nil {
		return err
	}
	m, err := r.Masks.Of(ctx, l)
	if err != nil {
		return err
	}
	size, latest := 0, r.Clock.Now()
	names := make([]string, 0, len(facts))
	for i := range facts {
		f := &facts[i]
		f.Host, f.Facts = m.String(f.Host), m.JSON(f.Facts)
		names = append(names, f.Host)
		size += len(f.Facts)
		if f.GatheredAt.After(latest.Add(ahead)) { // otherwise no newer facts of the host would ever apply
			f.GatheredAt = latest
		}
	}
	index, err := r.hosts.unreportedHost(ctx, l, names)
	if err != nil {
		return err
	}
	if index >= 0 {
		if _, err := r.leasedRun(ctx, l); err != nil {
			return err
		}
		return fault.BadField(fmt.Sprintf("facts[%d].host", index), "the run has told no result of this host")
	}
	return r.hosts.storeFacts(l, len(facts), size, func() error { return r.Plane.SaveFacts(ctx, l, facts) })
}
