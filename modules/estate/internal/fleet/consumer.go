package fleet

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// Runs reads the runs that events name.
type Runs interface {
	ByID(ctx context.Context, id string) (*runs.Run, error)
}

// Summaries reads the results of a run.
type Summaries interface {
	Hosts(ctx context.Context, runID string) ([]runs.HostSummary, error)
	Tasks(ctx context.Context, runID string) ([]runs.TaskSummary, error)
}

// partHosts bounds the hosts of one unit of work, so that a run of many hosts keeps no other writer waiting.
const partHosts = 500

// Consumer stores the results of runs when they have ended.
type Consumer struct {
	Runs      Runs
	Summaries Summaries
	Store     estate.FleetStore
	Unit      tx.Unit
}

// Subscription returns the subscription to runs with results of hosts.
func (c *Consumer) Subscription() events.Subscription {
	return events.On("estate", func(ctx context.Context, _ string, e runs.Reported) error {
		return background.Retry(ctx, func(ctx context.Context) error { return c.report(ctx, e.RunID) })
	})
}

// report stores the results of a run once. A run that was deleted has none any more.
func (c *Consumer) report(ctx context.Context, id string) error {
	r, err := c.Runs.ByID(ctx, id)
	if err != nil {
		return unlessGone(id, err)
	}
	hosts, err := c.Summaries.Hosts(ctx, id)
	if err != nil {
		return unlessGone(id, err)
	}
	tasks, err := c.Summaries.Tasks(ctx, id)
	if err != nil {
		return unlessGone(id, err)
	}
	for part := (estate.RunReport{Run: r.Conceal()}); ; part.First += partHosts {
		part.Hosts = hosts[part.First:min(part.First+partHosts, len(hosts))]
		last := part.First+partHosts >= len(hosts)
		if last {
			part.Tasks = tasks
		}
		err := c.Unit.Do(ctx, func(ctx context.Context) error { return c.Store.Report(ctx, part) })
		if err != nil {
			return fmt.Errorf("report run %s: %w", id, err)
		}
		if last {
			return nil
		}
	}
}

func unlessGone(id string, err error) error {
	if runs.RunNotFound.Is(err) {
		return nil
	}
	return fmt.Errorf("read the results of run %s: %w", id, err)
}
