package guard

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/query"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// Answers is a reader that also finds the run before another one.
type Answers interface {
	runs.Reader
	// Before returns the id of the newest earlier run that the scope may read, or a NoBaseline fault.
	Before(ctx context.Context, id string, s access.Scope) (string, error)
}

// Reader shows the runs that the caller may read. Any other run is reported as not found.
type Reader struct {
	next Answers
	gate *Gate
}

var _ runs.Reader = (*Reader)(nil)

// NewReader guards a reader.
func NewReader(next Answers, g *Gate) *Reader { return &Reader{next: next, gate: g} }

func (r *Reader) Get(ctx context.Context, id string) (*runs.Run, error) {
	if err := r.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	run, err := r.next.Get(ctx, id)
	return r.gate.shown(ctx, run, err)
}

// List replaces the filter's scope by that of the caller.
func (r *Reader) List(ctx context.Context, f runs.Filter) (*runs.List, error) {
	var err error
	if f.Scope, err = r.gate.Scope(ctx); err != nil {
		return nil, err
	}
	list, err := r.next.List(ctx, f)
	if err != nil {
		return nil, err
	}
	return list, r.show(ctx, list.Runs)
}

// Facets counts the runs that a caller may read.
type Facets struct {
	next runs.FacetStore
	gate *Gate
}

var _ runs.FacetReader = (*Facets)(nil)

// NewFacets guards a store.
func NewFacets(next runs.FacetStore, g *Gate) *Facets { return &Facets{next: next, gate: g} }

// Facets replaces the filter's scope by that of the caller.
func (c *Facets) Facets(ctx context.Context, f runs.Filter) (*runs.Facets, error) {
	var err error
	if f.Scope, err = c.gate.Scope(ctx); err != nil {
		return nil, err
	}
	return c.next.Facets(ctx, f)
}

func (r *Reader) show(ctx context.Context, list []*runs.Run) (err error) {
	for i := range list {
		if list[i], err = r.gate.Show(ctx, list[i]); err != nil {
			return err
		}
	}
	return nil
}

// Children needs no check of its own, since children have the objects of their parent.
func (r *Reader) Children(ctx context.Context, id string) ([]*runs.Run, error) {
	if err := r.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	list, err := r.next.Children(ctx, id)
	if err != nil {
		return nil, err
	}
	return list, r.show(ctx, list)
}

func (r *Reader) Events(ctx context.Context, id string, after int64, limit int) (*runs.EventPage, error) {
	if err := r.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return r.next.Events(ctx, id, after, limit)
}

func (r *Reader) Log(ctx context.Context, id string, rg runs.LogRange) (*runs.LogView, error) {
	if err := r.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return r.next.Log(ctx, id, rg)
}

func (r *Reader) Hosts(ctx context.Context, id string) ([]runs.HostSummary, error) {
	if err := r.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return r.next.Hosts(ctx, id)
}

func (r *Reader) Tasks(ctx context.Context, id string) ([]runs.TaskSummary, error) {
	if err := r.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return r.next.Tasks(ctx, id)
}

// Compare reports a named baseline that the caller may not read as not found. Without a name the baseline is the
// newest run that the caller may read. Compare computes nothing before it knows that both are readable.
func (r *Reader) Compare(ctx context.Context, id, with string) (*runs.Comparison, error) {
	// An unknown run is reported before an unknown baseline.
	if err := r.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	named := !query.Previous(with)
	if !named {
		s, err := r.gate.Scope(ctx)
		if err != nil {
			return nil, err
		}
		if with, err = r.next.Before(ctx, id, s); err != nil {
			return nil, err
		}
	}
	err := r.gate.Read(ctx, with)
	switch {
	case !named && runs.RunNotFound.Is(err): // the right was lost meanwhile
		return nil, query.NoPrevious()
	case err != nil:
		return nil, err
	}
	c, err := r.next.Compare(ctx, id, with)
	if err == nil {
		c.Run, err = r.gate.Show(ctx, c.Run)
	}
	if err == nil {
		c.Baseline, err = r.gate.Show(ctx, c.Baseline)
	}
	return c, err
}

// Digests recomputes the digests of runs that the caller may read.
type Digests struct {
	next runs.Digests
	gate *Gate
}

var _ runs.Digests = (*Digests)(nil)

// NewDigests guards digests.
func NewDigests(next runs.Digests, g *Gate) *Digests { return &Digests{next: next, gate: g} }

func (d *Digests) Digest(ctx context.Context, id string) (*runs.RunDigest, error) {
	if err := d.gate.Read(ctx, id); err != nil {
		return nil, err
	}
	return d.next.Digest(ctx, id)
}
