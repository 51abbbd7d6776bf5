package query

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Sizes of pages.
const (
	defaultRuns   = 200
	maxRuns       = 1000
	defaultEvents = 500
	maxEvents     = 5000
)

// previous is the name of the baseline that is the run before.
const previous = "prev"

// Previous reports whether a baseline means the run before, not a named run.
func Previous(with string) bool { return with == "" || with == previous }

// NoPrevious is the fault of a comparison without a run before.
func NoPrevious() error { return runs.NoBaseline.New("no earlier run of the same source has ended") }

// Reader answers from the stores.
type Reader struct {
	store     runs.Store
	events    runs.EventStore
	logs      runs.LogStore
	summaries runs.SummaryStore
	clock     clock.Clock
	binder    *binding.Binder
	index     lineIndex
}

var _ runs.Reader = (*Reader)(nil)

// New returns a reader over the stores.
func New(
	store runs.Store, e runs.EventStore, l runs.LogStore, s runs.SummaryStore, c clock.Clock,
	b *binding.Binder,
) *Reader {
	return &Reader{store: store, events: e, logs: l, summaries: s, clock: c, binder: b}
}

func (q *Reader) Get(ctx context.Context, id string) (*runs.Run, error) {
	r, err := q.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := q.binder.Current(ctx, r); err != nil {
		return nil, err
	}
	if err := q.preview(ctx, r); err != nil {
		return nil, err
	}
	return record.Redact(r), nil
}

// List takes a limit of at most 1,000; the default is 200.
func (q *Reader) List(ctx context.Context, f runs.Filter) (*runs.List, error) {
	f.Limit = page.Clamp(f.Limit, defaultRuns, maxRuns)
	list, err := q.store.List(ctx, f)
	if err != nil {
		return nil, err
	}
	for i, r := range list.Runs {
		list.Runs[i] = r.Conceal()
	}
	return list, nil
}

func (q *Reader) Children(ctx context.Context, id string) ([]*runs.Run, error) {
	r, children, err := q.family(ctx, id)
	if err != nil {
		return nil, err
	}
	secrets := r.Secrets()
	for i, k := range children {
		children[i] = record.Redact(k, secrets...)
	}
	return children, nil
}

// family returns a run with its children.
func (q *Reader) family(ctx context.Context, id string) (*runs.Run, []*runs.Run, error) {
	r, err := q.store.ByID(ctx, id)
	if err != nil || !r.Kind.Parent() {
		return r, nil, err
	}
	children, err := q.store.Children(ctx, id)
	return r, children, err
}

// Events takes a limit of at most 5,000; the default is 500.
func (q *Reader) Events(ctx context.Context, id string, after int64, limit int) (*runs.EventPage, error) {
	r, err := q.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	after, limit = max(after, 0), page.Clamp(limit, defaultEvents, maxEvents)
	list, err := q.events.Events(ctx, id, after, limit)
	if err != nil {
		return nil, err
	}
	p := &runs.EventPage{Events: list, NextAfter: after}
	if n := len(list); n > 0 {
		p.NextAfter = list[n-1].Seq
	}
	// The record was read before the events. If the run had ended by then, the events are complete.
	p.End = r.Status.Terminal() && (len(list) < limit || p.NextAfter >= r.EventCount)
	return p, nil
}

// Hosts returns for a parent the hosts of its shards or of the newest attempts of its steps.
func (q *Reader) Hosts(ctx context.Context, id string) ([]runs.HostSummary, error) {
	r, children, err := q.family(ctx, id)
	if err != nil {
		return nil, err
	}
	return lifecycle.Hosts(ctx, q.summaries, lifecycle.Counted(r, children))
}

func (q *Reader) Tasks(ctx context.Context, id string) ([]runs.TaskSummary, error) {
	r, children, err := q.family(ctx, id)
	if err != nil {
		return nil, err
	}
	return q.tasks(ctx, r, children)
}
