package runstest

import (
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

func listCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"an empty store":                  listEmpty,
		"order is that of creation":       listOrder,
		"children are left out":           listTopOnly,
		"each filter":                     listFilters,
		"filters together":                listTogether,
		"pages by cursor":                 listCursor,
		"pages by offset":                 listOffset,
		"a cursor is stable":              listStable,
		"a bad cursor":                    listBadCursor,
		"totals":                          listTotals,
		"a total that is capped":          listCapped,
		"a host or task of a child":       listChildSummary,
		"values that look like something": listOddValues,
	}
}

// list lists for a reader who may read everything.
func (e *env) list(t *testing.T, f runs.Filter) *runs.List {
	t.Helper()
	return e.listAs(t, access.Everything(), f)
}

func (e *env) listAs(t *testing.T, reader access.Scope, f runs.Filter) *runs.List {
	t.Helper()
	f.Scope = reader
	l, err := e.Runs.List(t.Context(), f)
	if err != nil {
		t.Fatalf("list %+v: %v", f, err)
	}
	return l
}

func listEmpty(t *testing.T, e *env) {
	for _, f := range []runs.Filter{{}, {Tool: "x"}, {Terms: []string{"x"}}, {Host: "h"}} {
		l := e.list(t, f)
		if len(l.Runs) != 0 || l.Total != 0 || l.HasMore || l.NextCursor != "" || l.TotalCapped {
			t.Errorf("list %+v is %+v", f, l)
		}
	}
}

func listOrder(t *testing.T, e *env) {
	a, b := e.add(t), e.add(t)
	old := e.add(t, func(r *runs.Run) { r.CreatedAt = at(-time.Hour) })
	same := e.add(t, func(r *runs.Run) { r.CreatedAt = a.CreatedAt })
	want := []string{b.ID, same.ID, a.ID, old.ID}
	if d := diff(want, ids(e.list(t, runs.Filter{}).Runs)); d != "" {
		t.Errorf("newest first:\n%s", d)
	}
	slices.Reverse(want)
	if d := diff(want, ids(e.list(t, runs.Filter{Oldest: true}).Runs)); d != "" {
		t.Errorf("oldest first:\n%s", d)
	}
}

func listTopOnly(t *testing.T, e *env) {
	p := e.add(t, asSplit, func(r *runs.Run) { r.Labels = map[string]string{"a": "b"} })
	e.add(t, childOf(p, runs.Shard, 0), func(r *runs.Run) { r.Labels = map[string]string{"a": "b"} })
	for _, f := range []runs.Filter{{}, {Tool: "bash"}, {Labels: map[string]string{"a": "b"}}, {Terms: []string{"true"}},
		{Queue: "default"}} {
		l := e.list(t, f)
		if d := diff([]string{p.ID}, ids(l.Runs)); d != "" || l.Total != 1 {
			t.Errorf("%+v lists %v of %d", f, ids(l.Runs), l.Total)
		}
	}
}

// filterCase is one filter, and an edit that makes a run match it.
type filterCase struct {
	name string
	f    runs.Filter
	edit func(*runs.Run)
}

func filterCases() []filterCase {
	return []filterCase{
		{"status", runs.Filter{Statuses: []runs.Status{runs.Failed}}, func(r *runs.Run) { r.Status = runs.Failed }},
		{"tool", runs.Filter{Tool: "golang"}, func(r *runs.Run) { r.Spec.Tool = "golang" }},
		{"source", runs.Filter{Sources: []runs.Source{runs.FromImport}}, func(r *runs.Run) {
			r.Origin.Source = runs.FromImport
		}},
		{"actor name", runs.Filter{Actor: "zoe"}, func(r *runs.Run) { r.Actor.Name = "zoe" }},
		{"actor id", runs.Filter{Actor: "usr_7"}, func(r *runs.Run) { r.Actor.ID = "usr_7" }},
		{"label", runs.Filter{Labels: map[string]string{"k": "v"}}, func(r *runs.Run) {
			r.Labels = map[string]string{"k": "v", "o": "p"}
		}},
		{"labels", runs.Filter{Labels: map[string]string{"x": "1", "y": "2"}}, func(r *runs.Run) {
			r.Labels = map[string]string{"x": "1", "y": "2"}
		}},
		{"change", runs.Filter{Change: "CHG-7"}, func(r *runs.Run) { r.Change = "CHG-7" }},
		{"template", runs.Filter{Templates: []string{"tpl_7", "tpl_none", "tpl_7"}}, func(r *runs.Run) {
			r.Lineage = "tpl_7"
		}},
		{"queue", runs.Filter{Queue: "gpu"}, func(r *runs.Run) { r.Spec.Queue = "gpu" }},
		{"after", runs.Filter{After: at(24 * time.Hour)}, func(r *runs.Run) { r.CreatedAt = at(24 * time.Hour) }},
		{"before", runs.Filter{Before: at(-24 * time.Hour)}, func(r *runs.Run) {
			r.CreatedAt = at(-24*time.Hour - time.Microsecond)
		}},
		{"words", runs.Filter{Terms: []string{"nightly"}}, func(r *runs.Run) { r.Name = "nightly" }},
	}
}

