package desk

import (
	"context"
	"errors"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

func TestAgain(t *testing.T) {
	t.Parallel()
	changed, other := error(scheduling.RevisionChanged.New("changed")), errors.New("other")
	for _, c := range []struct {
		revision int64
		errs     []error
		calls    int
		want     error
	}{
		{0, []error{nil}, 1, nil},
		{0, []error{changed, nil}, 2, nil},
		{0, []error{changed, changed, changed, nil}, 3, changed},
		{0, []error{other, nil}, 1, other},
		{7, []error{changed, nil}, 1, changed},
	} {
		n, waits := 0, units(0)
		err := Kernel{Unit: &waits}.Again(t.Context(), c.revision, func() error { n++; return c.errs[n-1] })
		if !errors.Is(err, c.want) || n != c.calls || int(waits) != c.calls-1 {
			t.Errorf("%+v: %v after %d calls and %d units", c, err, n, waits)
		}
	}
}

// units counts them.
type units int

func (u *units) Do(ctx context.Context, fn func(context.Context) error) error {
	*u++
	return fn(ctx)
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	refs := Refs{{"run.project_id", "prj_1"}, {"run.inventory_id", "inv_1"}}
	var f *fault.Error
	if err := refs.Unknown(catalog.ObjectNotFound.New("none").With("id", "inv_1")); !errors.As(err, &f) ||
		f.Code != "inventory_not_found" || f.Fields[0].Location != "run.inventory_id" || f.Message != `run.inventory_id: no inventory "inv_1"` {
		t.Errorf("%+v", f)
	}
	for _, err := range []error{errors.New("other"), catalog.ObjectNotFound.New("none"), catalog.ObjectNotFound.New("none").With("id", "crd_1")} {
		if got := refs.Unknown(err); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if Refs(nil).Unknown(nil) != nil || Below("run", nil) != nil {
		t.Error("nothing became a fault")
	}
}
