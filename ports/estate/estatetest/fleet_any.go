package estatetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// fleetModel answers slowly what the store answers: it asks about each run alone.
type fleetModel struct {
	readers map[string][]string // of restricted objects
	made    []estate.RunReport  // as they were reported
}

func (m *fleetModel) may(s access.Scope, r *runs.Run) bool {
	for _, o := range r.Objects {
		readers, restricted := m.readers[o]
		if !s.All && (restricted || s.Strict) &&
			!slices.ContainsFunc(readers, func(who string) bool { return slices.Contains(s.Subjects, who) }) {
			return false
		}
	}
	return true
}

// newest returns the runs that a reader may read, that which ended last first.
func (m *fleetModel) newest(s access.Scope) []estate.RunReport {
	list := slices.DeleteFunc(slices.Clone(m.made), func(r estate.RunReport) bool { return !m.may(s, r.Run) })
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b estate.RunReport) int { return b.Run.EndedAt.Compare(a.Run.EndedAt) })
	return list
}

func (m *fleetModel) runsOf(host string, s access.Scope) (out []estate.HostRun) {
	for _, r := range m.newest(s) {
		for _, h := range r.Hosts {
			if h.Host == host {
				out = append(out, estate.HostRun{HostSummary: h, RunID: r.Run.ID, Name: r.Run.Name, Status: r.Run.Status,
					Playbook: r.Run.Spec.Playbook, TemplateID: r.Run.Spec.TemplateID,
					InventoryID: r.Run.Spec.InventoryID, DryRun: r.Run.Spec.DryRun, EndedAt: r.Run.EndedAt})
			}
		}
	}
	return out
}

// page returns the rows of a query.
func fleetPage[T any](q estate.FleetQuery, rows []T, compare func(a, b T) int) estate.FleetPage[T] {
	slices.SortFunc(rows, compare)
	first, end := min(q.Offset, len(rows)), min(q.Offset+q.Limit, len(rows))
	return estate.FleetPage[T]{Rows: rows[first:end], Total: len(rows), Window: q.Window}
}

func (m *fleetModel) hosts(q estate.FleetQuery, s access.Scope, names []string) estate.FleetPage[estate.HostRank] {
	var rows []estate.HostRank
	for _, name := range names {
		list := m.runsOf(name, s)
		list = list[:min(len(list), q.Window)]
		if len(list) == 0 || !strings.Contains(name, q.Search) {
			continue
		}
		r := estate.HostRank{Host: name, Total: len(list), LastOutcome: list[0].Worst, LastRunAt: list[0].EndedAt}
		bad := false
		for i, x := range list {
			was := bad
			bad = x.Worst == runs.HostFailed || x.Worst == runs.HostUnreachable || x.Worst == runs.HostIncomplete
			if bad {
				r.Failures++
			}
			if i > 0 && bad != was {
				r.Flips++
			}
			r.Recent = append(r.Recent, estate.RunResult{RunID: x.RunID, Outcome: x.Worst})
		}
		r.Flaky = r.Flips >= 2
		rows = append(rows, r)
	}
	return fleetPage(q, rows, func(a, b estate.HostRank) int {
		return cmp.Or(b.Failures-a.Failures, b.Flips-a.Flips, strings.Compare(a.Host, b.Host))
	})
}

func mean(list []time.Duration) (d time.Duration) {
	for _, x := range list {
		d += x
	}
	return d / time.Duration(max(len(list), 1))
}

func (m *fleetModel) tasks(q estate.FleetQuery, s access.Scope, names []string) estate.FleetPage[estate.TaskTrend] {
	var rows []estate.TaskTrend
	for _, name := range names {
		var list []time.Duration
		for _, r := range m.newest(s) {
			for _, x := range r.Tasks {
				if x.Task == name && len(list) < q.Window {
					list = append(list, x.Duration)
				}
			}
		}
		n := len(list)
		if n == 0 || !strings.Contains(name, q.Search) {
			continue
		}
		t := estate.TaskTrend{Task: name, Runs: n, Mean: mean(list).Truncate(time.Millisecond), Last: list[0], Recent: list,
			Trend: estate.Steady}
		for i, d := range slices.Sorted(slices.Values(list)) {
			if t.P95 == 0 && 100*(i+1) >= 95*n {
				t.P95 = d
			}
		}

		newer, older := mean(list[:n/2]).Seconds(), mean(list[n-n/2:]).Seconds()
		if newer > 1.2*older+1e-6 {
			t.Trend = estate.Slower
		} else if newer < 0.8*older-1e-6 {
			t.Trend = estate.Faster
		}
		rows = append(rows, t)
	}
	return fleetPage(q, rows, func(a, b estate.TaskTrend) int {
		return cmp.Or(cmp.Compare(b.Mean, a.Mean), strings.Compare(a.Task, b.Task))
	})
}

