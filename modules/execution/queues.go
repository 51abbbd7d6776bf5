package execution

import (
	"context"
	"maps"
	"slices"

	"github.com/writ-automation/writ/modules/execution/internal/admission"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Queues lists and limits the queues of an install.
type Queues struct{ QueueParams }

var _ execution.Queues = (*Queues)(nil)

// NewQueues makes the list of queues.
func NewQueues(p QueueParams) *Queues { return &Queues{p} }

// known returns the queues that something names.
func (k *Queues) known(ctx context.Context) (map[string]*execution.Queue, error) {
	all := map[string]*execution.Queue{}
	named := func(name string) *execution.Queue {
		if all[name] == nil {
			all[name] = &execution.Queue{Name: name}
		}
		return all[name]
	}
	named(runs.DefaultQueue)
	limits, err := k.Store.QueueLimits(ctx)
	if err != nil {
		return nil, err
	}
	for name, n := range limits {
		named(name).MaxConcurrent = n
	}
	counts, err := k.Runs.Counts(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range counts {
		switch q := named(c.Queue); c.Status {
		case runs.Pending:
			q.Pending = c.Top
		case runs.Running:
			q.Running = c.Top
		}
	}
	workers, _, err := k.Workers.Workers(ctx, page.Window{})
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		for _, name := range w.Queues {
			if q := named(name); w.Fresh {
				q.Workers++
			}
		}
	}
	granted, _, err := k.Objects.Readable(ctx, identity.KindQueue, access.Everything(), page.Window{})
	for _, o := range granted {
		if name, ok := access.QueueName(o); ok {
			named(name)
		}
	}
	return all, err
}

func (k *Queues) Queue(ctx context.Context, name string) (execution.Queue, error) {
	none := runs.QueueNotFound.New("no queue %q", name)
	if !admission.QueueName.MatchString(name) {
		return execution.Queue{}, none
	}
	ok, err := k.Guard.May(ctx, access.Read, access.Queue(name))
	if err != nil {
		return execution.Queue{}, err
	}
	all, err := k.known(ctx)
	if err != nil {
		return execution.Queue{}, err
	}
	if q := all[name]; ok && q != nil {
		return *q, nil
	}
	return execution.Queue{}, none
}

func (k *Queues) Queues(ctx context.Context, w page.Window) ([]execution.Queue, int, error) {
	all, err := k.known(ctx)
	if err != nil {
		return nil, 0, err
	}
	var list []execution.Queue
	for _, name := range slices.Sorted(maps.Keys(all)) {
		ok, err := k.Guard.May(ctx, access.Read, access.Queue(name))
		if err != nil {
			return nil, 0, err
		}
		if ok {
			list = append(list, *all[name])
		}
	}
	from := min(w.Offset, len(list))
	to := len(list)
	if w.Limit > 0 {
		to = min(from+w.Limit, to)
	}
	return list[from:to], len(list), nil
}

func (k *Queues) LimitQueue(ctx context.Context, name string, maxConcurrent int) (execution.Queue, error) {
	switch {
	case !admission.QueueName.MatchString(name):
		return execution.Queue{}, fault.BadField("name", "is not the name of a queue")
	case maxConcurrent < 0 || maxConcurrent > runs.MaxConcurrent:
		return execution.Queue{}, fault.BadField("max_concurrent", "expected a number from 0 to %d", runs.MaxConcurrent)
	}
	err := k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.Store.PutQueueLimit(ctx, name, maxConcurrent); err != nil {
			return err
		}
		if k.Limits != nil {
			if err := k.Limits.SetLimit(ctx, runs.SlotKey(runs.QueueSlot+name), maxConcurrent); err != nil {
				return err
			}
		}
		return k.Recorder.Record(ctx, audit.Entry{
			Action: audit.QueueUpdate, Object: audit.Object{Kind: "queue", ID: name, Name: name},
			Detail: map[string]any{"max_concurrent": maxConcurrent},
		})
	})
	if err != nil {
		return execution.Queue{}, err
	}
	k.Log.InfoContext(ctx, "queue limited", "queue", name, "max_concurrent", maxConcurrent, "by", object.Author(ctx))
	all, err := k.known(ctx)
	if err != nil {
		return execution.Queue{}, err
	}
	if q := all[name]; q != nil {
		return *q, nil
	}
	return execution.Queue{Name: name}, nil
}
