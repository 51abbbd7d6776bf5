package drift

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// Subscriber is the name of the subscriber that reads the events of runs.
const Subscriber = "drift"

// Bounds of what is read and published at once.
const (
	eventsPerPage = 5000
	maxNamed      = 20 // hosts in an event
)

// Consumer stores the drift that ended runs of playbooks report. Runs may be reported in any order, and several times.
type Consumer struct {
	Runs      runs.Store
	Events    runs.EventStore
	Summaries runs.SummaryStore
	Store     estate.DriftStore
	Ignores   estate.IgnoreStore
	Plans     runs.PlanStore
	Targets   runs.PlanTargets
	Names     Names
	// Inventories has the hosts of stored inventories. With nil, no host is gone from one.
	Inventories catalog.InventoryReferences
	Unit        tx.Unit
	Publisher   events.Publisher
	Clock       clock.Clock
}

// Subscription returns the subscription to the reports of runs.
func (c *Consumer) Subscription() events.Subscription {
	return events.On(Subscriber, func(ctx context.Context, _ string, e runs.Reported) error {
		err := background.Retry(ctx, func(ctx context.Context) error { return c.reported(ctx, e.RunID) })
		if err != nil {
			return fmt.Errorf("read the drift that run %s tells: %w", e.RunID, err)
		}
		return nil
	})
}

func (c *Consumer) reported(ctx context.Context, id string) error {
	r, err := c.Runs.ByID(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil // deleted since
	case err != nil:
		return err
	case r.Kind.Parent():
		return nil
	case r.Spec.Plannable():
		if r.Status == runs.Succeeded && !r.Spec.DryRun {
			return c.applied(ctx, r)
		}
		return nil
	case r.Spec.Tool != runs.Ansible:
		return nil
	case r.Spec.DryRun:
		return c.read(ctx, r)
	case r.Status == runs.Succeeded || r.Status == runs.Failed:
		return c.real(ctx, r)
	default:
		return nil
	}
}

// real reads a run that repairs if its target has findings. Otherwise it only stores when the run was.
func (c *Consumer) real(ctx context.Context, r *runs.Run) error {
	hosts, err := c.Summaries.Hosts(ctx, r.ID)
	if err != nil {
		return err
	}
	check := estate.Checked{Run: r, Target: estate.TargetOf(&r.Spec), Real: true}
	for _, h := range hosts {
		if h.Failed == 0 && h.Unreachable == 0 && h.Worst != runs.HostIncomplete {
			check.Hosts = append(check.Hosts, estate.HostCheck{Host: h.Host, At: r.EndedAt})
		}
	}
	drifting := false
	err = c.Unit.Do(ctx, func(ctx context.Context) (err error) {
		if drifting, err = c.Store.Drifting(ctx, check.Target.ID); err == nil && !drifting {
			_, err = c.Store.Apply(ctx, check, c.Clock.Now())
		}
		return err
	})
	if err != nil || !drifting {
		return err
	}
	return c.read(ctx, r)
}

// read reads the events of a run, page by page, and stores the drift in them.
func (c *Consumer) read(ctx context.Context, r *runs.Run) error {
	partial := len(r.Spec.Tags) > 0 || len(r.Spec.SkipTags) > 0
	reader := newReader(!r.Spec.DryRun, partial)
	for after := int64(0); ; {
		page, err := c.Events.Events(ctx, r.ID, after, eventsPerPage)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range page {
			reader.add(&page[i])
		}
		if len(page) < eventsPerPage {
			break
		}
		after = page[len(page)-1].Seq
	}
	check := estate.Checked{Run: r, Target: estate.TargetOf(&r.Spec), Real: !r.Spec.DryRun, Partial: partial}
	check.Tasks, check.Hosts = reader.checked()
	if len(check.Hosts) == 0 {
		return nil
	}
	s := &r.Spec
	if s.DryRun && !partial && reader.ended != nil && s.Limit == "" && (len(s.LimitHosts) == 0 || r.Kind == runs.Shard) {
		if err := c.allHosts(ctx, &check); err != nil {
			return err
		}
	}
	return c.Unit.Do(ctx, func(ctx context.Context) error {
		found, err := c.Store.Apply(ctx, check, c.Clock.Now())
		if err != nil || len(found) == 0 {
			return err
		}
		return c.tell(ctx, r, check.Target, found)
	})
}

// allHosts adds the hosts of the stored inventory of a run of all hosts. Shards have the inventory of the whole split.
func (c *Consumer) allHosts(ctx context.Context, check *estate.Checked) error {
	check.AllHosts = true
	if check.Target.InventoryID == "" || c.Inventories == nil {
		return nil
	}
	names, err := c.Inventories.Hosts(ctx, check.Target.InventoryID, "")
	if err == nil {
		check.Inventory = append([]string{}, names...) // an empty inventory is one
	}
	return missing(err)
}

// tell publishes what is new and that no rule leaves out.
func (c *Consumer) tell(ctx context.Context, r *runs.Run, target estate.Target, found []estate.Finding) error {
	rules, err := c.Ignores.Active(ctx, c.Clock.Now())
	if err != nil {
		return err
	}
	e := estate.DriftFound{RunID: r.ID, TargetID: target.ID, Playbook: target.Playbook, At: r.EndedAt}
	hosts := map[string]bool{}
	for i := range found {
		f := &found[i]
		if slices.ContainsFunc(rules, func(r estate.Ignore) bool { return r.Fits(f.Host, f.Resource) }) {
			continue
		}
		if e.New++; !hosts[f.Host] && len(e.Hosts) < maxNamed {
			e.Hosts = append(e.Hosts, f.Host)
		}
		hosts[f.Host] = true
	}
	if e.HostCount = len(hosts); e.New == 0 {
		return nil
	}
	return c.Publisher.Publish(ctx, e)
}
