package estatetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// FleetStores are the store under test and the unit of work that it joins. They share one database.
type FleetStores struct {
	Unit  tx.Unit
	Fleet estate.FleetStore
	// Restrict hides an object from everyone except the named subjects.
	Restrict func(ctx context.Context, object string, readers []string) error
}

type fleetEnv struct {
	*txtest.Env
	FleetStores
}

// RunFleet tests a FleetStore against the contract.
func RunFleet(t *testing.T, each func(t *testing.T, fn func(t *testing.T, s FleetStores))) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[*fleetEnv]{
		"results":                fleetResults,
		"reported twice":         fleetTwice,
		"reported in parts":      fleetParts,
		"reported at once":       fleetAtOnce,
		"odd texts":              fleetOdd,
		"more than a ring holds": fleetMany,
		"what may be read":       fleetReaders,
		"pages":                  fleetPages,
		"trends":                 fleetTrends,
		"too many tasks":         fleetTooManyTasks,
		"outcomes":               fleetOutcomes,
		"trimming":               fleetTrim,
		"whatever is reported":   fleetAnything,
	}, each, func(s FleetStores) *fleetEnv { return &fleetEnv{txtest.NewEnv(s.Unit), s} })
}

// ada has the grants of a case, a stranger none.
var (
	ada      = access.Scope{Subjects: []string{"user:usr_1"}}
	stranger = access.Scope{Subjects: []string{"user:usr_2"}}
)

// report makes the report of a run that ended so long after the epoch, in the default queue.
func (e *fleetEnv) report(ended time.Duration, hosts ...runs.HostSummary) estate.RunReport {
	return estate.RunReport{Hosts: hosts, Run: &runs.Run{ID: e.ID(ids.Run), Name: "nightly", Status: runs.Succeeded,
		Spec:    runs.Spec{Tool: "ansible", Playbook: "site.yml", TemplateID: "tpl_1", InventoryID: "inv_1", DryRun: true},
		EndedAt: txtest.At(ended), Objects: []string{access.Queue(runs.DefaultQueue)}}}
}

// in puts the run of a report into a queue.
func in(queue string, r estate.RunReport) estate.RunReport {
	r.Run.Objects = []string{access.Queue(queue)}
	return r
}

func on(host string, worst runs.Outcome) runs.HostSummary {
	return runs.HostSummary{Host: host, Worst: worst}
}

func (e *fleetEnv) store(t *testing.T, list ...estate.RunReport) {
	t.Helper()
	for _, r := range list {
		e.Must(t, func(ctx context.Context) error { return e.Fleet.Report(ctx, r) })
	}
}

func (e *fleetEnv) runs(t *testing.T, host string, limit int, s access.Scope) []estate.HostRun {
	t.Helper()
	list, err := e.Fleet.Runs(t.Context(), host, limit, s)
	if err != nil && !estate.HostNotFound.Is(err) {
		t.Fatal(err)
	}
	if (err != nil) != (len(list) == 0) {
		t.Fatalf("%d runs of %s: %v", len(list), host, err)
	}
	return list
}

// hosts returns the ranks of hosts as texts.
func (e *fleetEnv) hosts(t *testing.T, q estate.FleetQuery, s access.Scope) []string {
	t.Helper()
	p, err := e.Fleet.Hosts(t.Context(), q, s)
	txtest.NoError(t, err)
	out := []string{}
	for _, r := range p.Rows {
		outcomes := ""
		for _, x := range r.Recent {
			outcomes += string(x.Outcome[:1])
		}
		out = append(out, fmt.Sprintf("%s %d/%d %s %d %t %s", r.Host, r.Failures, r.Total, r.LastOutcome, r.Flips, r.Flaky,
			outcomes))
	}
	return out
}

func (e *fleetEnv) names(t *testing.T, s access.Scope) []string {
	t.Helper()
	var out []string
	txtest.NoError(t, e.Fleet.Names(t.Context(), s, func(host string) error {
		out = append(out, host)
		return nil
	}))
	slices.Sort(out)
	return out
}

// whole is a query of everything.
func whole() estate.FleetQuery { return estate.FleetQuery{Window: estate.MaxWindow, Limit: 1000} }

