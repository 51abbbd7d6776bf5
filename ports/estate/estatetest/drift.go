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
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// DriftStores are the stores under test, those of rights, and the unit of work that they join. They share one database.
type DriftStores struct {
	Unit    tx.Unit
	Drift   estate.DriftStore
	Ignores estate.IgnoreStore
	Rights  objecttest.Rights
}

// DriftEach opens fresh stores for each configuration of the implementation, and calls fn in a sub-test.
type DriftEach func(t *testing.T, fn func(t *testing.T, s DriftStores))

type driftEnv struct {
	DriftStores
	*objecttest.Env
}

// RunDrift tests an implementation of the stores of drift against the contract.
func RunDrift(t *testing.T, each DriftEach) {
	t.Helper()
	rules := objecttest.Cases(func(e *driftEnv) *objecttest.Env { return e.Env }, ignoreRules)
	txtest.Run(t, []txtest.Group[*driftEnv]{
		{Name: "findings", Cases: txtest.Cases[*driftEnv]{
			"found, seen again and cleared": foundAndCleared,
			"plans and what they apply":     plannedAndApplied,
			"what cannot be told":           unconfirmed,
			"tasks that are gone":           goneTasks,
			"real runs":                     realRuns,
			"hosts that are gone":           goneHosts,
			"tasks that always change":      alwaysChanging,
			"any order":                     driftInAnyOrder,
			"two reports at once":           reportsRace,
			"coverage":                      coverage,
			"whole findings":                wholeFindings,
			"pages":                         driftPages,
			"repairs":                       repairs,
			"old targets":                   oldTargets,
			"who may read":                  whoMayRead,
		}},
		{Name: "rules", Cases: txtest.With(rules, txtest.Cases[*driftEnv]{
			"left out until they expire": leftOut,
			"patterns":                   patterns,
		})},
	}, each, func(s DriftStores) *driftEnv { return &driftEnv{s, objecttest.NewEnv(s.Unit, s.Rights)} })
}

// site is the target of most cases.
func site() estate.Target {
	return estate.TargetOf(&runs.Spec{Playbook: "site.yml", InventoryID: "inv_1"})
}

// report is what a run tells of hosts at an instant. The objects of the run are those of the default queue.
func report(n int, real bool, tasks []string, hosts ...estate.HostCheck) estate.Checked {
	for i := range hosts {
		if hosts[i].At.IsZero() {
			hosts[i].At = txtest.At(time.Duration(n) * time.Second)
		}
	}
	run := &runs.Run{ID: fmt.Sprintf("run_%026d", n), Objects: []string{access.Queue(runs.DefaultQueue)}}
	return estate.Checked{Run: run, Target: site(), Real: real, Tasks: tasks, Hosts: hosts}
}

// host is what is told of a host: the states of the tasks, and findings as "task resource".
func host(name string, states []estate.TaskState, findings ...string) estate.HostCheck {
	h := estate.HostCheck{Host: name, States: states}
	for _, text := range findings {
		task, resource, _ := strings.Cut(text, " ")
		h.Findings = append(h.Findings, estate.Finding{Host: name, Task: task, Key: estate.FindingKey(task, resource),
			Resource: resource, Tasks: []string{task}, Confidence: estate.ConfidentDiff})
	}
	return h
}

func later() time.Time { return txtest.At(24 * time.Hour) }

func (e *driftEnv) apply(t *testing.T, c estate.Checked) (found []estate.Finding) {
	t.Helper()
	e.Must(t, func(ctx context.Context) (err error) {
		found, err = e.Drift.Apply(ctx, c, later())
		return err
	})
	return found
}

func (e *driftEnv) all(t *testing.T) estate.DriftPage {
	t.Helper()
	p, err := e.Drift.Findings(t.Context(), estate.DriftQuery{}, access.Everything(), later())
	txtest.NoError(t, err)
	return p
}

