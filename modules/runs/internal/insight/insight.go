package insight

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/runs/internal/explain"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/runs"
)

// pageSize is how many events are read at a time.
const pageSize = 5000

// Insight answers from the stores and from the reports to this process.
type Insight struct {
	*explain.Explainer
	store  runs.Store
	events runs.EventStore
	logs   runs.LogStore
	cache  *cache
}

var _ runs.Insight = (*Insight)(nil)

// New returns an insight over the stores.
func New(store runs.Store, e runs.EventStore, l runs.LogStore, x *explain.Explainer) *Insight {
	return &Insight{Explainer: x, store: store, events: e, logs: l, cache: newCache()}
}

// Observe takes stored events of a run as they arrive, so that the first question about a live run need not read
// them. It never waits: if a question holds the builder, that question reads the events from the store.
func (x *Insight) Observe(runID string, events []runs.Event) {
	if !tellsCells(events) {
		return
	}
	b := x.cache.peek(runID)
	if b == nil {
		// Only a run's first events make a builder. A builder that starts later must read the store anyway.
		if events[0].Seq > firstSeqs {
			return
		}
		b = x.cache.get(runID)
	}
	if b.mu.TryLock() {
		defer b.mu.Unlock()
		f := b.feed(runID, "")
		if f.seq == 0 && events[0].Seq <= firstSeqs {
			f.unseen = events[0].Seq - 1
			b.skip(f, f.unseen)
		}
		b.take(f, events)
	}
}

// firstSeqs is how many events of state changes may precede the events that a run reports. The first question looks
// whether they are that: this process may have begun after the run.
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

func (x *Insight) Matrix(ctx context.Context, id string, q runs.MatrixQuery) (*runs.Matrix, error) {
	var m *runs.Matrix
	err := x.with(ctx, id, func(b *builder) { m = b.matrix(q) })
	return m, err
}

func (x *Insight) Failures(ctx context.Context, id string) ([]runs.FailureGroup, error) {
	var out []runs.FailureGroup
	err := x.with(ctx, id, func(b *builder) { out = b.fold.list() })
	return out, err
}

// part is a run whose events a builder takes.
type part struct {
	run    string
	prefix string
	events int64
}

// with calls fn with the run's builder after the builder has taken all stored events.
func (x *Insight) with(ctx context.Context, id string, fn func(*builder)) error {
	r, err := x.store.ByID(ctx, id)
	if err != nil {
		return err
	}
	return x.withRun(ctx, r, r.EventCount, fn)
}

// withRun is with for a run that the caller has read. The builder takes at least the first upTo of the run's own
// events.
func (x *Insight) withRun(ctx context.Context, r *runs.Run, upTo int64, fn func(*builder)) (err error) {
	parts := []part{{run: r.ID, events: upTo}}
	if r.Kind.Parent() {
		if parts, err = x.children(ctx, r); err != nil {
			return err
		}
	}
	b := x.cache.get(r.ID)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropStale(parts)
	for _, p := range parts {
		if err := x.catchUp(ctx, b, p); err != nil {
			return err
		}
	}
	fn(b)
	return nil
}

// children lists the runs that a parent consists of: its shards, which run the same tasks, or the newest attempts of
// its steps, which do not.
func (x *Insight) children(ctx context.Context, r *runs.Run) ([]part, error) {
	children, err := x.store.Children(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	count := make(map[string]int64, len(children))
	for _, k := range children {
		count[k.ID] = k.EventCount
	}
	var parts []part
	for _, id := range lifecycle.Counted(r, children) {
		p := part{run: id, events: count[id]}
		if r.Kind == runs.Pipeline {
			p.prefix = id
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// dropStale empties the builder if it holds a run that no longer counts, such as an earlier attempt of a step.
func (b *builder) dropStale(parts []part) {
	known := 0
	for _, p := range parts {
		if b.feeds[p.run] != nil {
			known++
		}
	}
	if known == len(b.feeds) {
		return
	}
	b.restart(b.rev + 1)
}

// restart empties the builder, and lets it begin at a revision.
func (b *builder) restart(rev int64) {
	fresh := newBuilder()
	b.feeds, b.hosts, b.names, b.tasks, b.index = fresh.feeds, fresh.hosts, fresh.names, fresh.tasks, fresh.index
	b.cells, b.size, b.fold, b.past = fresh.cells, 0, fresh.fold, history{lost: rev}
	b.rev = rev
	b.began = rev
	b.order++
}

// readUnseen reads the events before the first observed ones. If the matrix needs them, it begins anew, which no
// follower notices: this precedes the first answer.
func (x *Insight) readUnseen(ctx context.Context, b *builder, p part) error {
	f := b.feed(p.run, p.prefix)
	if f.unseen == 0 {
		return nil
	}
	first, err := x.events.Events(ctx, p.run, 0, int(f.unseen))
	if err != nil {
		return err
	}
	if n := slices.IndexFunc(first, func(e runs.Event) bool { return e.Seq > f.unseen }); n >= 0 {
		first = first[:n]
	}
	if f.unseen = 0; tellsCells(first) {
		b.restart(0)
	}
	return nil
}

// catchUp takes the stored events of a run that the builder has not taken.
func (x *Insight) catchUp(ctx context.Context, b *builder, p part) error {
	if err := x.readUnseen(ctx, b, p); err != nil {
		return err
	}
	f := b.feed(p.run, p.prefix)
	for f.seq < p.events {
		page, err := x.events.Events(ctx, p.run, f.seq, pageSize)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			b.skip(f, p.events) // retention has dropped them
			break
		}
		if !b.take(f, page) {
			b.skip(f, page[0].Seq-1)
			b.take(f, page)
		}
	}
	return nil
}
