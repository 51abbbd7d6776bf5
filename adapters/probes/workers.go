package probes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// maxWorkers is the maximum number of executors to check.
const maxWorkers = 10_000

// Fleet is the part of the worker store that the check reads.
type Fleet interface {
	Workers(ctx context.Context, w page.Window) ([]execution.Worker, int, error)
}

// Workers checks that executors report, and that every named queue has an executor.
type Workers struct {
	fleet  Fleet
	queues func(context.Context) (map[string]int, error)
}

var _ system.Check = (*Workers)(nil)

// NewWorkers returns the check for a store of workers and a function that returns the named queues with the number of
// their uses. It returns an error if a dependency is missing.
func NewWorkers(fleet Fleet, queues func(context.Context) (map[string]int, error)) (*Workers, error) {
	if fleet == nil || queues == nil {
		return nil, errors.New("probes: a dependency of the check of workers is missing")
	}
	return &Workers{fleet: fleet, queues: queues}, nil
}

func (*Workers) Name() string { return "workers" }

// Examine checks at most 10,000 executors and all named queues.
func (c *Workers) Examine(ctx context.Context) (system.Examination, error) {
	var out system.Examination
	served := make(map[string]bool)
	for offset := 0; offset < maxWorkers; {
		list, total, err := c.fleet.Workers(ctx, page.Window{Offset: offset})
		if err != nil {
			return out, fmt.Errorf("list executors: %w", err)
		}
		for _, w := range list {
			out.Examined++
			if !w.Fresh {
				out.Findings = append(out.Findings, lost(w))
				continue
			}
			for _, q := range w.Queues {
				served[q] = served[q] || w.Executors > 0
			}
		}
		if offset += len(list); len(list) == 0 || offset >= total {
			break
		}
	}
	named, err := c.queues(ctx)
	if err != nil {
		return out, fmt.Errorf("list the queues that are named: %w", err)
	}
	out.Examined += len(named)
	for _, q := range slices.Sorted(maps.Keys(named)) {
		if named[q] > 0 && !served[q] {
			out.Findings = append(out.Findings, unserved(q, named[q]))
		}
	}
	return out, nil
}

func lost(w execution.Worker) system.Finding {
	return system.Finding{
		Severity: system.Warning, Object: system.Subject{Kind: "worker", ID: w.Name, Name: execution.ShownName(w.Name)},
		Problem: "the executor has not reported since " + w.SeenAt.UTC().Format(time.RFC3339),
		Fix:     "start it again, or leave it: one that stays away is forgotten after a day", Link: "/v1/workers",
	}
}

func unserved(queue string, times int) system.Finding {
	what := "objects name"
	if times == 1 {
		what = "object names"
	}
	return system.Finding{
		Severity: system.Warning, Object: system.Subject{Kind: "queue", ID: queue, Name: queue},
		Problem: fmt.Sprintf("%d %s the queue %q and no executor that reports serves it", times, what, queue),
		Fix:     "start an executor with this queue, or let what names it name another one", Link: "/v1/workers",
	}
}
