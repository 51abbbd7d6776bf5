package catalogtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
)

const rows = 7

// shuffled returns the numbers of the rows in a mixed order.
func shuffled() []int { return []int{3, 0, 6, 2, 5, 1, 4} }

func cut[T any](list []T, w page.Window) []T {
	from := min(w.Offset, len(list))
	return list[from:min(from+w.Rows(), len(list))]
}

// windows reads a list through many windows and compares each with its part of the whole list.
func windows[T any](t *testing.T, what string, whole []T, s objectStore[T], sc access.Scope, f catalog.Filter) {
	t.Helper()
	for _, w := range []page.Window{
		{}, {Limit: 1}, {Limit: 3}, {Offset: 2, Limit: 3}, {Offset: 3}, {Offset: rows - 1, Limit: 5},
		{Offset: rows, Limit: 1}, {Offset: 100},
		{Limit: rows}, {Offset: 1, Limit: rows}, {Limit: page.MaxRows}, {Limit: page.MaxRows + 1}, {Limit: 1 << 40},
		{Offset: 1 << 40, Limit: 1},
	} {
		got, n, err := s.list(t.Context(), sc, f, w)
		if err != nil {
			t.Fatalf("%s, %+v: %v", what, w, err)
		}
		same(t, fmt.Sprintf("%s, %+v", what, w), cut(whole, w), got)
		same(t, fmt.Sprintf("total of %s, %+v", what, w), len(whole), n)
	}
}

func pages[T any](t *testing.T, e *env, s objectStore[T]) {
	list, org := make([]T, rows), e.addOrg(t)
	for _, i := range shuffled() {
		list[i] = s.full(e.record(s.prefix, fmt.Sprintf("%d %s", i, odd)))
		e.must(t, func(ctx context.Context) error { return s.insert(ctx, list[i]) })
		list[i] = s.bare(list[i])
	}
	for _, sc := range []access.Scope{access.Everything(), {}} {
		windows(t, "everything", list, s, sc, catalog.Filter{})
		windows(t, "one name", list[2:3], s, sc, catalog.Filter{Name: s.record(&list[2]).Name})
		windows(t, "one organization", nil, s, sc, catalog.Filter{Org: org})
	}
	windows(t, "nothing", nil, s, access.Scope{Strict: true}, catalog.Filter{})
}

func filters[T any](t *testing.T, e *env, s objectStore[T]) {
	a, b := e.addOrg(t), e.addOrg(t)
	none, first, second := add(t, e, s, named("n")), add(t, e, s, named("n"), inOrg(a)), add(t, e, s, named("n"), inOrg(b))
	other := add(t, e, s, named("o%"), inOrg(a))
	for _, c := range []struct {
		f    catalog.Filter
		want []T
	}{
		{catalog.Filter{}, []T{none, first, second, other}},
		{catalog.Filter{Name: "n"}, []T{none, first, second}},
		{catalog.Filter{Org: a}, []T{first, other}},
		{catalog.Filter{Org: b}, []T{second}},
		{catalog.Filter{Name: "n", Org: a}, []T{first}},
		{catalog.Filter{Name: "o%"}, []T{other}},
		{catalog.Filter{Name: "o%", Org: b}, nil},
		{catalog.Filter{Name: "N"}, nil},
		{catalog.Filter{Name: "%"}, nil},
		{catalog.Filter{Name: "' OR 1 = 1 --"}, nil},
		{catalog.Filter{Org: "org_none"}, nil},
		{catalog.Filter{Org: odd}, nil},
	} {
		same(t, fmt.Sprintf("%+v", c.f), c.want, all(t, s, c.f))
		same(t, fmt.Sprintf("%+v, some scope", c.f), c.want,
			visible(t, s, access.Scope{Subjects: []string{"team:x"}, Orgs: []string{a}}, c.f))
	}
}

