package runstest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/runs"
)

func scopeCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"what may be read":                scopeShows,
		"the default queue is restricted": scopeDefaultQueue,
		"nothing may be read":             scopeNothing,
		"pages of a few queues":           scopePages(4),
		"pages of many queues":            scopePages(30),
		"with each filter":                scopeFilters,
		"totals":                          scopeTotals,
		"a total that is capped":          scopeCapped,
		"children stay with their parent": scopeChildren,
		"whatever is granted":             scopeAnything,
	}
}

// The readers. A stranger has no grants. Ada has those of the case, directly or by her team.
var (
	stranger = access.Scope{Subjects: []string{"user:usr_none"}}
	ada      = access.Scope{Subjects: []string{"user:usr_1", "team:team_1"}}
)

func (e *env) restrict(t *testing.T, object string, readers ...string) {
	t.Helper()
	if err := e.Restrict(t.Context(), Restriction{Object: object, Readers: readers}); err != nil {
		t.Fatalf("restrict %s: %v", object, err)
	}
}

func scopeShows(t *testing.T, e *env) {
	plain := e.add(t)
	one, two := e.add(t, naming("inv_1", "queue:default")), e.add(t, naming("inv_1", "prj_1", "queue:gpu"))
	open := e.add(t, naming("inv_2", "queue:default"))
	all := []string{open.ID, two.ID, one.ID, plain.ID}
	shows := func(what string, reader access.Scope, want ...string) {
		t.Helper()
		l := e.listAs(t, reader, runs.Filter{})
		if d := diff(append([]string{}, want...), ids(l.Runs)); d != "" || l.Total != len(want) {
			t.Errorf("%s: a total of %d\n%s", what, l.Total, d)
		}
	}
	shows("nothing is restricted", stranger, all...)
	shows("nothing is restricted and nobody asks", access.Scope{}, all...)
	shows("strict", access.Scope{Strict: true, Subjects: ada.Subjects})
	e.restrict(t, "inv_1", "user:usr_1")
	shows("an inventory is restricted", stranger, open.ID, plain.ID)
	shows("and granted", ada, all...)
	e.restrict(t, "queue:gpu", "team:team_2")
	shows("one of two is granted", ada, open.ID, one.ID, plain.ID)
	e.restrict(t, "queue:gpu", "team:team_2", "team:team_1")
	shows("both are, in two ways", ada, all...)
	shows("everything", access.Everything(), all...)
	e.restrict(t, "queue:default", "user:usr_1")
	strict := access.Scope{Strict: true, Subjects: ada.Subjects}
	shows("strict, and some granted", strict, one.ID, plain.ID)
	if err := e.Restrict(t.Context(), Restriction{Object: "prj_1", Org: "org_1"}); err != nil {
		t.Fatal(err)
	}
	shows("an organization's", ada, open.ID, one.ID, plain.ID)
	shows("and its administrator", access.Scope{Subjects: ada.Subjects, Orgs: []string{"org_1"}}, all...)
	shows("another one's", access.Scope{Subjects: ada.Subjects, Orgs: []string{"org_2"}}, open.ID, one.ID, plain.ID)
}

func scopeDefaultQueue(t *testing.T, e *env) {
	plain, gpu := e.add(t), e.add(t, naming("queue:gpu"))
	both := e.add(t, naming("inv_1", "queue:default"))
	e.restrict(t, "queue:default", "user:usr_1")
	for _, f := range []runs.Filter{{}, {Tool: "bash"}, {Terms: []string{"true"}}, {Queue: "default"}} {
		l := e.listAs(t, stranger, f)
		if d := diff([]string{gpu.ID}, ids(l.Runs)); d != "" || l.Total != 1 {
			t.Errorf("%+v for a stranger, a total of %d\n%s", f, l.Total, d)
		}
		l = e.listAs(t, ada, f)
		if d := diff([]string{both.ID, gpu.ID, plain.ID}, ids(l.Runs)); d != "" || l.Total != 3 {
			t.Errorf("%+v for ada, a total of %d\n%s", f, l.Total, d)
		}
	}
}

