package execution_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	sqlexecution "github.com/writ-automation/writ/adapters/sqlstore/execution"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// counts is a store of runs that only counts.
type counts struct {
	runs.Store
	list []runs.Count
}

func (c counts) Counts(context.Context) ([]runs.Count, error) { return c.list, nil }

// granted is a store of objects that lists queues with grants.
type granted struct {
	identity.ObjectStore
	list []string
}

func (g granted) Readable(
	_ context.Context, kind string, s access.Scope, _ page.Window,
) ([]string, int, error) {
	if kind != identity.KindQueue || !s.All {
		return nil, 0, errors.New("another list")
	}
	return g.list, len(g.list), nil
}

// kept keeps the limits of units that committed.
type kept struct {
	limits map[runs.SlotKey]int
	fails  error
}

func (k *kept) SetLimit(ctx context.Context, key runs.SlotKey, n int) error {
	tx.OnCommit(ctx, func() { k.limits[key] = n })
	return k.fails
}

func (k *kept) AddLimit(ctx context.Context, key runs.SlotKey, n int) error {
	return k.SetLimit(ctx, key, n)
}

func (k *kept) Limits(context.Context, ...runs.SlotKey) (map[runs.SlotKey]int, error) {
	return k.limits, nil
}

type queues struct {
	*module.Queues
	kept  *kept
	trail *audittest.Recorder
}

func queuesOn(d *db.DB, g guard) *queues {
	q := &queues{kept: &kept{limits: map[runs.SlotKey]int{}}, trail: &audittest.Recorder{}}
	store := sqlexecution.New(d)
	q.Queues = module.NewQueues(module.QueueParams{
		Store: store, Limits: q.kept, Recorder: q.trail, Unit: d, Log: slog.New(slog.DiscardHandler), Guard: g,
		Workers: workers{list: []execution.Worker{{Queues: []string{"edge", "vault"}, Fresh: true},
			{Queues: []string{"edge"}, Fresh: true}, {Queues: []string{"edge", "lost"}}}},
		Runs: counts{list: []runs.Count{
			{Status: runs.Pending, Queue: "default", Runs: 9, Top: 2}, {Status: runs.Running, Queue: "edge", Runs: 3, Top: 1},
			{Status: runs.Succeeded, Queue: "old", Runs: 5, Top: 5},
		}},
		Objects: granted{list: []string{"queue:granted"}},
	})
	return q
}

// TestQueues lists what names a queue, with its limit, its runs and its executors.
func TestQueues(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		q := queuesOn(d, guard{hidden: "queue:vault"})
		if _, err := q.LimitQueue(t.Context(), "dmz/a:1", 3); err != nil {
			t.Fatal(err)
		}
		want := []execution.Queue{
			{Name: "default", Pending: 2}, {Name: "dmz/a:1", MaxConcurrent: 3}, {Name: "edge", Running: 1, Workers: 2},
			{Name: "granted"}, {Name: "lost"}, {Name: "old"},
		}
		list, total, err := q.Queues.Queues(t.Context(), page.Window{})
		if d := cmp.Diff(want, list); d != "" || total != len(want) || err != nil {
			t.Errorf("%d, %v: %s", total, err, d)
		}
		for _, w := range []page.Window{{Offset: 2, Limit: 2}, {Offset: 4, Limit: 9}, {Offset: 9, Limit: 1}, {Limit: 1}} {
			from, to := min(w.Offset, len(want)), min(w.Offset+w.Limit, len(want))
			list, total, err := q.Queues.Queues(t.Context(), w)
			if d := cmp.Diff(want[from:max(from, to)], list); d != "" || total != len(want) || err != nil {
				t.Errorf("%+v: %d, %v: %s", w, total, err, d)
			}
		}
		for _, one := range want {
			if got, err := q.Queue(t.Context(), one.Name); got != one || err != nil {
				t.Errorf("%+v, %v", got, err)
			}
		}
		for _, name := range []string{"vault", "none", "", "a b", "-a", "../a"} {
			if _, err := q.Queue(t.Context(), name); !runs.QueueNotFound.Is(err) {
				t.Errorf("%q: %v", name, err)
			}
		}
		gone := errors.New("gone")
		q = queuesOn(d, guard{err: gone})
		if _, _, err := q.Queues.Queues(t.Context(), page.Window{}); !errors.Is(err, gone) {
			t.Error(err)
		}
		if _, err := q.Queue(t.Context(), "edge"); !errors.Is(err, gone) {
			t.Error(err)
		}
	})
}

// TestLimitQueue stores the limit, passes it on and records it, in one unit.
func TestLimitQueue(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		q := queuesOn(d, guard{})
		got, err := q.LimitQueue(t.Context(), "edge", 2)
		if want := (execution.Queue{Name: "edge", MaxConcurrent: 2, Running: 1, Workers: 2}); got != want || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		trail := []audit.Entry{{Action: audit.QueueUpdate, Object: audit.Object{Kind: "queue", ID: "edge", Name: "edge"},
			Detail: map[string]any{"max_concurrent": 2}}}
		if d := cmp.Diff(trail, q.trail.Take()); d != "" {
			t.Error(d)
		}
		same := func(what string, n int) {
			t.Helper()
			got, err := q.Queue(t.Context(), "edge")
			if err != nil || got.MaxConcurrent != n || q.kept.limits["queue:edge"] != n {
				t.Errorf("%s: %+v, %v, %v", what, got, q.kept.limits, err)
			}
		}
		same("stored", 2)
		q.kept.fails = errors.New("no limits")
		if _, err := q.LimitQueue(t.Context(), "edge", 3); !errors.Is(err, q.kept.fails) {
			t.Error(err)
		}
		q.kept.fails = nil
		q.trail.Fail(audit.Unrecorded.New("no trail"), nil)
		if _, err := q.LimitQueue(t.Context(), "edge", 3); !audit.Unrecorded.Is(err) {
			t.Error(err)
		}
		q.trail.Fail(nil, nil)
		same("after failures", 2)
		if _, err := q.LimitQueue(t.Context(), "edge", 0); err != nil {
			t.Error(err)
		}
		same("without a limit", 0)
		if got, err := q.LimitQueue(t.Context(), "new", 0); (got != execution.Queue{Name: "new"}) || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		q.trail.Take()
		for name, n := range map[string]int{"a b": 1, "": 1, "edge": -1, "dmz": runs.MaxConcurrent + 1} {
			if _, err := q.LimitQueue(t.Context(), name, n); !fault.Is(err, fault.Invalid) {
				t.Errorf("%q, %d: %v", name, n, err)
			}
		}
		if e := q.trail.Take(); len(e) != 0 {
			t.Errorf("%+v", e)
		}
		q.Limits = nil
		if _, err := q.LimitQueue(t.Context(), "edge", 7); err != nil {
			t.Error(err)
		}
	})
}