// order checks the order by the bytes of the name, then by id.
func order[T any](t *testing.T, e *env, s objectStore[T]) {
	a, b := e.addOrg(t), e.addOrg(t)
	want := make([]string, 8)
	for _, c := range []struct {
		place     int
		name, org string
	}{{7, "漢", ""}, {3, "a", b}, {6, "ä", ""}, {1, "B", ""}, {4, "a", a}, {0, "1", ""}, {5, "b", ""}, {2, "_", ""}} {
		v := add(t, e, s, named(c.name), inOrg(c.org))
		want[c.place] = s.record(&v).ID
	}
	same(t, "order", want, idsOf(s, all(t, s, catalog.Filter{})))
	same(t, "order for some scope", want, idsOf(s, visible(t, s, access.Scope{}, catalog.Filter{})))
}

// bound checks that a window returns at most page.MaxRows, and that the total counts all rows.
func bound[T any](t *testing.T, e *env, s objectStore[T]) {
	const n, each = page.MaxRows + 4, 251 // small units, for busy machines
	for from := 0; from < n; from += each {
		e.must(t, func(ctx context.Context) error {
			for range each {
				if err := s.insert(ctx, s.plain(e.record(s.prefix, ""))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, w := range []page.Window{{}, {Limit: n}, {Offset: 2}, {Offset: 4}, {Offset: 5}} {
		list, total, err := s.list(t.Context(), access.Everything(), catalog.Filter{}, w)
		noError(t, err)
		same(t, fmt.Sprintf("%+v", w), [2]int{min(page.MaxRows, n-w.Offset), n}, [2]int{len(list), total})
	}
}

func scopes[T any](t *testing.T, e *env, s objectStore[T]) {
	u, v := e.addTeam(t), e.addTeam(t)
	mine, theirs := e.addOrg(t), e.addOrg(t)
	object := func(org string, subjects ...string) string {
		is := add(t, e, s, inOrg(org))
		id := s.record(&is).ID
		e.know(t, id, org)
		for _, subject := range subjects {
			e.grant(t, subject, id)
		}
		return id
	}
	open, openMine := object(""), object(mine)
	granted, other := object("", u), object("", v)
	closedMine, closedTheirs := object(mine, v), object(theirs, v)
	everything := []string{open, openMine, granted, other, closedMine, closedTheirs}
	for _, c := range []struct {
		name  string
		scope access.Scope
		want  []string
	}{
		{"everything", access.Everything(), everything},
		{"everything, whatever else it says", access.Scope{All: true, Strict: true, Subjects: []string{u}}, everything},
		{"the zero scope", access.Scope{}, []string{open, openMine}},
		{"strict", access.Scope{Strict: true}, nil},
		{"a subject", access.Scope{Subjects: []string{u}}, []string{open, openMine, granted}},
		{"a subject, strict", access.Scope{Subjects: []string{u}, Strict: true}, []string{granted}},
		{"an organization", access.Scope{Orgs: []string{mine}}, []string{open, openMine, closedMine}},
		{"an organization, strict", access.Scope{Orgs: []string{mine}, Strict: true}, []string{openMine, closedMine}},
		{"both", access.Scope{Subjects: []string{u}, Orgs: []string{theirs}},
			[]string{open, openMine, granted, closedTheirs}},
		{"both, strict", access.Scope{Subjects: []string{u}, Orgs: []string{theirs}, Strict: true},
			[]string{granted, closedTheirs}},
		{"all subjects", access.Scope{Subjects: []string{u, v, u}}, everything},
		{"all subjects, strict", access.Scope{Subjects: []string{u, v}, Strict: true},
			[]string{granted, other, closedMine, closedTheirs}},
		{"nobody's", access.Scope{Subjects: []string{"", "%"}, Orgs: []string{"", "org_none"}}, []string{open, openMine}},
	} {
		same(t, c.name, c.want, idsOf(s, visible(t, s, c.scope, catalog.Filter{})))
		for from := range len(c.want) + 1 {
			list, n, err := s.list(t.Context(), c.scope, catalog.Filter{}, page.Window{Offset: from, Limit: 2})
			noError(t, err)
			same(t, c.name+", a window", cut(c.want, page.Window{Offset: from, Limit: 2}), idsOf(s, list))
			same(t, c.name+", total", len(c.want), n)
		}
	}
	same(t, "with a filter", []string{closedMine},
		idsOf(s, visible(t, s, access.Scope{Subjects: []string{v}, Strict: true}, catalog.Filter{Org: mine})))
}
