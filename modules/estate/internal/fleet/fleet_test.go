package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sqlestate "github.com/writ-automation/writ/adapters/sqlstore/estate"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	"github.com/writ-automation/writ/modules/estate/internal/fleet"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// bundle is a consumer and a reader over the real stores.
type bundle struct {
	*fleet.Fleet
	*fleet.Consumer
	d     *db.DB
	store *sqlruns.Store
	scope access.Scope
	n     int
}

func (b *bundle) May(context.Context, access.Level, ...string) (bool, error) { return true, nil }

func (b *bundle) Scope(context.Context) (access.Scope, error) { return b.scope, nil }

func eachEngine(t *testing.T, fn func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s, r := sqlestate.New(d), sqlruns.New(d)
		b := &bundle{d: d, store: r, scope: access.Everything(),
			Consumer: &fleet.Consumer{Runs: r, Summaries: r, Store: s, Unit: d}}
		b.Fleet = &fleet.Fleet{Store: s, Guard: b, Clock: clock.New(), Facts: s, Drift: s}
		fn(t, b)
	})
}

// ended stores a run that ended, with its results.
func (b *bundle) ended(t *testing.T, hosts ...runs.HostSummary) *runs.Run {
	t.Helper()
	b.n++
	at := start.Add(time.Duration(b.n) * time.Minute)
	r := &runs.Run{ID: fmt.Sprintf("run_%026d", b.n), Name: "C4NARY", Kind: runs.Single, Status: runs.Succeeded,
		Spec:  runs.Spec{Tool: "ansible", Playbook: "site.yml", Queue: runs.DefaultQueue},
		Actor: actor.Actor{Type: actor.System}, Hidden: runs.Hidden{Later: []string{runs.TextDigest("C4NARY")}},
		CreatedAt: at, QueuedAt: at, StartedAt: at, EndedAt: at, Objects: []string{access.Queue(runs.DefaultQueue)}}
	err := b.d.Do(t.Context(), func(ctx context.Context) error {
		return errors.Join(b.store.Insert(ctx, r), b.store.SaveHosts(ctx, r.ID, hosts),
			b.store.SaveTasks(ctx, r.ID, []runs.TaskSummary{{Task: "install", Duration: time.Second}}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hears delivers the event of a run.
func (b *bundle) hears(t *testing.T, id string) error {
	t.Helper()
	data, err := json.Marshal(runs.Reported{RunID: id})
	if err != nil {
		t.Fatal(err)
	}
	return b.Subscription().Handle(t.Context(), events.Message{Name: runs.Reported{}.EventName(), Data: data})
}

func on(host string, worst runs.Outcome) runs.HostSummary {
	return runs.HostSummary{Host: host, Worst: worst}
}

// TestReported asks about runs before and after they were deleted.
func TestReported(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		bad, good := b.ended(t, on("web-1", runs.HostFailed), on("web-2", runs.HostOK)), b.ended(t, on("web-1", runs.HostOK))
		for _, id := range []string{good.ID, bad.ID, good.ID, "run_none"} {
			if err := b.hears(t, id); err != nil {
				t.Fatal(err)
			}
		}
		answers := func() []any {
			t.Helper()
			hosts, err1 := b.Hosts(t.Context(), estate.FleetQuery{})
			tasks, err2 := b.Fleet.Tasks(t.Context(), estate.FleetQuery{Window: 1 << 40, Limit: 1 << 40})
			list, err3 := b.Fleet.Runs(t.Context(), "web-1", 0)
			one, err4 := b.Host(t.Context(), "web-1", 1)
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Fatal(err)
			}
			return []any{hosts, tasks, list, one}
		}
		before := answers()
		hosts := before[0].(estate.FleetPage[estate.HostRank])
		if hosts.Window != estate.DefaultWindow || hosts.Total != 2 || hosts.Rows[0].Host != "web-1" ||
			hosts.Rows[0].Failures != 1 || hosts.Rows[0].LastOutcome != runs.HostOK {
			t.Errorf("%+v", hosts)
		}
		tasks := before[1].(estate.FleetPage[estate.TaskTrend])
		if tasks.Window != estate.MaxWindow || len(tasks.Rows) != 1 || tasks.Rows[0].Runs != 2 {
			t.Errorf("%+v", tasks)
		}
		if list := before[2].([]estate.HostRun); len(list) != 2 || list[0].RunID != good.ID || list[0].Name != runs.Redacted {
			t.Errorf("%+v", list)
		}
		if p := before[3].(estate.HostPage); p.Window != 1 || p.Rank.Total != 1 || len(p.Runs) != 2 || p.Reading != nil {
			t.Errorf("%+v", p)
		}
		if err := b.d.Do(t.Context(), func(ctx context.Context) error {
			n, err := b.store.PurgeRuns(ctx, start.Add(time.Hour), 10)
			if n != 2 {
				t.Errorf("%d runs were deleted", n)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, answers()); d != "" {
			t.Errorf("deleting the runs changed answers:\n%s", d)
		}
		if err := b.hears(t, bad.ID); err != nil {
			t.Error(err)
		}
	})
}

// TestManyHosts reports a run in parts, of which the first was reported before a crash.
func TestManyHosts(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		var hosts []runs.HostSummary
		for i := range 1100 {
			hosts = append(hosts, on(fmt.Sprintf("h%04d", i), runs.HostOK))
		}
		r := b.ended(t, hosts...)
		if err := b.d.Do(t.Context(), func(ctx context.Context) error {
			return b.Fleet.Store.Report(ctx, estate.RunReport{Run: r, Hosts: hosts[:500]})
		}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(b.hears(t, r.ID), b.hears(t, r.ID)); err != nil {
			t.Fatal(err)
		}
		n, err := b.Fleet.Store.Outcomes(t.Context())
		tasks, err2 := b.Fleet.Tasks(t.Context(), estate.FleetQuery{})
		if err != nil || err2 != nil || n[runs.HostOK] != 1100 || len(tasks.Rows) != 1 || tasks.Rows[0].Runs != 1 {
			t.Error(n, tasks, err, err2)
		}
	})
}

// TestNear asks for hosts that are not known.
func TestNear(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		var hosts []runs.HostSummary
		for _, name := range []string{"web-1", "web-10", "web-2", "Web-3", "web-4", "web-5", "web-1.example.net", "db"} {
			hosts = append(hosts, on(name, runs.HostOK))
		}
		if err := b.hears(t, b.ended(t, hosts...).ID); err != nil {
			t.Fatal(err)
		}
		near := func(host string) any {
			t.Helper()
			_, err := b.Host(t.Context(), host, 1)
			_, err2 := b.Fleet.Runs(t.Context(), host, 1)
			var f, f2 *fault.Error
			if !estate.HostNotFound.Is(err) || !errors.As(err, &f) || !errors.As(err2, &f2) {
				t.Fatal(err, err2)
			}
			if d := cmp.Diff(f.Detail, f2.Detail); d != "" {
				t.Error(d)
			}
			return f.Detail["near"]
		}
		for host, want := range map[string][]string{
			"web-9": {"Web-3", "web-1", "web-2", "web-4", "web-5"}, "dbx": {"db"}, "mail": {},
			strings.Repeat("x", 300): {}, "web-1.example": {"web-1.example.net"},
		} {
			if d := cmp.Diff(want, near(host)); d != "" {
				t.Errorf("near %s:\n%s", host, d)
			}
		}
		b.scope = access.Scope{Strict: true}
		if got := near("web-9").([]string); len(got) != 0 {
			t.Errorf("%q are shown to a reader who may read no run", got)
		}
	})
}

// unsteady is a unit that is busy for a while.
type unsteady struct {
	tx.Unit
	left int
}

func (u *unsteady) Do(ctx context.Context, fn func(context.Context) error) error {
	if u.left--; u.left >= 0 {
		return fault.Wrap(fault.Unavailable, errors.New("busy"), "the database is busy")
	}
	return fn(ctx)
}

// counting counts calls and deletes a number of rows.
type counting struct {
	estate.FleetStore
	reports, due atomic.Int64
}

func (c *counting) Report(context.Context, estate.RunReport) error { c.reports.Add(1); return nil }

func (c *counting) Trim(_ context.Context, keep, limit int) (int, error) {
	return int(max(0, min(int64(limit), c.due.Load()-c.due.Add(-int64(limit))))), nil
}

type noResults struct{}

func (noResults) ByID(_ context.Context, id string) (*runs.Run, error) { return &runs.Run{ID: id}, nil }

func (noResults) Hosts(context.Context, string) ([]runs.HostSummary, error) { return nil, nil }

func (noResults) Tasks(context.Context, string) ([]runs.TaskSummary, error) { return nil, nil }

// TestBusy reports a run while the database is busy for longer than the bus retries.
func TestBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &counting{}
		b := &bundle{Consumer: &fleet.Consumer{Runs: noResults{}, Summaries: noResults{}, Store: s,
			Unit: &unsteady{left: 50}}}
		if err := b.hears(t, "run_1"); err != nil || s.reports.Load() != 1 {
			t.Errorf("%d reports: %v", s.reports.Load(), err)
		}
	})
}

