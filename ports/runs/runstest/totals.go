package runstest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

func listTotals(t *testing.T, e *env) {
	for i := range 9 {
		e.add(t, func(r *runs.Run) {
			if i%3 == 0 {
				r.Status, r.Spec.Queue = runs.Failed, "gpu"
			}
		})
	}
	for _, c := range []struct {
		f    runs.Filter
		want int
	}{
		{runs.Filter{}, 9}, {runs.Filter{Statuses: []runs.Status{runs.Failed}}, 3}, {runs.Filter{Queue: "default"}, 6},
		{runs.Filter{Queue: "gpu", Statuses: []runs.Status{runs.Pending}}, 0}, {runs.Filter{After: at(5 * time.Second)}, 5},
	} {
		c.f.Limit = 1
		if l := e.list(t, c.f); l.Total != c.want || l.TotalCapped {
			t.Errorf("%+v has %d, want %d", c.f, l.Total, c.want)
		}
		c.f.SkipTotal = true
		if l := e.list(t, c.f); l.Total != 0 {
			t.Errorf("%+v counted %d", c.f, l.Total)
		}
	}
}

func listCapped(t *testing.T, e *env) {
	for n := 0; n < e.totalCap()+1; n += 100 {
		e.must(t, func(ctx context.Context) error {
			for range min(100, e.totalCap()+1-n) {
				if err := e.Runs.Insert(ctx, e.bare(func(r *runs.Run) { r.Name = "many" })); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, f := range []runs.Filter{{Tool: "bash"}, {Terms: []string{"man"}}, {Statuses: []runs.Status{runs.Pending}},
		{Queue: "default", Actor: "ada"}} {
		f.Limit = 1
		if l := e.list(t, f); l.Total != e.totalCap() || !l.TotalCapped {
			t.Errorf("%+v has %d, capped %t", f, l.Total, l.TotalCapped)
		}
	}
	if l := e.list(t, runs.Filter{Limit: 1}); l.Total != e.totalCap()+1 || l.TotalCapped {
		t.Errorf("all are %d, capped %t", l.Total, l.TotalCapped)
	}
	last := e.list(t, runs.Filter{Limit: 1, Oldest: true}).Runs[0]
	if _, err := e.move(t, runs.Move{ID: last.ID, From: runs.Pending, To: runs.Canceled, At: epoch}); err != nil {
		t.Fatal(err)
	}
	if l := e.list(t, runs.Filter{Limit: 1, Statuses: []runs.Status{runs.Pending}}); l.Total != e.totalCap() ||
		l.TotalCapped {
		t.Errorf("exactly the cap has %d, capped %t", l.Total, l.TotalCapped)
	}
}

func listChildSummary(t *testing.T, e *env) {
	p := e.add(t, asSplit)
	alone := e.add(t)
	var children []*runs.Run
	for i := range 2 {
		children = append(children, e.add(t, childOf(p, runs.Shard, i)))
	}
	for i, r := range append(children, alone) {
		e.must(t, func(ctx context.Context) error {
			if err := e.Summaries.SaveHosts(ctx, r.ID,
				[]runs.HostSummary{{Host: "web", Worst: runs.HostOK}, {Host: fmt.Sprint("h", i)}}); err != nil {
				return err
			}
			return e.Summaries.SaveTasks(ctx, r.ID, []runs.TaskSummary{{Task: "install"}})
		})
	}
	for _, c := range []struct {
		f    runs.Filter
		want []string
	}{
		{runs.Filter{Host: "web"}, []string{alone.ID, p.ID}}, {runs.Filter{Task: "install"}, []string{alone.ID, p.ID}},
		{runs.Filter{Host: "h1"}, []string{p.ID}}, {runs.Filter{Host: "h2"}, []string{alone.ID}},
		{runs.Filter{Host: "none"}, []string{}},
		{runs.Filter{Host: "web", Task: "install", Tool: "bash"}, []string{alone.ID, p.ID}},
		{runs.Filter{Host: "h0", Terms: []string{"true"}}, []string{p.ID}},
	} {
		l := e.list(t, c.f)
		if d := diff(c.want, ids(l.Runs)); d != "" || l.Total != len(c.want) {
			t.Errorf("%+v lists %v of %d", c.f, ids(l.Runs), l.Total)
		}
	}
}
