package object_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
)

// levels is a guard whose caller has a level on each object.
type levels struct {
	of     map[string]access.Level
	all    bool
	broken error
}

func (l levels) May(_ context.Context, want access.Level, objects ...string) (bool, error) {
	for _, o := range objects {
		if !l.of[o].Covers(want) {
			return false, l.broken
		}
	}
	return true, l.broken
}

func (l levels) Scope(context.Context) (access.Scope, error) { return access.Scope{All: l.all}, nil }

// TestHidden shows all references to whoever may read everything or manage the object, and to others only those that
// they may read.
func TestHidden(t *testing.T) {
	t.Parallel()
	refs := object.References(nil).AddList("credential_ids", ids.Credential, []string{"crd_1", "crd_2", "crd_1"})
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		guard levels
		refs  object.References
		want  map[string]bool
		err   error
	}{
		{"everything", levels{all: true}, refs, nil, nil},
		{"a manager", levels{of: map[string]access.Level{"inv_1": access.Manage}}, refs, nil, nil},
		{"a user", levels{of: map[string]access.Level{"inv_1": access.Use, "crd_2": access.Read}}, refs,
			map[string]bool{"crd_1": true, "crd_2": false}, nil},
		{"nothing to hide", levels{broken: broken}, nil, nil, nil},
		{"no decision", levels{broken: broken}, refs, nil, broken},
	} {
		got, err := (&object.Permissions{Guard: c.guard}).Hidden(t.Context(), "inv_1", c.refs)
		if d := cmp.Diff(c.want, got); d != "" || !errors.Is(err, c.err) {
			t.Errorf("%s: %s%v", c.name, d, err)
		}
	}
}
