package execution

import (
	"context"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

// Fleet lists the executors.
type Fleet struct {
	store execution.WorkerStore
	guard access.Guard
}

var _ execution.Fleet = (*Fleet)(nil)

// NewFleet makes a fleet from the reports of executors.
func NewFleet(store execution.WorkerStore, guard access.Guard) *Fleet {
	return &Fleet{store: store, guard: guard}
}

func (f *Fleet) Workers(ctx context.Context, w page.Window) ([]execution.Worker, int, error) {
	list, total, err := f.store.Workers(ctx, w)
	if err != nil {
		return nil, 0, err
	}
	readable := map[string]bool{}
	for i := range list {
		kept := make([]string, 0, len(list[i].Queues))
		for _, q := range list[i].Queues {
			ok, known := readable[q]
			if !known {
				if ok, err = f.guard.May(ctx, access.Read, access.Queue(q)); err != nil {
					return nil, 0, err
				}
				readable[q] = ok
			}
			if ok {
				kept = append(kept, q)
			}
		}
		list[i].Queues = kept
	}
	return list, total, nil
}
