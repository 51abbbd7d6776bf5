package guard

import (
	"context"

	"github.com/writ-automation/writ/ports/runs"
)

// Plans shows the plans of the runs that the caller may read.
type Plans struct {
	next runs.Plans
	gate *Gate
}

var _ runs.Plans = (*Plans)(nil)

// NewPlans guards plans.
func NewPlans(next runs.Plans, g *Gate) *Plans { return &Plans{next: next, gate: g} }

func (p *Plans) Plan(ctx context.Context, runID string) (*runs.StoredPlan, error) {
	if err := p.gate.Read(ctx, runID); err != nil {
		return nil, err
	}
	return p.next.Plan(ctx, runID)
}