func fleetResults(t *testing.T, e *fleetEnv) {
	h := runs.HostSummary{Host: "a", OK: 1, Changed: 2, Failed: 3, Unreachable: 4, Skipped: 5, Rescued: 6, Ignored: 7,
		Worst: runs.HostFailed, Duration: 1500 * time.Microsecond}
	first, last := e.report(time.Hour, h), e.report(2*time.Hour, on("a", runs.HostOK))
	middle := e.report(90*time.Minute, on("b", runs.HostOK), on("a", runs.HostUnreachable))
	e.store(t, last, first, middle)
	txtest.Same(t, "a run of a host", estate.HostRun{HostSummary: h, RunID: first.Run.ID, Name: "nightly",
		Status: runs.Succeeded, Playbook: "site.yml", TemplateID: "tpl_1", InventoryID: "inv_1", DryRun: true,
		EndedAt: first.Run.EndedAt},
		e.runs(t, "a", 10, access.Everything())[2])
	var order []string
	for _, r := range e.runs(t, "a", 2, access.Everything()) {
		order = append(order, r.RunID)
	}
	txtest.Same(t, "by their end", []string{last.Run.ID, middle.Run.ID}, order)
	p, err := e.Fleet.Hosts(t.Context(), whole(), access.Everything())
	txtest.NoError(t, err)
	txtest.Same(t, "ranks", []estate.HostRank{
		{Host: "a", Failures: 2, Total: 3, LastOutcome: runs.HostOK, LastRunAt: last.Run.EndedAt, Flips: 1,
			Recent: []estate.RunResult{{RunID: last.Run.ID, Outcome: runs.HostOK},
				{RunID: middle.Run.ID, Outcome: runs.HostUnreachable}, {RunID: first.Run.ID, Outcome: runs.HostFailed}}},
		{Host: "b", Total: 1, LastOutcome: runs.HostOK, LastRunAt: middle.Run.EndedAt,
			Recent: []estate.RunResult{{RunID: middle.Run.ID, Outcome: runs.HostOK}}},
	}, p.Rows)
	if p.Total != 2 || p.Window != estate.MaxWindow {
		t.Errorf("%d in total in a window of %d", p.Total, p.Window)
	}
	unended := e.report(0, on("a", runs.HostOK))
	unended.Run.EndedAt = time.Time{}
	if err := e.Do(t, func(ctx context.Context) error { return e.Fleet.Report(ctx, unended) }); err == nil {
		t.Error("a run that has not ended is stored")
	}
}

func fleetTwice(t *testing.T, e *fleetEnv) {
	r := e.report(0, on("a", runs.HostFailed))
	r.Tasks = []runs.TaskSummary{{Task: "t", Duration: time.Second}}
	e.store(t, r, r)
	r.Hosts = append(r.Hosts, on("b", runs.HostOK))
	e.store(t, r)
	txtest.Same(t, "hosts", []string{"a 1/1 failed 0 false f"}, e.hosts(t, whole(), access.Everything()))
	p, err := e.Fleet.Tasks(t.Context(), whole(), access.Everything())
	txtest.NoError(t, err)
	if len(p.Rows) != 1 || p.Rows[0].Runs != 1 {
		t.Errorf("tasks: %+v", p.Rows)
	}
}

func fleetParts(t *testing.T, e *fleetEnv) {
	r := e.report(0, on("a", runs.HostOK), on("b", runs.HostOK))
	next := estate.RunReport{Run: r.Run, First: 2, Hosts: []runs.HostSummary{on("c", runs.HostOK)},
		Tasks: []runs.TaskSummary{{Task: "t"}}}
	e.store(t, next, r, next, r, next)
	txtest.Same(t, "hosts", []string{"a 0/1 ok 0 false o", "b 0/1 ok 0 false o", "c 0/1 ok 0 false o"},
		e.hosts(t, whole(), access.Everything()))
	p, err := e.Fleet.Tasks(t.Context(), whole(), access.Everything())
	txtest.NoError(t, err)
	if len(p.Rows) != 1 || p.Rows[0].Runs != 1 {
		t.Errorf("tasks: %+v", p.Rows)
	}
}