func listFilters(t *testing.T, e *env) {
	want := map[string]string{}
	for _, c := range filterCases() {
		want[c.name] = e.add(t, c.edit).ID
	}
	// Two more runs that no filter may find.
	e.add(t, func(r *runs.Run) { r.Labels = map[string]string{"k": "w", "x": "1"} })
	e.add(t, func(r *runs.Run) { r.Labels = map[string]string{"v": "k", "y": "2"} })
	for _, c := range filterCases() {
		l := e.list(t, c.f)
		if d := diff([]string{want[c.name]}, ids(l.Runs)); d != "" || l.Total != 1 || l.HasMore {
			t.Errorf("%s lists %v of %d, want %s", c.name, ids(l.Runs), l.Total, want[c.name])
		}
	}
	l := e.list(t, runs.Filter{Statuses: []runs.Status{runs.Failed, runs.Pending, runs.Failed},
		Sources: []runs.Source{runs.FromImport, runs.FromAPI}})
	if n := len(filterCases()) + 2; len(l.Runs) != n || l.Total != n {
		t.Errorf("several states and sources list %d of %d, want %d", len(l.Runs), l.Total, n)
	}
}

// listTogether combines every two filters: both find one run, among runs that only one of them finds.
func listTogether(t *testing.T, e *env) {
	cases := filterCases()
	for i, a := range cases {
		for _, b := range cases[i+1:] {
			if a.name == "after" && b.name == "before" || a.name == "label" && b.name == "labels" ||
				a.name == "actor name" && b.name == "actor id" {
				continue
			}
			f := merge(a.f, b.f)
			before := e.list(t, f).Total
			e.add(t, a.edit)
			e.add(t, b.edit)
			both := e.add(t, a.edit, b.edit)
			l := e.list(t, f)
			if l.Total != before+1 || len(l.Runs) != l.Total || !slices.Contains(ids(l.Runs), both.ID) {
				t.Errorf("%s and %s list %v of %d", a.name, b.name, ids(l.Runs), l.Total)
			}
		}
	}
}

func merge(a, b runs.Filter) runs.Filter {
	if b.Tool != "" {
		a.Tool = b.Tool
	}
	if b.Change != "" {
		a.Change = b.Change
	}
	if b.Templates != nil {
		a.Templates = b.Templates
	}
	if b.Queue != "" {
		a.Queue = b.Queue
	}
	if b.Actor != "" {
		a.Actor = b.Actor
	}
	if b.Labels != nil {
		a.Labels = b.Labels
	}
	if !b.After.IsZero() {
		a.After = b.After
	}
	if !b.Before.IsZero() {
		a.Before = b.Before
	}
	a.Statuses, a.Sources, a.Terms = append(a.Statuses, b.Statuses...), append(a.Sources, b.Sources...),
		append(a.Terms, b.Terms...)
	return a
}

// pages walks a filter to its end, by cursor.
func (e *env) pages(t *testing.T, f runs.Filter) []string {
	t.Helper()
	return e.pagesAs(t, access.Everything(), f)
}

func (e *env) pagesAs(t *testing.T, reader access.Scope, f runs.Filter) []string {
	t.Helper()
	var all []string
	for range 100 {
		l := e.listAs(t, reader, f)
		all = append(all, ids(l.Runs)...)
		if l.HasMore != (l.NextCursor != "") {
			t.Fatalf("has more %t, cursor %q", l.HasMore, l.NextCursor)
		}
		e.back(t, reader, f, l, all)
		if !l.HasMore {
			return all
		}
		if len(l.Runs) != f.Limit {
			t.Fatalf("a page of %d with more behind it", len(l.Runs))
		}
		f.Cursor = l.NextCursor
	}
	t.Fatal("the pages never end")
	return nil
}

// back checks that a list in the opposite order from the first run of a page has the runs before it.
func (e *env) back(t *testing.T, reader access.Scope, f runs.Filter, l *runs.List, read []string) {
	t.Helper()
	if (l.FirstCursor == "") != (len(l.Runs) == 0) {
		t.Fatalf("%d runs, first cursor %q", len(l.Runs), l.FirstCursor)
	}
	before := read[:len(read)-len(l.Runs)]
	if len(l.Runs) == 0 || f.Cursor == "" {
		return
	}
	f.Cursor, f.Oldest = l.FirstCursor, !f.Oldest
	got := ids(e.listAs(t, reader, f).Runs)
	slices.Reverse(got)
	want := before[max(len(before)-f.Limit, 0):]
	if !slices.Equal(got, want) {
		t.Fatalf("before the page are %v, want %v", got, want)
	}
}