func scopeNothing(t *testing.T, e *env) {
	e.restrict(t, "queue:default")
	check := func() {
		t.Helper()
		for _, f := range []runs.Filter{{}, {Tool: "bash"}, {Terms: []string{"true"}}, {Limit: 1, Oldest: true}} {
			if l := e.listAs(t, stranger, f); len(l.Runs) != 0 || l.Total != 0 || l.HasMore || l.NextCursor != "" ||
				l.TotalCapped {
				t.Errorf("%+v is %+v", f, l)
			}
		}
	}
	check()
	e.add(t)
	e.add(t, naming("inv_1", "queue:default"))
	check()
}

// restrictedQueues makes runs in that many queues. Every third queue is open, the others are restricted. It returns
// the runs that ada may read, the oldest first.
func (e *env) restrictedQueues(t *testing.T, queues int) (mine []string) {
	t.Helper()
	for q := range queues {
		switch q % 3 {
		case 0:
			e.restrict(t, fmt.Sprint("queue:q", q))
		case 1:
			e.restrict(t, fmt.Sprint("queue:q", q), "team:team_1")
		}
	}
	for i := range 3 * queues {
		r := e.add(t, func(r *runs.Run) {
			r.CreatedAt = epoch.Add(r.CreatedAt.Sub(epoch) / 4e9 * 4e9) // several at one instant
			r.Objects = []string{fmt.Sprint("queue:q", i%queues)}
			if i%5 == 0 {
				r.Objects = []string{"queue:default"}
			}
			r.Labels = map[string]string{"k": "v"}
		})
		if i%5 == 0 || i%queues%3 != 0 {
			mine = append(mine, r.ID)
		}
	}
	return mine
}

// scopePages reads all pages of a list over that many queues.
func scopePages(queues int) func(*testing.T, *env) {
	return func(t *testing.T, e *env) {
		mine := e.restrictedQueues(t, queues)
		sizes := depthtest.Of([]int{7, 100}, []int{1, 7, 100})
		if queues > 10 {
			sizes = []int{100} // a list for each of many runs takes its time
		}
		back := slices.Clone(mine)
		slices.Reverse(back)
		for _, f := range []runs.Filter{
			{}, {Tool: "bash"}, {Labels: map[string]string{"k": "v"}}, {Terms: []string{"true"}}, {Actor: "ada"},
			{Statuses: []runs.Status{runs.Pending, runs.Failed}}, {Queue: runs.DefaultQueue},
		} {
			for _, size := range sizes {
				f.Limit, f.Oldest = size, true
				if d := diff(mine, e.pagesAs(t, ada, f)); d != "" {
					t.Errorf("%+v:\n%s", f, d)
				}
				f.Oldest = false
				if d := diff(back, e.pagesAs(t, ada, f)); d != "" {
					t.Errorf("%+v:\n%s", f, d)
				}
			}
			f.Limit, f.Offset, f.Oldest = 3, 2, true
			if l := e.listAs(t, ada, f); diff(mine[2:5], ids(l.Runs)) != "" || l.Total != len(mine) || !l.HasMore {
				t.Errorf("%+v lists %v of %d", f, ids(l.Runs), l.Total)
			}
			f.Offset = len(mine) - 1
			if l := e.listAs(t, ada, f); diff(mine[len(mine)-1:], ids(l.Runs)) != "" || l.HasMore {
				t.Errorf("%+v lists %v", f, ids(l.Runs))
			}
		}
	}
}

