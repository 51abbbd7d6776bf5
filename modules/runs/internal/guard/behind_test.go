package guard

import (
	"context"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// behind is the guarded implementation. It counts the calls that pass the guards.
type behind struct {
	calls  int
	run    *runs.Run // what every call returns
	filter runs.Filter
	prev   string
	scope  access.Scope
	follow func(ctx context.Context, emit func(runs.Update) error) error
}

func (b *behind) Get(context.Context, string) (*runs.Run, error) { b.calls++; return b.run, nil }
func (b *behind) List(_ context.Context, f runs.Filter) (*runs.List, error) {
	b.calls++
	b.filter = f
	return &runs.List{Runs: []*runs.Run{b.run}}, nil
}
func (b *behind) Children(context.Context, string) ([]*runs.Run, error) {
	b.calls++
	return []*runs.Run{b.run}, nil
}
func (b *behind) Events(context.Context, string, int64, int) (*runs.EventPage, error) {
	b.calls++
	return nil, nil
}
func (b *behind) Log(context.Context, string, runs.LogRange) (*runs.LogView, error) {
	b.calls++
	return nil, nil
}
func (b *behind) Hosts(context.Context, string) ([]runs.HostSummary, error) {
	b.calls++
	return nil, nil
}
func (b *behind) Tasks(context.Context, string) ([]runs.TaskSummary, error) {
	b.calls++
	return nil, nil
}
func (b *behind) Digest(context.Context, string) (*runs.RunDigest, error) {
	b.calls++
	return nil, nil
}
func (b *behind) Compare(context.Context, string, string) (*runs.Comparison, error) {
	b.calls++
	return &runs.Comparison{Run: b.run, Baseline: b.run}, nil
}
func (b *behind) Before(_ context.Context, _ string, s access.Scope) (string, error) {
	b.scope = s
	if b.prev == "" {
		return "", runs.NoBaseline.New("no earlier run has ended")
	}
	return b.prev, nil
}
func (b *behind) Matrix(context.Context, string, runs.MatrixQuery) (*runs.Matrix, error) {
	b.calls++
	return nil, nil
}
func (b *behind) Failures(context.Context, string) ([]runs.FailureGroup, error) {
	b.calls++
	return nil, nil
}
func (b *behind) Find(context.Context, string, runs.LogQuery) (*runs.LogHits, error) {
	b.calls++
	return nil, nil
}
func (b *behind) Why(context.Context, string) (*runs.Explanation, error) { b.calls++; return nil, nil }
func (b *behind) Follow(ctx context.Context, _ string, _, _ int64, emit func(runs.Update) error) error {
	b.calls++
	if b.follow == nil {
		return nil
	}
	return b.follow(ctx, emit)
}
func (b *behind) Mint(context.Context, string) (string, error) { b.calls++; return "", nil }
func (b *behind) Redeem(context.Context, string, string) (runs.TicketOwner, error) {
	b.calls++
	return runs.TicketOwner{}, nil
}
func (b *behind) Cancel(context.Context, string) (*runs.Run, error) { b.calls++; return b.run, nil }
func (b *behind) Retry(context.Context, string) (*runs.Run, error)  { b.calls++; return b.run, nil }
func (b *behind) Rerun(context.Context, string) (*runs.Run, error)  { b.calls++; return b.run, nil }
func (b *behind) SetQueue(context.Context, string, string, int64) (*runs.Run, error) {
	b.calls++
	return b.run, nil
}
func (b *behind) Approve(context.Context, string, runs.DecisionInput) (*runs.Run, error) {
	b.calls++
	return b.run, nil
}
func (b *behind) Reject(context.Context, string, runs.DecisionInput) (*runs.Run, error) {
	b.calls++
	return b.run, nil
}
