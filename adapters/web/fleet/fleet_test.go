package fleet

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

const hostile = `<script>alert(1)</script>"><img src=x onerror=alert(1)>` + "\u202e" + `' onclick='x`

func now() time.Time { return time.Date(2026, 11, 26, 14, 10, 0, 0, time.UTC) }

// render returns the markup of a component, and checks that no text of another became markup.
func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	ctx := shell.WithViewer(t.Context(), shell.Viewer{ID: "usr_1", Name: "Ada Reyes", Role: identity.Admin}, now())
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img", ` style=`, `javascript:`} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the markup has %q", bad)
		}
	}
	bare := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(b.String(), `""`)
	if tag := regexp.MustCompile(`<[a-z][^>]*\son[a-z]+=`).FindString(bare); tag != "" {
		t.Errorf("an element has a handler: %s", tag)
	}
	return b.String()
}

func result(outcome runs.Outcome, ago time.Duration) estate.HostRun {
	return estate.HostRun{HostSummary: runs.HostSummary{Host: hostile, Worst: outcome, OK: 3, Failed: 1},
		RunID: "run_" + hostile,
		Name:  hostile, TemplateID: "tpl_1", EndedAt: now().Add(-ago)}
}

func rank(host string, list ...runs.Outcome) estate.HostRank {
	r := estate.HostRank{Host: host, LastOutcome: runs.HostOK, LastRunAt: now(), Total: len(list)}
	for _, o := range list {
		r.Recent = append(r.Recent, estate.RunResult{RunID: "run_1", Outcome: o})
		if bad(o) {
			r.Failures++
		}
	}
	return r
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 255)
	v := hostsView{Query: hostile, Total: 3, Summary: hostile, Rows: []hostFold{
		{HostRank: rank(hostile, runs.HostFailed), Hosts: []string{hostile}},
		{HostRank: rank(long, runs.HostOK), Hosts: []string{long, hostile}}}}
	if got := render(t, listPage(v)); !strings.Contains(got, long) {
		t.Error("a long name is cut")
	}
	render(t, listPage(hostsView{Query: hostile}))
	reading := &estate.Reading{Host: hostile, GatheredAt: now()}
	render(t, hostPage(hostView{Name: hostile, All: []estate.HostRun{result(runs.HostFailed, time.Hour)},
		HostPage: estate.HostPage{Rank: rank(hostile, runs.HostFailed), Reading: reading,
			Drift: &estate.HostDrift{Drifted: 1}},
		Holders: []holder{{ID: hostile, Name: hostile, Groups: []string{hostile}}}, Templates: []touching{{ID: hostile,
			Name: hostile}},
		Facts: factsView{Host: hostile, Query: hostile, Reading: reading, Rows: []factRow{{Key: hostile,
			Value: hostile}}}}))
	render(t, unknownPage(hostile, []string{hostile}))
	render(t, tasksPage(tasksView{Query: hostile, Total: 1, Rows: []estate.TaskTrend{{Task: hostile,
		Recent: []time.Duration{1, 2}}}}))
	run := &runs.Run{ID: hostile, Name: hostile, Revision: 3, Actor: actor.Actor{Name: hostile}, CreatedAt: now()}
	got := render(t, queuesPage(queuesView{Now: now(), Limited: true, ShowTokens: true, Names: []string{hostile,
		"default"},
		Queues: []queueRow{{Queue: execution.Queue{Name: hostile, Pending: 1}, Oldest: run}},
		Workers: []workerRow{{Worker: execution.Worker{Name: hostile, Queues: []string{hostile}, Version: hostile},
			Runs: []*runs.Run{run}}},
		Pending: []waiting{{Run: run, Reasons: []runs.Reason{{Text: hostile, Next: hostile}}}},
		Tokens:  []execution.WorkerToken{{ID: hostile, Name: hostile}},
		Minted:  &mintedView{Name: hostile, Problem: &httpapi.Problem{Text: hostile}}}))
	if !strings.Contains(got, "/ui/do/move-run?") || !strings.Contains(got, `value="&#34;3&#34;"`) {
		t.Error("a waiting run cannot be moved with its revision")
	}
}