// TestTrimmed deletes in batches until nothing is due, and gives up at some point.
func TestTrimmed(t *testing.T) {
	t.Parallel()
	for due, left := range map[int64]bool{2500: false, 1 << 40: true} {
		s := &counting{}
		s.due.Store(due)
		r := &fleet.Retention{Store: s, Unit: &unsteady{}, Keep: 500}
		if err := r.Pass(t.Context()); err != nil || s.due.Load() > 0 != left {
			t.Errorf("of %d, %d are left: %v", due, s.due.Load(), err)
		}
	}
}

// parts answer facts and drift.
type parts struct {
	estate.FactStore
	estate.DriftStore
	err error
}

func (p parts) Newest(_ context.Context, host string, _ access.Scope) (estate.Reading, error) {
	return estate.Reading{Host: host}, p.err
}

func (p parts) Findings(
	_ context.Context, q estate.DriftQuery, _ access.Scope, _ time.Time,
) (estate.DriftPage, error) {
	return estate.DriftPage{Coverage: []estate.HostDrift{{Host: q.Host, Checked: 4}}}, nil
}

// TestHostPage adds facts and drift to the page of a host.
func TestHostPage(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		if err := b.hears(t, b.ended(t, on("a", runs.HostOK)).ID); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{nil, estate.HostNotFound.New("none")} {
			b.Facts, b.Drift = parts{err: err}, parts{}
			p, failed := b.Host(t.Context(), "a", 0)
			if failed != nil || (p.Reading == nil) == (err == nil) || p.Drift == nil || p.Drift.Checked != 4 ||
				p.Window != estate.DefaultWindow {
				t.Errorf("%+v, %v", p, failed)
			}
		}
		b.Facts = parts{err: errors.New("broken")}
		if _, err := b.Host(t.Context(), "a", 0); err == nil {
			t.Error("facts that cannot be read are left out")
		}
	})
}
