package object_test

import (
	"context"
	"errors"
	"testing"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	changed, other := error(object.RevisionChanged.New("changed")), errors.New("other")
	for _, c := range []struct {
		revision int64
		errs     []error
		calls    int
		want     error
	}{
		{0, []error{nil}, 1, nil},
		{0, []error{changed, nil}, 2, nil},
		{0, []error{changed, changed, changed, changed, changed, nil}, 5, changed},
		{0, []error{other, nil}, 1, other},
		{7, []error{changed, nil}, 1, changed},
	} {
		n, waits := 0, units(0)
		err := (&object.Kernel{Unit: &waits}).Retry(t.Context(), c.revision, func() error { n++; return c.errs[n-1] })
		if !errors.Is(err, c.want) || n != c.calls || int(waits) != c.calls-1 {
			t.Errorf("%+v: %v after %d calls and %d units", c, err, n, waits)
		}
	}
}

// units counts units of work.
type units int

func (u *units) Do(ctx context.Context, fn func(context.Context) error) error {
	*u++
	return fn(ctx)
}

// usage fails with an error.
type usage struct {
	object.Usage
	err error
}

func (u usage) Name(context.Context, string, []string) error { return u.err }

func TestStoreReferences(t *testing.T) {
	t.Parallel()
	refs := object.References(nil).Add("run.project_id", ids.Project, "prj_1").
		Add("run.inventory_id", ids.Inventory, "inv_1")
	var f *fault.Error
	err := refs.Store(t.Context(), usage{err: object.NotFound.New("none").With("id", "inv_1")}, "sch_1")
	if !errors.As(err, &f) || f.Code != "inventory_not_found" || f.Fields[0].Location != "run.inventory_id" ||
		f.Message != `run.inventory_id: no inventory "inv_1"` {
		t.Errorf("%+v", f)
	}
	for _, want := range []error{errors.New("other"), object.NotFound.New("none"),
		object.NotFound.New("none").With("id", "crd_1"), nil} {
		if got := refs.Store(t.Context(), usage{err: want}, "sch_1"); !errors.Is(got, want) {
			t.Errorf("%v became %v", want, got)
		}
	}
}
