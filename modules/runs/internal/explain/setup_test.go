package explain

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/ports/runs"
)

// stored is one run in memory.
type stored struct {
	run      runs.Run
	children []*runs.Run
	counts   int
}

func (r *stored) Children(context.Context, string) ([]*runs.Run, error) { return r.children, nil }

func (r *stored) Counts(context.Context) ([]runs.Count, error) {
	r.counts++
	return []runs.Count{{Status: runs.Pending, Queue: "q", Runs: 3}, {Status: runs.Running, Queue: "q", Runs: 2}}, nil
}

func (r *stored) ByID(_ context.Context, id string) (*runs.Run, error) {
	out := r.run
	out.ID = id
	return &out, nil
}

func (r *stored) explainer() *Explainer {
	return &Explainer{Runs: r, Binder: binding.New(nil, nil, nil)}
}
