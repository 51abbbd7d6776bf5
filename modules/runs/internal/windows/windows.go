// Package windows asks windows about runs, and opens and closes them for those that wait. It reads inventories, so it
// is used outside of units.
package windows

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Windows asks about runs that exist. If its evaluator is nil, there are no windows.
type Windows struct {
	policies policy.Evaluator
	binder   *binding.Binder
}

// New returns windows of an evaluator.
func New(e policy.Evaluator, b *binding.Binder) *Windows { return &Windows{e, b} }

// Ask asks about a run without a parent.
func (w *Windows) Ask(ctx context.Context, r *runs.Run) (policy.Timing, error) {
	if w.policies == nil {
		return policy.Timing{}, nil
	}
	hosts, err := w.binder.Hosts(ctx, r)
	if err != nil {
		return policy.Timing{}, fmt.Errorf("count the hosts of run %s: %w", r.ID, err)
	}
	return w.policies.Timing(ctx, r, hosts)
}

// Recheck fails the unit of ctx if windows change after an answer and before the unit commits.
func (w *Windows) Recheck(ctx context.Context, t policy.Timing) error {
	if w.policies == nil {
		return nil
	}
	return w.policies.Recheck(ctx, t)
}

// Wait returns what an answer means for a run, nil if no window applies to it.
func Wait(t policy.Timing, now time.Time) *runs.Wait {
	out := &runs.Wait{Since: now, Opens: t.Opens, Again: t.Again, Version: t.Version}
	switch {
	case t.Closed != nil:
		out.WindowID, out.Window = t.Closed.ID, t.Closed.Name
	case t.Again.IsZero():
		return nil
	}
	return out
}