func TestDriftOfAHost(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]*estate.HostDrift{
		noDrift:                        nil,
		"No drift in 2 tasks checked.": {Checked: 2},
		"1 resource drifts, 2 tasks checked; 1 task could not be checked.":       {Checked: 2, Drifted: 1, Unknown: 1},
		"Drift is not known: no task was checked; 5 tasks could not be checked.": {Unknown: 5},
	} {
		if got := driftText(d); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestHostSentence(t *testing.T) {
	t.Parallel()
	ctx := shell.WithViewer(t.Context(), shell.Viewer{}, now())
	good, failed := result(runs.HostOK, 50*time.Hour), result(runs.HostFailed, 24*time.Hour)
	for _, c := range []struct {
		list  []estate.HostRun
		cause string
		want  string
	}{
		{nil, "", "No run of this host is kept that you may read."},
		{[]estate.HostRun{result(runs.HostUnreachable, time.Hour), failed, good, good, result(runs.HostFailed,
			90*time.Hour)},
			", at nginx : validate config", "Fails since yesterday 14:10, at nginx : validate config, after 2 good runs."},
		{[]estate.HostRun{failed, good}, "", "Fails since yesterday 14:10, after at least 1 good run."},
		{[]estate.HostRun{good, failed, good}, "", "Has not failed since 24 Nov 2026 12:10, in 1 run, after 1 failed run."},
		{[]estate.HostRun{good, good}, "", "Did not fail in 2 runs, the oldest of 24 Nov 2026 12:10."},
	} {
		if got := hostText(ctx, streakOf(c.list), c.cause); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	list := fold([]estate.HostRank{rank("a", runs.HostFailed, runs.HostOK), rank("b", runs.HostOK), rank("c",
		runs.HostFailed,
		runs.HostOK), rank("d", runs.HostOK, runs.HostOK)})
	if len(list) != 3 || strings.Join(list[0].Hosts, ",") != "a,c" || list[1].Host != "b" || list[2].Host != "d" {
		t.Errorf("%+v", list)
	}
}

func TestMarksDifferByShape(t *testing.T) {
	t.Parallel()
	seen := map[string]runs.Outcome{}
	for _, o := range runs.Outcomes() {
		_, path := markPath(o)
		if other, ok := seen[path]; ok && outcomeState(o).Glyph != outcomeState(other).Glyph {
			t.Errorf("%s and %s have one shape", o, other)
		}
		seen[path] = o
	}
	got := marksText([]runs.Outcome{runs.HostOK, runs.HostOK, runs.HostFailed})
	if got != "Oldest first: ok 2 times, failed" {
		t.Error(got)
	}
}

func TestListSentences(t *testing.T) {
	t.Parallel()
	flaky := rank("a", runs.HostFailed, runs.HostOK)
	flaky.Flaky = true
	page := func(total int, rows ...estate.HostRank) estate.FleetPage[estate.HostRank] {
		return estate.FleetPage[estate.HostRank]{Rows: rows, Total: total}
	}
	for want, got := range map[string]string{
		"No run has reached a host yet.": hostsText("", page(0)),
		"No host has “x” in its name.":   hostsText("x", page(0)),
		"None of 5,000 hosts failed in the last 12 runs of each.": hostsText("", page(5000, rank("a",
			runs.HostOK))),
		"1 of 2 hosts failed within the last 12 runs of each; 1 is flaky.": hostsText("", page(2, flaky,
			rank("b"))),
		"At least 1 of 9 hosts failed within the last 12 runs of each; none is flaky.": hostsText("", page(9, rank("a",
			runs.HostFailed))),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, v := range map[string]queuesView{
		"Nothing waits; no worker is fresh.":                          {},
		"Nothing waits; 1 of 16 executors is busy.":                   {Executors: 16, Busy: 1},
		"2 runs wait; 1 queue with waiting runs has no fresh worker.": waits(execution.Queue{Pending: 2}, 1),
		"1 run waits; 0 of 4 executors are busy.":                     waits(execution.Queue{Pending: 1, Workers: 1}, 4),
	} {
		if got := queuesText(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func waits(q execution.Queue, executors int) queuesView {
	return queuesView{Queues: []queueRow{{Queue: q}}, Executors: executors}
}

func TestOthers(t *testing.T) {
	t.Parallel()
	if got := others([]string{"build", "default", "dmz"}, "dmz"); len(got) != 2 || got[0].Value != "build" {
		t.Errorf("%v", got)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"": 0, "x": 0, "-3": 0, "40": 40, "99999999999": 0} {
		if got := number(in); got != want {
			t.Errorf("%q is %d, want %d", in, got, want)
		}
	}
}