func fleetAtOnce(t *testing.T, e *fleetEnv) {
	list, names := make([]estate.RunReport, txtest.Crowd), []runs.HostSummary{}
	for i := range 20 {
		names = append(names, on(fmt.Sprint("h", i), runs.HostOK))
	}
	for i := range list {
		list[i] = e.report(time.Duration(i), slices.Concat(names[i:], names[:i])...)
		list[i].Tasks = []runs.TaskSummary{{Task: "t"}, {Task: fmt.Sprint("t", i%3)}}
	}
	txtest.Together(2*len(list), func(i int) {
		if err := e.Do(t, func(ctx context.Context) error { return e.Fleet.Report(ctx, list[i/2]) }); err != nil {
			t.Error(err)
		}
	})
	for _, h := range names {
		if n := len(e.runs(t, h.Host, 100, access.Everything())); n != len(list) {
			t.Errorf("%s has %d runs", h.Host, n)
		}
	}
	n, err := e.Fleet.Outcomes(t.Context())
	txtest.NoError(t, err)
	if n[runs.HostOK] != 20 {
		t.Errorf("outcomes: %v", n)
	}
	p, err := e.Fleet.Tasks(t.Context(), estate.FleetQuery{Window: 100, Limit: 10, Search: "T"}, access.Everything())
	txtest.NoError(t, err)
	if p.Total != 4 || p.Rows[0].Task != "t" || p.Rows[0].Runs != len(list) {
		t.Errorf("tasks: %+v", p)
	}
}

func fleetOdd(t *testing.T, e *fleetEnv) {
	list := []string{txtest.Odd, "a/b%2Fc", strings.Repeat("n", 255), "Ä", "x"}
	r := e.report(0, on("x\x00", runs.HostOK))
	for _, n := range list[:4] {
		r.Hosts = append(r.Hosts, on(n, runs.HostOK))
	}
	r.Run.Name, r.Tasks = txtest.Odd, []runs.TaskSummary{{Task: txtest.Odd + "\x00"}, {Task: ""}}
	e.store(t, r)
	slices.Sort(list)
	txtest.Same(t, "names", list, e.names(t, access.Everything()))
	for _, n := range list {
		if got := e.runs(t, n, 1, access.Everything()); len(got) != 1 || got[0].Host != n || got[0].Name != txtest.Odd {
			t.Errorf("%q: %+v", n, got)
		}
		q := whole()
		q.Host = n
		if got := e.hosts(t, q, access.Everything()); len(got) != 1 {
			t.Errorf("%q: %q", n, got)
		}
	}
	for q, n := range map[string]int{"ä": 1, "%": 2, "nnn": 1, "_": 1, "": 5, "zz": 0} {
		if got := e.hosts(t, estate.FleetQuery{Window: 1, Limit: 9, Search: q}, access.Everything()); len(got) != n {
			t.Errorf("%q finds %q", q, got)
		}
	}
}

func fleetMany(t *testing.T, e *fleetEnv) {
	txtest.NoError(t, e.Restrict(t.Context(), access.Queue("b"), []string{"user:usr_1"}))
	for i := range 130 {
		e.store(t, e.report(time.Duration(i)*time.Minute, on("a", runs.HostFailed)))
	}
	for i := range 110 {
		e.store(t, in("b", e.report(time.Duration(1000+i)*time.Minute, on("a", runs.HostOK))))
	}
	bad, good := strings.Repeat("f", 100), strings.Repeat("o", 100)
	txtest.Same(t, "what others may not read pushes nothing out", []string{"a 100/100 failed 0 false " + bad},
		e.hosts(t, whole(), stranger))
	txtest.Same(t, "with all of it", []string{"a 0/100 ok 0 false " + good}, e.hosts(t, whole(), ada))
	if n := len(e.runs(t, "a", 500, stranger)); n != 130 {
		t.Errorf("%d runs", n)
	}
}