func listCursor(t *testing.T, e *env) {
	var all, sometimes []string
	for i := range 25 {
		r := e.add(t, func(r *runs.Run) {
			r.CreatedAt = at(time.Duration(i/4) * time.Second) // several at one instant
			r.Labels = map[string]string{"k": "v"}
			r.Status = []runs.Status{runs.Failed, runs.Succeeded, runs.Canceled}[i%3]
		})
		all = append(all, r.ID)
		if i%3 != 2 {
			sometimes = append(sometimes, r.ID)
		}
	}
	two := []runs.Status{runs.Failed, runs.Succeeded}
	for _, c := range []struct {
		f    runs.Filter
		want []string
	}{
		{runs.Filter{}, all}, {runs.Filter{Tool: "bash"}, all}, {runs.Filter{Labels: map[string]string{"k": "v"}}, all},
		{runs.Filter{Terms: []string{"tr"}}, all}, {runs.Filter{Statuses: two}, sometimes},
		{runs.Filter{Actor: "ada"}, all}, {runs.Filter{Statuses: two, Terms: []string{"true"}}, sometimes},
	} {
		for _, size := range []int{1, 7, 25} {
			c.f.Limit, c.f.Oldest = size, true
			if d := diff(c.want, e.pages(t, c.f)); d != "" {
				t.Errorf("%+v:\n%s", c.f, d)
			}
			c.f.Oldest = false
			back := slices.Clone(c.want)
			slices.Reverse(back)
			if d := diff(back, e.pages(t, c.f)); d != "" {
				t.Errorf("%+v:\n%s", c.f, d)
			}
		}
	}
}

func listOffset(t *testing.T, e *env) {
	var all []string
	for range 10 {
		all = append([]string{e.add(t).ID}, all...)
	}
	for _, f := range []runs.Filter{{}, {Tool: "bash"}, {Statuses: []runs.Status{runs.Pending, runs.Failed}},
		{Terms: []string{"true"}}} {
		f.Limit, f.Offset = 3, 4
		l := e.list(t, f)
		if d := diff(all[4:7], ids(l.Runs)); d != "" || l.Total != 10 || !l.HasMore {
			t.Errorf("%+v lists %v of %d", f, ids(l.Runs), l.Total)
		}
		f.Offset = 8
		if l := e.list(t, f); len(l.Runs) != 2 || l.HasMore {
			t.Errorf("%+v lists %v", f, ids(l.Runs))
		}
		f.Offset = 50
		if l := e.list(t, f); len(l.Runs) != 0 || l.HasMore || l.Total != 10 {
			t.Errorf("%+v lists %v of %d", f, ids(l.Runs), l.Total)
		}
	}
}

func listStable(t *testing.T, e *env) {
	var all []string
	for range 6 {
		all = append([]string{e.add(t).ID}, all...)
	}
	first := e.list(t, runs.Filter{Limit: 3})
	e.add(t)
	e.add(t)
	rest := e.list(t, runs.Filter{Limit: 3, Cursor: first.NextCursor, Offset: 2})
	if d := diff(all, append(ids(first.Runs), ids(rest.Runs)...)); d != "" {
		t.Errorf("two pages around new runs:\n%s", d)
	}
}

func listBadCursor(t *testing.T, e *env) {
	for _, c := range []string{"x", "!!!", page.Encode("text")} {
		_, err := e.Runs.List(t.Context(), runs.Filter{Cursor: c})
		wantFault(t, err, page.BadCursor)
	}
}

func listOddValues(t *testing.T, e *env) {
	for _, odd := range []string{`it's "quoted" \ ?`, "100%", "_", "Ä ö 🚀", "?0 ?name", "-- x; DROP TABLE runs"} {
		r := e.add(t, func(r *runs.Run) {
			r.Spec.Tool, r.Change, r.Labels = odd, odd, map[string]string{odd: odd}
			r.Actor = actor.Actor{Type: actor.User, ID: odd, Name: odd}
		})
		for _, f := range []runs.Filter{{Tool: odd}, {Change: odd}, {Labels: map[string]string{odd: odd}}, {Actor: odd},
			{Tool: odd, Actor: odd}} {
			if d := diff([]string{r.ID}, ids(e.list(t, f).Runs)); d != "" {
				t.Errorf("%+v:\n%s", f, d)
			}
		}
	}
}
