package runstest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

func summaryCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"hosts":             saveHosts,
		"tasks":             saveTasks,
		"facts":             saveFacts,
		"large facts":       takeLargeFacts,
		"means":             hostMeans,
		"the run before":    previous,
		"that may be read":  previousReadable,
		"of an unknown run": summaryUnknown,
	}
}

func saveHosts(t *testing.T, e *env) {
	r := e.add(t)
	want := []runs.HostSummary{
		{Host: "a", OK: 1, Changed: 2, Failed: 3, Unreachable: 4, Skipped: 5, Rescued: 6, Ignored: 7, Worst: runs.HostFailed,
			Duration: 1500 * time.Microsecond},
		{Host: "ä 'b'", Worst: runs.HostOK},
	}
	save := func(list ...runs.HostSummary) {
		e.must(t, func(ctx context.Context) error { return e.Summaries.SaveHosts(ctx, r.ID, list) })
	}
	save()
	save(want[1])
	save(want[1], want[0])
	check := func() {
		t.Helper()
		got, err := e.Summaries.Hosts(t.Context(), r.ID)
		if d := diff(want, got); d != "" || err != nil {
			t.Errorf("hosts (%v):\n%s", err, d)
		}
	}
	check()
	want[1].Worst, want[1].Failed = runs.HostFailed, 9
	save(want[1])
	check()
	want[1].OK = 3
	save(runs.HostSummary{Host: want[1].Host}, want[1]) // of two in one call the last counts
	check()
}

func saveTasks(t *testing.T, e *env) {
	r := e.add(t)
	want := []runs.TaskSummary{
		{Index: 0, TaskID: "x", Play: "p", Task: "t", OK: 1, Changed: 2, Failed: 3, Skipped: 4, Hosts: 10,
			Duration: time.Second, Mean: time.Millisecond, Max: time.Minute},
		{Index: 1, Task: "t"}, {Index: 2, Task: "u"},
	}
	for _, list := range [][]runs.TaskSummary{nil, {want[2], want[0]}, {want[1], want[2]}} {
		e.must(t, func(ctx context.Context) error { return e.Summaries.SaveTasks(ctx, r.ID, list) })
	}
	got, err := e.Summaries.Tasks(t.Context(), r.ID)
	if d := diff(want, got); d != "" || err != nil {
		t.Errorf("tasks (%v):\n%s", err, d)
	}
}

// saveFacts also deletes a run before its facts are taken: who may read them stays known.
func saveFacts(t *testing.T, e *env) {
	a := e.running(t, func(r *runs.Run) { r.Objects = []string{"inv_1", access.Queue(runs.DefaultQueue)} })
	r, old := a.Run, e.add(t)
	want := []runs.GatheredFacts{
		{RunID: r.ID, Objects: r.Objects,
			HostFacts: runs.HostFacts{Host: "a", GatheredAt: epoch, Facts: raw(`{"k":"\u0000"}`)}},
		{RunID: r.ID, Objects: r.Objects,
			HostFacts: runs.HostFacts{Host: "b", GatheredAt: at(time.Second), Facts: raw(`{}`)}},
	}
	facts := []runs.HostFacts{want[0].HostFacts, want[1].HostFacts}
	for range 2 { // the same again is no error
		e.must(t, func(ctx context.Context) error { return e.Summaries.SaveFacts(ctx, r.ID, facts) })
	}
	last := runs.HostFacts{Host: "a", GatheredAt: at(time.Minute), Facts: raw(`{"k":1}`)}
	e.must(t, func(ctx context.Context) error { return e.Summaries.SaveFacts(ctx, old.ID, []runs.HostFacts{last}) })
	want = append(want, runs.GatheredFacts{RunID: old.ID, HostFacts: last,
		Objects: []string{access.Queue(runs.DefaultQueue)}})
	e.finish(t, a, runs.Succeeded, at(time.Hour))
	if n := e.purge(t, at(24*365*time.Hour), 100); n != 1 {
		t.Fatalf("%d runs were deleted", n)
	}
	var got []runs.GatheredFacts
	for range 3 {
		e.must(t, func(ctx context.Context) error {
			some, err := e.Facts.TakeFacts(ctx, 2)
			got = append(got, some...)
			return err
		})
	}
	if d := diff(want, got); d != "" {
		t.Error(d)
	}
}

