package query

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Objects returns the objects whose permissions decide who may read a run.
type Objects interface {
	Objects(ctx context.Context, id string) ([]string, error)
}

// Reader lists the notifications of runs.
type Reader struct {
	store   notify.Store
	guard   access.Guard
	objects Objects
}

var _ notify.Reader = (*Reader)(nil)

// New returns a Reader.
func New(s notify.Store, g access.Guard, o Objects) *Reader {
	return &Reader{store: s, guard: g, objects: o}
}

func (r *Reader) List(ctx context.Context, runID string, w page.Window) ([]notify.Delivery, int, error) {
	objects, err := r.objects.Objects(ctx, runID)
	if err != nil {
		return nil, 0, err
	}
	if err := r.may(ctx, runID, objects); err != nil {
		return nil, 0, err
	}
	return r.store.ListDeliveries(ctx, runID, w)
}

// may returns RunNotFound unless the caller may read every object of the run. A run without objects is readable only
// for callers who may read everything.
func (r *Reader) may(ctx context.Context, id string, objects []string) error {
	s, err := r.guard.Scope(ctx)
	if err == nil && s.All {
		return nil
	}
	ok := false
	if err == nil && len(objects) > 0 {
		ok, err = r.guard.May(ctx, access.Read, objects...)
	}
	switch {
	case err != nil:
		return fmt.Errorf("decide what may be read: %w", err)
	case !ok:
		return runs.RunNotFound.New("no run %q", id)
	default:
		return nil
	}
}
