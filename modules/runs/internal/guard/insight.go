package guard

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/insight"
	"github.com/writ-automation/writ/ports/runs"
)

// Insight answers questions about the runs that the caller may read.
type Insight struct {
	next runs.Insight
	gate *Gate
}

var _ runs.Insight = (*Insight)(nil)

// NewInsight guards an insight.
func NewInsight(next runs.Insight, g *Gate) *Insight { return &Insight{next: next, gate: g} }

func (x *Insight) Matrix(ctx context.Context, id string, q runs.MatrixQuery) (*runs.Matrix, error) {
	if err := x.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return x.next.Matrix(ctx, id, q)
}

func (x *Insight) Failures(ctx context.Context, id string) ([]runs.FailureGroup, error) {
	if err := x.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return x.next.Failures(ctx, id)
}

// Find refuses an invalid query before it looks at the run.
func (x *Insight) Find(ctx context.Context, id string, q runs.LogQuery) (*runs.LogHits, error) {
	if err := insight.CheckQuery(q); err != nil {
		return nil, err
	}
	if err := x.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return x.next.Find(ctx, id, q)
}

func (x *Insight) Why(ctx context.Context, id string) (*runs.Explanation, error) {
	if err := x.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return x.next.Why(ctx, id)
}
