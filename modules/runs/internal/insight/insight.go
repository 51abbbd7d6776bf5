package insight

import (
	"context"

	"github.com/writ-automation/writ/ports/runs"
)

// pageSize is how many events are read at a time.
const pageSize = 5000

// Insight answers from the stores and from what was reported to this process.
type Insight struct {
	store  runs.Store
	events runs.EventStore
	logs   runs.LogStore
	cache  *cache
}

var _ runs.Insight = (*Insight)(nil)

// New returns an insight over the stores.
func New(store runs.Store, e runs.EventStore, l runs.LogStore) *Insight {
	return &Insight{store: store, events: e, logs: l, cache: newCache()}
}

// Observe takes stored events of a run as they arrive, so that the first question about a live run need not read
// them. It never waits: where somebody is asking just now, the question reads them itself.
func (x *Insight) Observe(runID string, events []runs.Event) {
	if !tellsCells(events) {
		return
	}
	b := x.cache.peek(runID)
	if b == nil {
		// A run's first events make its builder; one that is joined later would have to be read anyway.
		if events[0].Seq > firstSeqs {
			return
		}
		b = x.cache.get(runID)
	}
	if b.mu.TryLock() {
		defer b.mu.Unlock()
		if b.seq == 0 && events[0].Seq <= firstSeqs {
			b.seq = events[0].Seq - 1
		}
		b.take(events)
	}
}

// firstSeqs is how many events of its states may come before what a run reports itself.
const firstSeqs = 8

// tellsCells reports whether the events come from a run that has tasks and hosts.
func tellsCells(events []runs.Event) bool {
	for i := range events {
		if e := &events[i]; e.Play != "" || e.TaskID != "" || e.Host != "" {
			return true
		}
	}
	return false
}

// Matrix implements runs.Insight.
func (x *Insight) Matrix(ctx context.Context, id string, q runs.MatrixQuery) (*runs.Matrix, error) {
	var m *runs.Matrix
	err := x.with(ctx, id, func(b *builder) { m = b.matrix(q) })
	return m, err
}

// Failures implements runs.Insight.
func (x *Insight) Failures(ctx context.Context, id string) ([]runs.FailureGroup, error) {
	var out []runs.FailureGroup
	err := x.with(ctx, id, func(b *builder) { out = b.fold.list() })
	return out, err
}

// with calls fn with the run's builder after it has caught up with what is stored.
func (x *Insight) with(ctx context.Context, id string, fn func(*builder)) error {
	r, err := x.store.ByID(ctx, id)
	if err != nil {
		return err
	}
	b := x.cache.get(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.seq < r.EventCount {
		page, err := x.events.Events(ctx, id, b.seq, pageSize)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			b.seq = r.EventCount // retention has dropped them
			break
		}
		if !b.take(page) {
			b.seq = page[0].Seq - 1
			b.take(page)
		}
	}
	fn(b)
	return nil
}