func fleetReaders(t *testing.T, e *fleetEnv) {
	txtest.NoError(t, e.Restrict(t.Context(), access.Queue("b"), []string{"user:usr_1"}))
	e.store(t, e.report(time.Hour, on("a", runs.HostOK)), in("b", e.report(2*time.Hour, on("a", runs.HostFailed),
		on("hidden", runs.HostOK))), e.report(3*time.Hour, on("a", runs.HostOK)))
	txtest.Same(t, "ada", []string{"a 1/3 ok 2 true ofo", "hidden 0/1 ok 0 false o"}, e.hosts(t, whole(), ada))
	txtest.Same(t, "a stranger", []string{"a 0/2 ok 0 false oo"}, e.hosts(t, whole(), stranger))
	txtest.Same(t, "the names for a stranger", []string{"a"}, e.names(t, stranger))
	if a, b := e.runs(t, "a", 10, stranger), e.runs(t, "hidden", 10, stranger); len(a) != 2 || len(b) != 0 {
		t.Errorf("%+v, %+v", a, b)
	}
	// Who may read nothing else may not read what came of runs whose objects are not known.
	unknown := e.report(0, on("old", runs.HostOK))
	unknown.Run.Objects = nil
	e.store(t, unknown)
	if a, b := e.runs(t, "old", 1, stranger), e.runs(t, "old", 1, ada); len(a) != 0 || len(b) != 1 {
		t.Errorf("%+v, %+v", a, b)
	}
}

func fleetPages(t *testing.T, e *fleetEnv) {
	for i := range 30 {
		worst := runs.HostOK
		if i%10 == 0 {
			worst = runs.HostUnreachable
		}
		e.store(t, e.report(time.Duration(i), on(fmt.Sprintf("h%02d", i), worst)))
	}
	all := e.hosts(t, whole(), access.Everything())
	if len(all) != 30 || !strings.HasPrefix(all[2], "h20 1/1") || !strings.HasPrefix(all[3], "h01 0/1") {
		t.Fatalf("%q", all)
	}
	for offset := 0; offset < 40; offset += 7 {
		q := estate.FleetQuery{Window: 1, Offset: offset, Limit: 7}
		txtest.Same(t, "a page", all[min(offset, 30):min(offset+7, 30)], e.hosts(t, q, access.Everything()))
	}
	q := estate.FleetQuery{Window: 1, Offset: 1 << 62, Limit: 1000}
	p, err := e.Fleet.Hosts(t.Context(), q, access.Everything())
	if err != nil || len(p.Rows) != 0 || p.Total != 30 {
		t.Error(p, err)
	}
}

func fleetTrends(t *testing.T, e *fleetEnv) {
	ms := map[string][]time.Duration{"slower": {10, 10, 50, 13, 13}, "faster": {20, 5, 9}, "steady": {10, 12}, "once": {7}}
	for name, list := range ms {
		for i, d := range list {
			r := e.report(time.Duration(i)*time.Minute, on("a", runs.HostOK))
			// Two tasks of one name in a run are one.
			r.Tasks = []runs.TaskSummary{{Task: name, Duration: (d - 1) * time.Millisecond},
				{Index: 1, Task: name, Duration: time.Millisecond}}
			e.store(t, r)
		}
	}
	p, err := e.Fleet.Tasks(t.Context(), whole(), access.Everything())
	txtest.NoError(t, err)
	got := []string{}
	for _, x := range p.Rows {
		got = append(got, fmt.Sprintln(x.Task, x.Runs, x.Mean, x.P95, x.Last, x.Trend, x.Recent))
	}
	txtest.Same(t, "trends", []string{
		"slower 5 19ms 50ms 13ms slower [13ms 13ms 50ms 10ms 10ms]\n", "faster 3 11ms 20ms 9ms faster [9ms 5ms 20ms]\n",
		"steady 2 11ms 12ms 12ms steady [12ms 10ms]\n", "once 1 7ms 7ms 7ms steady [7ms]\n",
	}, got)
}

func fleetTooManyTasks(t *testing.T, e *fleetEnv) {
	first, many := e.report(0, on("a", runs.HostOK)), e.report(time.Hour, on("a", runs.HostOK))
	first.Tasks = []runs.TaskSummary{{Task: "first"}, {Task: "again"}}
	for i := range estate.MaxTasks + 5 {
		many.Tasks = append(many.Tasks, runs.TaskSummary{Index: i, Task: fmt.Sprint("t", i)})
	}
	many.Tasks[7].Task = "again"
	e.store(t, first, many)
	for search, want := range map[string]int{"": estate.MaxTasks, "first": 0, "again": 1} {
		p, err := e.Fleet.Tasks(t.Context(), estate.FleetQuery{Window: 1, Limit: 1, Search: search}, access.Everything())
		if err != nil || p.Total != want {
			t.Errorf("%q: %d, %v", search, p.Total, err)
		}
	}
}
