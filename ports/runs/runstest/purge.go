package runstest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

func purgeCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"old runs go whole":     purgeRuns,
		"in batches":            purgeBatches,
		"children go along":     purgeChildren,
		"events go alone":       purgeEvents,
		"a seq is never reused": purgeSeq,
	}
}

func (e *env) purge(t *testing.T, before time.Time, limit int) int {
	t.Helper()
	var n int
	e.must(t, func(ctx context.Context) error {
		var err error
		n, err = e.Purger.PurgeRuns(ctx, before, limit)
		return err
	})
	return n
}

// lived makes an ended run with every kind of data.
func (e *env) lived(t *testing.T, edit ...func(*runs.Run)) *runs.Run {
	t.Helper()
	a := e.running(t, append(edit, func(r *runs.Run) {
		r.Labels, r.Name, r.Vars = map[string]string{"k": "v"}, "lived", runs.Vars{"a": raw("1")}
	})...)
	e.log(t, a.Lease, 0, "output")
	e.must(t, func(ctx context.Context) error {
		if _, err := e.Events.AppendEvents(ctx, a.Lease, series(2, 4)); err != nil {
			return err
		}
		if err := e.Summaries.SaveTasks(ctx, a.Run.ID, []runs.TaskSummary{{Task: "task"}}); err != nil {
			return err
		}
		if err := e.Plans.PutPlan(ctx, planOf(a.Run.ID, "tgt_1", "")); err != nil {
			return err
		}
		return e.Summaries.SaveHosts(ctx, a.Run.ID, []runs.HostSummary{{Host: "host", Worst: runs.HostOK}})
	})
	return e.finish(t, a, runs.Succeeded, a.Run.CreatedAt.Add(time.Second))
}

func purgeRuns(t *testing.T, e *env) {
	e.lived(t, func(r *runs.Run) { r.CreatedAt = at(-time.Hour) })
	fresh := e.lived(t)
	waits := e.add(t, func(r *runs.Run) { r.CreatedAt = at(-time.Hour) })
	if n := e.purge(t, epoch, 10); n != 1 {
		t.Errorf("purged %d", n)
	}
	for _, c := range []struct {
		f    runs.Filter
		want []string
	}{
		{runs.Filter{}, []string{fresh.ID, waits.ID}}, {runs.Filter{Host: "host"}, []string{fresh.ID}},
		{runs.Filter{Task: "task"}, []string{fresh.ID}},
		{runs.Filter{Terms: []string{"lived"}}, []string{fresh.ID}},
		{runs.Filter{Labels: map[string]string{"k": "v"}}, []string{fresh.ID}},
	} {
		l := e.list(t, c.f)
		if d := diff(c.want, ids(l.Runs)); d != "" || l.Total != len(c.want) {
			t.Errorf("%+v after the purge, %d in all:\n%s", c.f, l.Total, d)
		}
	}
	if d := diff(map[string][2]int64{"succeeded/default": {1, 1}, "pending/default": {1, 1}}, e.counts(t)); d != "" {
		t.Errorf("counters:\n%s", d)
	}
	if got := e.read(t, fresh.ID, 0, 10); got != "output" {
		t.Errorf("the log that stays is %q", got)
	}
}

func purgeBatches(t *testing.T, e *env) {
	for range 5 {
		e.lived(t)
	}
	for _, want := range []int{2, 2, 1, 0} {
		if n := e.purge(t, at(time.Hour), 2); n != want {
			t.Errorf("purged %d, want %d", n, want)
		}
	}
}

func purgeChildren(t *testing.T, e *env) {
	ends := func(status runs.Status) func(*runs.Run) {
		return func(r *runs.Run) {
			r.Status = status
			if status.Terminal() {
				r.EndedAt = r.CreatedAt
			}
		}
	}
	done, busy := e.add(t, asSplit, ends(runs.Failed)), e.add(t, asSplit, ends(runs.Failed))
	child := e.add(t, childOf(done, runs.Shard, 0), ends(runs.Failed))
	e.add(t, childOf(busy, runs.Shard, 0), ends(runs.Failed))
	e.add(t, childOf(busy, runs.Shard, 1), ends(runs.Running))
	if n := e.purge(t, at(time.Hour), 10); n != 1 {
		t.Errorf("purged %d", n)
	}
	_, err := e.Runs.ByID(t.Context(), child.ID)
	wantFault(t, err, runs.RunNotFound)
	e.get(t, busy.ID)
	if d := diff(map[string][2]int64{"failed/default": {2, 1}, "running/default": {1, 0}}, e.counts(t)); d != "" {
		t.Errorf("counters:\n%s", d)
	}
}

func purgeEvents(t *testing.T, e *env) {
	old, fresh := e.lived(t), e.lived(t)
	runsOf := func(limit int) int {
		var n int
		e.must(t, func(ctx context.Context) error {
			var err error
			n, err = e.Purger.PurgeEvents(ctx, old.EndedAt.Add(time.Microsecond), limit)
			return err
		})
		return n
	}
	if n := runsOf(10); n != 1 {
		t.Errorf("purged the events of %d", n)
	}
	if n := runsOf(10); n != 0 {
		t.Errorf("purged the events of %d again", n)
	}
	if got := e.all(t, old.ID, 0, 10); len(got) != 0 {
		t.Errorf("events are left: %v", got)
	}
	if got := e.all(t, fresh.ID, 0, 10); int64(len(got)) != fresh.EventCount {
		t.Errorf("%d of %d events are left", len(got), fresh.EventCount)
	}
	want := *old
	want.Vars = runs.Vars{"a": raw("1")}
	if d := diff(&want, e.get(t, old.ID)); d != "" {
		t.Errorf("the record changed:\n%s", d)
	}
	if got := e.read(t, old.ID, 0, 10); got != "output" {
		t.Errorf("the log is %q", got)
	}
	if hosts, err := e.Summaries.Hosts(t.Context(), old.ID); err != nil || len(hosts) != 1 {
		t.Errorf("hosts: %v, %v", hosts, err)
	}
}

func purgeSeq(t *testing.T, e *env) {
	last := e.lived(t)
	e.purge(t, at(time.Hour), 10)
	if next := e.add(t); next.Seq <= last.Seq {
		t.Errorf("seq %d comes after %d", next.Seq, last.Seq)
	}
}