func scopeFilters(t *testing.T, e *env) {
	e.restrict(t, "inv_mine", "user:usr_1")
	e.restrict(t, "inv_other")
	for _, c := range filterCases() {
		before := e.listAs(t, ada, c.f).Total
		e.add(t, c.edit, naming("inv_other", "queue:default"))
		mine, plain := e.add(t, c.edit, naming("inv_mine", "queue:gpu")), e.add(t, c.edit)
		e.add(t, naming("inv_mine", "queue:gpu"))
		l := e.listAs(t, ada, c.f)
		if l.Total != before+2 || len(l.Runs) != l.Total || !slices.Contains(ids(l.Runs), mine.ID) ||
			!slices.Contains(ids(l.Runs), plain.ID) {
			t.Errorf("%s lists %v of %d", c.name, ids(l.Runs), l.Total)
		}
		if l := e.listAs(t, stranger, c.f); slices.Contains(ids(l.Runs), mine.ID) || len(l.Runs) != l.Total {
			t.Errorf("%s lists %v of %d for a stranger", c.name, ids(l.Runs), l.Total)
		}
	}
}

func scopeTotals(t *testing.T, e *env) {
	for i := range 9 {
		e.add(t, func(r *runs.Run) {
			if i%3 == 0 {
				r.Status, r.Spec.Queue, r.Objects = runs.Failed, "gpu", []string{"queue:gpu"}
			}
		})
	}
	e.restrict(t, "queue:gpu", "user:usr_1")
	for _, c := range []struct {
		f             runs.Filter
		ada, stranger int
	}{
		{runs.Filter{}, 9, 6}, {runs.Filter{Statuses: []runs.Status{runs.Failed}}, 3, 0},
		{runs.Filter{Queue: "default"}, 6, 6},
		{runs.Filter{Queue: "gpu"}, 3, 0}, {runs.Filter{Tool: "bash"}, 9, 6},
	} {
		c.f.Limit = 1
		if l := e.listAs(t, ada, c.f); l.Total != c.ada || l.TotalCapped {
			t.Errorf("%+v has %d for ada, want %d", c.f, l.Total, c.ada)
		}
		if l := e.listAs(t, stranger, c.f); l.Total != c.stranger || l.TotalCapped {
			t.Errorf("%+v has %d for a stranger, want %d", c.f, l.Total, c.stranger)
		}
		c.f.SkipTotal = true
		if l := e.listAs(t, stranger, c.f); l.Total != 0 {
			t.Errorf("%+v counted %d", c.f, l.Total)
		}
	}
}

func scopeCapped(t *testing.T, e *env) {
	for q := range 2 {
		r := e.add(t, naming(fmt.Sprint("queue:q", q)))
		if err := e.Copy(t.Context(), r.ID, e.totalCap()/2); err != nil {
			t.Fatal(err)
		}
	}
	e.add(t, naming("queue:secret"))
	e.restrict(t, "queue:secret")
	if l := e.listAs(t, stranger, runs.Filter{Limit: 1}); l.Total != e.totalCap() || !l.TotalCapped {
		t.Errorf("%d, capped %t, with one hidden", l.Total, l.TotalCapped)
	}
	if l := e.listAs(t, access.Everything(), runs.Filter{Limit: 1}); l.Total != e.totalCap()+3 || l.TotalCapped {
		t.Errorf("%d, capped %t, for who may read everything", l.Total, l.TotalCapped)
	}
	e.restrict(t, "queue:q1")
	if l := e.listAs(t, stranger, runs.Filter{Limit: 1}); l.Total != e.totalCap()/2+1 || l.TotalCapped {
		t.Errorf("%d, capped %t, with half of them hidden", l.Total, l.TotalCapped)
	}
}

func scopeChildren(t *testing.T, e *env) {
	p := e.add(t, asSplit, naming("queue:gpu"))
	c := e.add(t, childOf(p, runs.Shard, 0), naming("queue:gpu"))
	e.must(t, func(ctx context.Context) error {
		return e.Summaries.SaveHosts(ctx, c.ID, []runs.HostSummary{{Host: "web", Worst: runs.HostOK}})
	})
	e.restrict(t, "queue:gpu", "user:usr_1")
	for _, f := range []runs.Filter{{}, {Host: "web"}} {
		if l := e.listAs(t, ada, f); diff([]string{p.ID}, ids(l.Runs)) != "" || l.Total != 1 {
			t.Errorf("%+v lists %v of %d", f, ids(l.Runs), l.Total)
		}
		if l := e.listAs(t, stranger, f); len(l.Runs) != 0 || l.Total != 0 {
			t.Errorf("%+v lists %v of %d for a stranger", f, ids(l.Runs), l.Total)
		}
	}
}