// shown returns the findings as "host resource", with ? for those that are unconfirmed.
func (e *driftEnv) shown(t *testing.T) string {
	t.Helper()
	var out []string
	for _, f := range e.all(t).Findings {
		text := f.Host + " " + f.Resource
		if f.Unconfirmed {
			text += "?"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

const (
	known   = estate.Known
	unknown = estate.Unknown
	untold  = estate.Untold
)

func states(s ...estate.TaskState) []estate.TaskState { return s }

var twoTasks = []string{"a", "b"}

func foundAndCleared(t *testing.T, e *driftEnv) {
	both := states(known, known)
	first := e.apply(t, report(1, false, twoTasks, host("h", both, "a /a", "b /b"), host("i", both)))
	txtest.Same(t, "new ones", 2, len(first))
	txtest.Same(t, "ids", true, ids.Valid(ids.Finding, first[0].ID) && first[0].ID != first[1].ID)
	again := e.apply(t, report(2, false, twoTasks, host("h", both, "a /a"), host("i", both, "a /a")))
	txtest.Same(t, "new ones", 1, len(again))
	txtest.Same(t, "after the second", "h /a, i /a", e.shown(t))
	f := e.all(t).Findings[0]
	txtest.Same(t, "first seen", txtest.At(time.Second), f.FirstSeen)
	txtest.Same(t, "last seen", txtest.At(2*time.Second), f.LastSeen)
	txtest.Same(t, "run", report(2, false, nil).Run.ID, f.RunID)
	txtest.Same(t, "id", first[0].ID, f.ID)
	e.apply(t, report(3, false, twoTasks, host("h", both), host("i", both)))
	txtest.Same(t, "when all is clean", "", e.shown(t))
	found := e.apply(t, report(4, false, twoTasks, host("h", both, "a /a")))
	txtest.Same(t, "found again", true, len(found) == 1 && found[0].ID != first[0].ID &&
		found[0].FirstSeen.Equal(txtest.At(4*time.Second)))
}

func unconfirmed(t *testing.T, e *driftEnv) {
	both := states(known, known)
	e.apply(t, report(1, false, twoTasks, host("h", both, "a /a", "b /b")))
	partial := report(2, false, []string{"b"}, host("h", states(known), "b /c"))
	partial.Partial = true
	e.apply(t, partial)
	txtest.Same(t, "after a run of some tags", "h /a, h /c", e.shown(t))
	e.apply(t, report(3, false, twoTasks, host("h", states(unknown, untold))))
	txtest.Same(t, "after a run that could not tell", "h /a?, h /c?", e.shown(t))
	f := e.all(t).Findings[0]
	txtest.Same(t, "seen and checked", true, f.LastSeen.Equal(txtest.At(time.Second)) &&
		f.CheckedAt.Equal(txtest.At(3*time.Second)))
	e.apply(t, report(4, false, twoTasks, host("h", states(known, unknown), "a /a")))
	txtest.Same(t, "after one that found one again", "h /a, h /c?", e.shown(t))
}

func goneTasks(t *testing.T, e *driftEnv) {
	e.apply(t, report(1, false, twoTasks, host("h", states(known, known), "a /a", "b /b")))
	e.apply(t, report(2, false, []string{"b"}, host("h", states(known), "b /b")))
	txtest.Same(t, "after a run that was not whole", "h /a?, h /b", e.shown(t))
	whole := host("h", states(untold), "b /b")
	whole.Whole = true
	e.apply(t, report(3, false, []string{"b"}, whole))
	txtest.Same(t, "after a whole run", "h /b", e.shown(t))
}

func realRuns(t *testing.T, e *driftEnv) {
	both := states(known, known)
	e.apply(t, report(1, true, twoTasks, host("h", both)))
	txtest.Same(t, "hosts of a real run alone", 0, e.all(t).Hosts)
	e.apply(t, report(2, false, twoTasks, host("h", both, "a /a", "b /b"), host("i", both, "a /a")))
	e.Must(t, func(ctx context.Context) error {
		for target, want := range map[string]bool{site().ID: true, "tgt_other": false} {
			got, err := e.Drift.Drifting(ctx, target)
			txtest.NoError(t, err)
			txtest.Same(t, "drifting", want, got)
		}
		return nil
	})
	e.apply(t, report(3, true, twoTasks, host("h", states(known, unknown))))
	txtest.Same(t, "after a repair of one task", "h /b, i /a", e.shown(t))
	e.apply(t, report(4, false, twoTasks, host("h", both)))
	e.apply(t, report(5, true, twoTasks, estate.HostCheck{Host: "h"})) // not read
	e.apply(t, report(5, false, twoTasks, estate.HostCheck{Host: "h", At: txtest.At(4500 * time.Millisecond),
		States: both, Findings: host("h", nil, "a /a").Findings}))
	txtest.Same(t, "a dry run before a real one that was not read", "i /a", e.shown(t))
}

// alwaysChanging finds a task again that a real run has changed: that may be drift once, and is doubtful.
func alwaysChanging(t *testing.T, e *driftEnv) {
	dry := func(n int) []estate.Finding {
		return e.apply(t, report(n, false, twoTasks, host("h", states(known), "a /a")))
	}
	repair := func(n int, changed ...int) {
		h := host("h", states(known))
		h.Changed = changed
		e.apply(t, report(n, true, twoTasks, h))
	}
	dry(1)
	repair(2, 0)
	txtest.Same(t, "after the repair", "", e.shown(t))
	found := dry(3)
	txtest.Same(t, "found again", true, len(found) == 1 && found[0].Confidence == estate.ConfidentNone)
	first := found[0]
	repair(4, 0)
	txtest.Same(t, "found a third time", 0, len(dry(5)))
	got := e.all(t).Findings
	txtest.Same(t, "the same one", true, len(got) == 1 && got[0].ID == first.ID &&
		got[0].FirstSeen.Equal(first.FirstSeen))
	repair(6) // which found it as it should be
	found = dry(7)
	txtest.Same(t, "found after a run that changed nothing", true, len(found) == 1 &&
		found[0].Confidence == estate.ConfidentDiff)
	repair(8, 0)
	e.apply(t, report(9, false, twoTasks, host("h", states(known))))
	found = dry(10)
	txtest.Same(t, "found after a clean one", true, len(found) == 1 && found[0].Confidence == estate.ConfidentDiff)
}

func driftInAnyOrder(t *testing.T, e *driftEnv) {
	one := states(known)
	e.apply(t, report(5, false, twoTasks, host("h", one, "a /a")))
	for name, c := range map[string]estate.Checked{
		"the same":           report(5, false, twoTasks, host("h", one, "a /a")),
		"an older clean one": report(4, false, twoTasks, host("h", one)),
		"an older real one":  report(4, true, twoTasks, host("h", one)),
		"an older one":       report(4, false, twoTasks, host("h", one, "a /a", "a /b")),
	} {
		txtest.Same(t, name+": new ones", 0, len(e.apply(t, c)))
		txtest.Same(t, name, "h /a", e.shown(t))
	}
	e.apply(t, report(6, true, twoTasks, host("h", one)))
	e.apply(t, report(5, false, twoTasks, host("h", one, "a /a"), host("i", one, "a /a")))
	txtest.Same(t, "an older one, and another host", "i /a", e.shown(t))
	ahead := host("i", one, "a /b")
	ahead.At = later().Add(time.Hour)
	e.apply(t, report(7, false, twoTasks, ahead))
	txtest.Same(t, "a clock that is ahead", later(), e.all(t).Findings[0].LastSeen)
}

// reportsRace applies a dry run that finds and a later one that clears at once, in any order.
func reportsRace(t *testing.T, e *driftEnv) {
	for n := range 5 {
		name := fmt.Sprint("h", n)
		txtest.Together(2*txtest.Crowd, func(i int) {
			c := report(1, false, twoTasks, host(name, states(known, known), "a /a", "b /b"))
			if i%2 == 0 {
				c = report(2, n%2 == 1, twoTasks, host(name, states(known, known)))
			}
			if n%2 == 1 && i%2 == 0 {
				c.Hosts = append(c.Hosts, host("x", states(known), "a /x"))
			}
			err := e.Do(t, func(ctx context.Context) error {
				_, err := e.Drift.Apply(ctx, c, later())
				return err
			})
			txtest.NoError(t, err)
		})
		if n%2 == 0 { // a real run tells nothing of hosts that no dry run has checked
			txtest.Same(t, "after the race", "", e.shown(t))
		} else {
			e.apply(t, report(3, true, twoTasks, host(name, states(known, known))))
		}
	}
}

func coverage(t *testing.T, e *driftEnv) {
	h := host("h", states(known, unknown), "a /a", "a /b")
	h.Checked, h.Unknown = 1, 1
	clean := host("j", states(known, known))
	clean.Checked = 2
	e.apply(t, report(1, false, twoTasks, h, host("i", nil), clean))
	other := report(2, false, twoTasks, h)
	other.Target = estate.TargetOf(&runs.Spec{Playbook: "other.yml"})
	e.apply(t, other)
	partial := report(3, false, twoTasks, estate.HostCheck{Host: "h", States: states(known), Checked: 1})
	partial.Partial = true
	e.apply(t, partial)
	want := []estate.HostDrift{
		{Host: "h", Checked: 2, Unknown: 2, Drifted: 2, CheckedAt: txtest.At(2 * time.Second)},
		{Host: "i", CheckedAt: txtest.At(time.Second)},
		{Host: "j", Checked: 2, CheckedAt: txtest.At(time.Second)},
	}
	got := e.all(t)
	txtest.Same(t, "coverage", want, got.Coverage)
	sums := func(p estate.DriftPage) []int { return []int{p.Hosts, p.Drifting, p.Clean, p.Checked, p.Unknown} }
	txtest.Same(t, "sums", []int{3, 1, 1, 4, 2}, sums(got))
	one, err := e.Drift.Findings(t.Context(), estate.DriftQuery{Host: "h", Target: site().ID}, access.Everything(),
		later())
	txtest.NoError(t, err)
	txtest.Same(t, "of one host and target", []estate.HostDrift{{Host: "h", Checked: 1, Unknown: 1,
		CheckedAt: txtest.At(time.Second)}}, one.Coverage)
	txtest.Same(t, "its sums", []int{1, 0, 0, 1, 1}, sums(one))
	clean.Findings = host("j", nil, "a /a").Findings
	e.apply(t, report(4, false, twoTasks, clean))
	txtest.Same(t, "sums when it drifts", []int{3, 2, 0, 4, 2}, sums(e.all(t)))
	e.ignore(t, "j", "*", time.Time{})
	txtest.Same(t, "sums with a rule", []int{3, 1, 1, 4, 2}, sums(e.all(t)))
	counts, err := e.Drift.Counts(t.Context())
	txtest.NoError(t, err)
	txtest.Same(t, "counts, whatever rules say", estate.DriftCounts{Hosts: 3, Drifting: 2,
		Findings: map[estate.Confidence]int64{estate.ConfidentDiff: 3}}, counts)
	nobody, err := e.Drift.Findings(t.Context(), estate.DriftQuery{}, access.Scope{Strict: true}, later())
	txtest.NoError(t, err)
	txtest.Same(t, "sums for nobody", make([]int, 5), sums(nobody))
}

func wholeFindings(t *testing.T, e *driftEnv) {
	const odd = txtest.Odd
	c := report(1, false, []string{"a"}, host(odd, states(known), "a "+odd))
	f := &c.Hosts[0].Findings[0]
	f.Tasks, f.Path, f.Confidence = []string{odd, "nul\x00"}, odd, estate.ConfidentPredicted
	f.Diff = []byte(`[{"after":"\u0000'é"}]`)
	c.Target = estate.TargetOf(&runs.Spec{TemplateID: "tpl_1", ProjectID: "prj_1", Playbook: odd, Inventory: "a,"})
	found := e.apply(t, c)
	got := e.all(t).Findings
	txtest.Same(t, "what is new", got, found)
	at := txtest.At(time.Second)
	txtest.Same(t, "a finding", estate.Finding{ID: got[0].ID, Host: odd, Target: c.Target, Key: f.Key, Task: "a",
		Resource: odd, Tasks: []string{odd, "nul"}, Path: odd, Diff: f.Diff, Confidence: estate.ConfidentPredicted,
		RunID: c.Run.ID, CheckedAt: at, FirstSeen: at, LastSeen: at}, got[0])
}

func driftPages(t *testing.T, e *driftEnv) {
	var hosts []estate.HostCheck
	for i := range 450 { // more than are read at once
		hosts = append(hosts, host(fmt.Sprintf("h%03d", i), states(known), "a /b", "a /A"))
	}
	e.apply(t, report(1, false, []string{"a"}, hosts...))
	got, err := e.Drift.Findings(t.Context(), estate.DriftQuery{Window: page.Window{Offset: 449, Limit: 2}},
		access.Everything(), later())
	txtest.NoError(t, err)
	txtest.Same(t, "a page", "h224 /b, h225 /A", got.Findings[0].Host+" "+got.Findings[0].Resource+", "+
		got.Findings[1].Host+" "+got.Findings[1].Resource)
	txtest.Same(t, "numbers", []int{900, 450, 450, 1}, []int{got.Total, got.Hosts, got.Drifting, len(got.Coverage)})
	e.apply(t, report(2, false, []string{"a"}, hosts...)) // the same instants
	txtest.Same(t, "after the same report", 900, e.all(t).Total)
}

func repairs(t *testing.T, e *driftEnv) {
	found := e.apply(t, report(1, false, twoTasks, host("h", states(known, known), "a /a", "b /b", "b /c")))
	list := []string{found[0].ID, found[1].ID}
	e.Must(t, func(ctx context.Context) error { return e.Drift.Bind(ctx, "run_r", list) })
	slices.Sort(list)
	left := func() []string {
		out, err := e.Drift.Repairs(t.Context(), "run_r")
		txtest.NoError(t, err)
		return out
	}
	txtest.Same(t, "bound", list, left())
	q := estate.DriftQuery{ReconcileRunID: "run_r"}
	got, err := e.Drift.Findings(t.Context(), q, access.Everything(), later())
	txtest.NoError(t, err)
	txtest.Same(t, "listed", 2, got.Total)
	e.apply(t, report(2, false, twoTasks, host("h", states(known, unknown), "a /a")))
	txtest.Same(t, "seen again", list, left())
	h := host("h", states(known))
	h.Changed = []int{0}
	e.apply(t, report(3, true, twoTasks, h))
	txtest.Same(t, "after a repair", []string{found[1].ID}, left())
	e.apply(t, report(4, false, twoTasks, host("h", states(known, unknown), "a /a")))
	txtest.Same(t, "found again", []string{found[1].ID}, left())
}

func oldTargets(t *testing.T, e *driftEnv) {
	e.apply(t, report(1, false, twoTasks, host("h", states(known), "a /a")))
	c := report(2, false, twoTasks, host("i", states(known), "a /a"))
	c.Target = estate.TargetOf(&runs.Spec{Playbook: "other.yml"})
	at := later().Add(estate.KeepUnchecked + time.Hour)
	e.Must(t, func(ctx context.Context) error {
		_, err := e.Drift.Apply(ctx, c, at)
		return err
	})
	txtest.Same(t, "after the time", "i /a", e.shown(t))
	txtest.Same(t, "hosts", 1, e.all(t).Hosts)
}
