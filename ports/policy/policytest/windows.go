package policytest

import (
	"context"
	"errors"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func windows(e *env) objecttest.Store[policy.Window] {
	s := e.Windows
	return objecttest.Store[policy.Window]{
		Prefix: ids.Window, Missing: policy.WindowNotFound, Shared: true,
		Record: func(w *policy.Window) *object.Record { return &w.Record },
		Plain: func(r object.Record) policy.Window {
			return policy.Window{Record: r, Mode: policy.DenyWindow, Outside: policy.OutsideWait}
		},
		Full: func(r object.Record) policy.Window {
			return policy.Window{
				Record: r, Mode: policy.AllowWindow, Enabled: true,
				Match: policy.Match{Tools: []string{odd}, Labels: map[string]string{"env": "*"}, LimitMissing: true},
				Cron:  odd, Duration: 1 << 40, From: odd + "1", To: odd + "2", Timezone: odd + "3",
				Outside: policy.OutsideDeny,
			}
		},
		Change: func(w *policy.Window) {
			w.Mode, w.Enabled, w.Match = policy.DenyWindow, !w.Enabled, policy.Match{Playbook: "'a'"}
			w.Cron, w.Duration, w.From, w.To, w.Timezone = "'b'", 60, "'c'", "'d'", "'e'"
			w.Outside = policy.OutsideWait
		},
		Insert: s.Insert, ByID: s.ByID, Update: s.Update, Remove: s.Delete,
		List: func(ctx context.Context, _ access.Scope, f catalog.Filter, w page.Window) ([]policy.Window, int, error) {
			return s.List(ctx, policy.Filter{Name: f.Name}, w)
		},
	}
}

// windowVersions checks that a write of windows counts as one of windows and one of policies, and a write of policies
// as one of policies alone.
func windowVersions(t *testing.T, e *env) {
	want := func(ctx context.Context, what string, rules, ofWindows int64) {
		t.Helper()
		v, err := e.Windows.Version(ctx)
		txtest.NoError(t, err)
		txtest.Same(t, what+", policies and windows", rules, e.version(ctx, t))
		txtest.Same(t, what+", windows", ofWindows, v)
	}
	s := windows(e)
	w := s.Plain(e.Record(s.Prefix, ""))
	stop := errors.New("stop")
	for i, write := range []func(ctx context.Context) error{
		func(ctx context.Context) error { return e.Windows.Insert(ctx, w) },
		func(ctx context.Context) error {
			_, err := e.Windows.Update(ctx, w, 0)
			return err
		},
		func(ctx context.Context) error { return e.Windows.Delete(ctx, w.ID, 0) },
	} {
		n := int64(i)
		want(t.Context(), "before", n, n)
		err := e.Do(t, func(ctx context.Context) error {
			txtest.NoError(t, write(ctx))
			want(ctx, "in the unit", n+1, n+1)
			return stop
		})
		if !errors.Is(err, stop) {
			t.Error(err)
		}
		want(t.Context(), "after a rollback", n, n)
		e.Must(t, write)
	}
	e.Must(t, func(ctx context.Context) error {
		return e.Policies.Insert(ctx, policies(e).Plain(e.Record("pol_", "")))
	})
	want(t.Context(), "after a policy", 4, 3)
	if err := e.Windows.Insert(t.Context(), w); err == nil {
		t.Error("a write outside of a unit")
	}
}

func enabledWindows(t *testing.T, e *env) {
	s := windows(e)
	var want []policy.Window
	e.Must(t, func(ctx context.Context) error {
		want = nil
		for _, name := range []string{"b", "a", "c", "B"} {
			w := s.Full(e.Record(s.Prefix, name))
			w.Enabled = name != "c"
			if err := e.Windows.Insert(ctx, w); err != nil {
				return err
			}
			stored, err := e.Windows.ByID(ctx, w.ID)
			if err != nil {
				return err
			}
			want = append(want, stored)
		}
		return nil
	})
	list, version, err := e.Windows.Enabled(t.Context())
	txtest.NoError(t, err)
	txtest.Same(t, "enabled by name", []policy.Window{want[3], want[1], want[0]}, list)
	txtest.Same(t, "version", int64(4), version)
}