// takeLargeFacts takes few large readings at once, so that who takes them is done soon.
func takeLargeFacts(t *testing.T, e *env) {
	r := e.add(t)
	list := make([]runs.HostFacts, 4)
	for i, size := range []int{runs.MaxFacts, runs.MaxFacts / 2, runs.MaxFacts / 2, 8} {
		list[i] = runs.HostFacts{Host: "h", GatheredAt: at(time.Duration(i) * time.Second),
			Facts: raw(`{"k":"` + strings.Repeat("x", size-8) + `"}`)}
	}
	e.must(t, func(ctx context.Context) error { return e.Summaries.SaveFacts(ctx, r.ID, list) })
	for i, want := range []int{1, 2, 1, 0} {
		e.must(t, func(ctx context.Context) error {
			some, err := e.Facts.TakeFacts(ctx, 16)
			if len(some) != want {
				t.Errorf("take %d has %d readings, want %d", i+1, len(some), want)
			}
			return err
		})
	}
}

func hostMeans(t *testing.T, e *env) {
	save := func(lineage string, took ...time.Duration) string {
		r := e.add(t, func(r *runs.Run) { r.Lineage = lineage })
		list := []runs.HostSummary{{Host: "a", Duration: took[0]}, {Host: "b", Duration: took[1]}, {Host: "idle"}}
		for range 2 { // saved twice it counts once
			e.must(t, func(ctx context.Context) error { return e.Summaries.SaveHosts(ctx, r.ID, list) })
		}
		return r.ID
	}
	means := func(lineage string) map[string]time.Duration {
		t.Helper()
		got, err := e.Summaries.HostMeans(t.Context(), lineage, []string{"a", "b", "c", "idle"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	save("l", time.Second, 10*time.Second)
	save("l", 3*time.Second, 20*time.Second)
	save("other", time.Hour, time.Hour)
	save("", time.Hour, time.Hour)
	if d := diff(map[string]time.Duration{"a": 2 * time.Second, "b": 15 * time.Second}, means("l")); d != "" {
		t.Errorf("means:\n%s", d)
	}
	for range 40 {
		save("l", 9*time.Second, 10*time.Second)
	}
	if got := means("l")["a"]; got < 8*time.Second || got > 9*time.Second {
		t.Errorf("the mean follows the recent runs, but is %s", got)
	}
	if got := means("none"); len(got) != 0 {
		t.Errorf("means of no lineage: %v", got)
	}
	if got, err := e.Summaries.HostMeans(t.Context(), "l", nil); err != nil || len(got) != 0 {
		t.Errorf("means of no hosts: %v, %v", got, err)
	}
}

func previous(t *testing.T, e *env) {
	of := func(lineage string, status runs.Status) *runs.Run {
		return e.add(t, func(r *runs.Run) {
			r.Lineage, r.Status = lineage, status
			if status.Terminal() {
				r.EndedAt = r.CreatedAt
			}
		})
	}
	old, newest := of("l", runs.Succeeded), of("l", runs.Failed)
	of("l", runs.Pending)
	of("m", runs.Succeeded)
	p := of("l", runs.Canceled)
	e.add(t, childOf(p, runs.Shard, 0), func(r *runs.Run) { r.Lineage, r.Status, r.EndedAt = "l", runs.Failed, epoch })
	now := of("l", runs.Succeeded)
	of("l", runs.Succeeded)
	for _, c := range []struct {
		r    *runs.Run
		want string
	}{{now, p.ID}, {p, newest.ID}, {newest, old.ID}, {old, ""}, {of("", runs.Failed), ""}} {
		if got, err := e.Summaries.Previous(t.Context(), c.r, access.Everything()); err != nil || got != c.want {
			t.Errorf("before %s is %q, %v, want %q", c.r.ID, got, err, c.want)
		}
	}
}

// previousReadable looks for the newest earlier run that the reader may read, beyond runs that it may not read.
func previousReadable(t *testing.T, e *env) {
	of := func(lineage string, objects ...string) *runs.Run {
		return e.add(t, naming(objects...), func(r *runs.Run) {
			r.Lineage, r.Status, r.EndedAt = lineage, runs.Succeeded, r.CreatedAt
		})
	}
	open, granted := of("l", "queue:default"), of("l", "prj_1", "queue:gpu")
	child := func() *runs.Run {
		p := of("p", "queue:secret")
		return e.add(t, childOf(p, runs.Shard, 0), naming("queue:secret"), func(r *runs.Run) {
			r.Lineage, r.Status, r.EndedAt = "c", runs.Failed, r.CreatedAt
		})
	}
	oldChild := child()
	for range 3 {
		of("l", "queue:gpu", "queue:secret")
	}
	newest := of("l", "queue:secret")
	now, newChild := of("l", "queue:default"), child()
	before := func(what string, reader access.Scope, r *runs.Run, want string) {
		t.Helper()
		if got, err := e.Summaries.Previous(t.Context(), r, reader); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", what, got, err, want)
		}
	}
	before("nothing is restricted", stranger, now, newest.ID)
	before("strict", access.Scope{Strict: true, Subjects: stranger.Subjects}, now, "")
	e.restrict(t, "queue:secret", "user:usr_9")
	e.restrict(t, "queue:gpu", "team:team_1")
	before("granted by a team", ada, now, granted.ID)
	before("a stranger", stranger, now, open.ID)
	before("a stranger, one further", stranger, open, "")
	before("a child", ada, newChild, "")
	before("a child of what may be read", access.Scope{Subjects: []string{"user:usr_9"}}, newChild, oldChild.ID)
	before("everything", access.Everything(), now, newest.ID)
	e.restrict(t, "queue:default", "user:usr_9")
	before("the default queue is restricted", stranger, now, "")
	before("the default queue is restricted, another one granted", ada, now, granted.ID)
	for i := range 30 { // more than fit into one statement
		of("l", fmt.Sprint("queue:q", i))
	}
	e.restrict(t, "queue:q29")
	last := of("l", "queue:default")
	before("among many", ada, last, e.previousOf(t, last, 2))
}

// previousOf returns the id of the run n places before another one, without a check of rights.
func (e *env) previousOf(t *testing.T, r *runs.Run, n int) (id string) {
	t.Helper()
	for range n {
		var err error
		if id, err = e.Summaries.Previous(t.Context(), r, access.Everything()); err != nil {
			t.Fatal(err)
		}
		if r, err = e.Runs.ByID(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func summaryUnknown(t *testing.T, e *env) {
	for name, write := range map[string]func(ctx context.Context) error{
		"hosts": func(ctx context.Context) error {
			return e.Summaries.SaveHosts(ctx, "run_none", []runs.HostSummary{{Host: "h"}})
		},
		"tasks": func(ctx context.Context) error {
			return e.Summaries.SaveTasks(ctx, "run_none", []runs.TaskSummary{{Task: "t"}})
		},
		"facts": func(ctx context.Context) error {
			return e.Summaries.SaveFacts(ctx, "run_none", []runs.HostFacts{{Host: "h", GatheredAt: epoch, Facts: raw("{}")}})
		},
	} {
		if err := e.do(t, write); !runs.RunNotFound.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := e.Summaries.Hosts(t.Context(), "run_none")
	wantFault(t, err, runs.RunNotFound)
	_, err = e.Summaries.Tasks(t.Context(), "run_none")
	wantFault(t, err, runs.RunNotFound)
}