// rightsModel is a model of the rights by the rules of package access.
type rightsModel map[string]Restriction

func (m rightsModel) mayRead(s access.Scope, objects []string) bool {
	for _, o := range objects {
		r, restricted := m[o]
		readable := !restricted && !s.Strict || r.Org != "" && slices.Contains(s.Orgs, r.Org) ||
			slices.ContainsFunc(r.Readers, func(who string) bool { return slices.Contains(s.Subjects, who) })
		if !s.All && !readable {
			return false
		}
	}
	return true
}

// scopeAnything adds runs and rights at random and compares every list with the model.
func scopeAnything(t *testing.T, e *env) {
	model := rightsModel{}
	var made []*runs.Run
	objects := []string{"queue:default", "queue:gpu", "inv_1", "inv_2", "prj_1", "tpl_1"}
	for i := range 20 {
		objects = append(objects, fmt.Sprint("tpl_x", i))
	}
	subjects, orgs := []string{"user:1", "user:2", "team:1"}, []string{"org_1", "org_2"}
	rapid.Check(t, func(rt *rapid.T) {
		set := rapid.SliceOfNDistinct(rapid.SampledFrom(objects), 1, 3, rapid.ID[string]).Draw(rt, "objects")
		status := rapid.SampledFrom([]runs.Status{runs.Pending, runs.Failed}).Draw(rt, "status")
		r := e.bare(naming(set...), func(r *runs.Run) { r.Status = status })
		if err := e.Unit.Do(t.Context(), func(ctx context.Context) error { return e.Runs.Insert(ctx, r) }); err != nil {
			rt.Fatal(err)
		}
		made = append([]*runs.Run{r}, made...)
		if rapid.IntRange(0, 2).Draw(rt, "restrict") == 0 {
			x := Restriction{Object: rapid.SampledFrom(objects).Draw(rt, "object"), Org: rapid.SampledFrom(append(orgs, "", "")).
				Draw(rt, "org"),
				Readers: rapid.SliceOfNDistinct(rapid.SampledFrom(subjects), 0, 2, rapid.ID[string]).Draw(rt, "readers")}
			if err := e.Restrict(t.Context(), x); err != nil {
				rt.Fatal(err)
			}
			model[x.Object] = x
		}
		s := access.Scope{
			All: rapid.IntRange(0, 9).Draw(rt, "all") == 0, Strict: rapid.IntRange(0, 4).Draw(rt, "strict") == 0,
			Subjects: rapid.SliceOfNDistinct(rapid.SampledFrom(subjects), 0, 2, rapid.ID[string]).Draw(rt, "who"),
			Orgs:     rapid.SliceOfNDistinct(rapid.SampledFrom(orgs), 0, 2, rapid.ID[string]).Draw(rt, "of"),
		}
		f := runs.Filter{Limit: 1000, Scope: s}
		if rapid.Bool().Draw(rt, "filtered") {
			f.Statuses = []runs.Status{runs.Failed}
		}
		want := []string{}
		for _, r := range made {
			if model.mayRead(s, r.Objects) && (f.Statuses == nil || r.Status == runs.Failed) {
				want = append(want, r.ID)
			}
		}
		l, err := e.Runs.List(t.Context(), f)
		if err != nil {
			rt.Fatal(err)
		}
		if d := diff(want, ids(l.Runs)); d != "" || l.Total != len(want) {
			rt.Fatalf("%+v: a total of %d, want %d\n%s", s, l.Total, len(want), d)
		}
	})
}