var subjects = []string{"user:1", "user:2", "team:1"}

// fleetAnything reports runs in any order, with any rights, and compares every answer with the model.
func fleetAnything(t *testing.T, e *fleetEnv) {
	m := &fleetModel{readers: map[string][]string{}}
	hosts, tasks := []string{"h1", "h2", "h3", "g1"}, []string{"t1", "t2", "u1"}
	objects := []string{"queue:default", "queue:gpu", "inv_1", "tpl_1"}
	outcomes := []runs.Outcome{runs.HostOK, runs.HostChanged, runs.HostSkipped, runs.HostFailed, runs.HostUnreachable,
		runs.HostIncomplete, runs.HostRescued, runs.HostIgnored}
	rapid.Check(t, func(rt *rapid.T) {
		r := e.report(time.Duration(rapid.IntRange(0, 200).Draw(rt, "ended")) * time.Minute)
		r.Run.Objects = rapid.SliceOfNDistinct(rapid.SampledFrom(objects), 1, 2, rapid.ID[string]).Draw(rt, "objects")
		for _, h := range rapid.SliceOfNDistinct(rapid.SampledFrom(hosts), 1, 4, rapid.ID[string]).Draw(rt, "hosts") {
			r.Hosts = append(r.Hosts, on(h, rapid.SampledFrom(outcomes).Draw(rt, "outcome")))
		}
		for _, x := range rapid.SliceOfNDistinct(rapid.SampledFrom(tasks), 0, 3, rapid.ID[string]).Draw(rt, "tasks") {
			d := time.Duration(rapid.IntRange(1, 100).Draw(rt, "duration")) * time.Millisecond
			r.Tasks = append(r.Tasks, runs.TaskSummary{Task: x, Duration: d})
		}
		err := e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Fleet.Report(ctx, r) })
		m.made = append(m.made, r)
		if rapid.IntRange(0, 4).Draw(rt, "restrict") == 0 && err == nil {
			o := rapid.SampledFrom(objects).Draw(rt, "object")
			m.readers[o] = rapid.SliceOfNDistinct(rapid.SampledFrom(subjects), 0, 2, rapid.ID[string]).Draw(rt, "readers")
			err = e.Restrict(t.Context(), o, m.readers[o])
		}
		if err != nil {
			rt.Fatal(err)
		}
		s := access.Scope{All: rapid.IntRange(0, 4).Draw(rt, "all") == 0,
			Strict:   rapid.IntRange(0, 4).Draw(rt, "strict") == 0,
			Subjects: rapid.SliceOfNDistinct(rapid.SampledFrom(subjects), 0, 2, rapid.ID[string]).Draw(rt, "who")}
		q := estate.FleetQuery{Window: rapid.SampledFrom([]int{1, 2, 3, 10, 100}).Draw(rt, "window"),
			Search: rapid.SampledFrom([]string{"", "", "1"}).Draw(rt, "search"),
			Offset: rapid.IntRange(0, 2).Draw(rt, "offset"), Limit: rapid.IntRange(1, 4).Draw(rt, "limit")}
		e.compare(t, m, q, s, hosts, tasks)
		if t.Failed() {
			rt.Fatalf("%+v for %+v", q, s)
		}
	})
}

func (e *fleetEnv) compare(
	t *testing.T, m *fleetModel, q estate.FleetQuery, s access.Scope, hosts, tasks []string,
) {
	t.Helper()
	h, err := e.Fleet.Hosts(t.Context(), q, s)
	txtest.NoError(t, err)
	txtest.Same(t, "hosts", m.hosts(q, s, hosts), h)
	x, err := e.Fleet.Tasks(t.Context(), q, s)
	txtest.NoError(t, err)
	txtest.Same(t, "tasks", m.tasks(q, s, tasks), x)
	var known []string
	last := map[runs.Outcome]int64{}
	for _, name := range hosts {
		list := m.runsOf(name, s)
		txtest.Same(t, "the runs of "+name, list[:min(len(list), q.Limit)], e.runs(t, name, q.Limit, s))
		if len(list) > 0 {
			known = append(known, name)
		}
		if all := m.runsOf(name, access.Everything()); len(all) > 0 {
			last[all[0].Worst]++
		}
	}
	slices.Sort(known)
	txtest.Same(t, "names", known, e.names(t, s))
	n, err := e.Fleet.Outcomes(t.Context())
	txtest.NoError(t, err)
	for o := range n {
		if n[o] != last[o] {
			t.Errorf("%d hosts are %s, want %d", n[o], o, last[o])
		}
	}
}
