package runs_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/tx"
)

// trail keeps the entries of units that committed, each with who acted. While it fails no unit with an entry commits.
type trail struct {
	fails atomic.Bool
	mu    sync.Mutex
	all   []audit.Entry
}

func (t *trail) Record(ctx context.Context, e audit.Entry) error {
	if e.By == nil {
		a := actor.From(ctx)
		e.By = &a
	}
	return tx.BeforeCommit(ctx, t, e, t.link)
}

func (t *trail) link(ctx context.Context, list []audit.Entry) error {
	if t.fails.Load() {
		return audit.Unrecorded.New("the trail takes nothing")
	}
	tx.OnCommit(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all = append(t.all, list...)
	})
	return nil
}

// of returns the entries about an object, "run/<id>".
func (t *trail) of(id string) (out []audit.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.all {
		if e.Object.ID == id {
			out = append(out, e)
		}
	}
	return out
}

// actions returns what happened to a run, in order.
func (t *trail) actions(id string) (out []audit.Action) {
	for _, e := range t.of(id) {
		out = append(out, e.Action)
	}
	return out
}

// count returns how often something was done to a run.
func (t *trail) count(id string, a audit.Action) (n int) {
	for _, x := range t.actions(id) {
		if x == a {
			n++
		}
	}
	return n
}

// ended returns the runs that have an end.
func (t *trail) ended() (out []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.all {
		if e.Final {
			out = append(out, e.Object.ID)
		}
	}
	return out
}

func (t *trail) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// since returns the entries that followed the first n.
func (t *trail) since(n int) []audit.Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all[n:])
}
