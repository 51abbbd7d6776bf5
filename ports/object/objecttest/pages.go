package objecttest

import (
	"context"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

const rows = 7

// shuffled returns the numbers of the rows in a mixed order.
func shuffled() []int { return []int{3, 0, 6, 2, 5, 1, 4} }

// Cut returns the part of a list that a window shows.
func Cut[T any](list []T, w page.Window) []T {
	from := min(w.Offset, len(list))
	return list[from:min(from+w.Rows(), len(list))]
}

// Windows returns windows of a list of about seven rows.
func Windows() []page.Window {
	return []page.Window{
		{}, {Limit: 1}, {Limit: 3}, {Offset: 2, Limit: 3}, {Offset: 3}, {Offset: rows - 1, Limit: 5},
		{Offset: rows, Limit: 1}, {Offset: 100},
		{Limit: rows}, {Offset: 1, Limit: rows}, {Limit: page.MaxRows}, {Limit: page.MaxRows + 1}, {Limit: 1 << 40},
		{Offset: 1 << 40, Limit: 1},
	}
}

// windows reads a list through many windows and compares each with its part of the whole list.
func (s Store[T]) windows(t *testing.T, what string, whole []T, sc access.Scope, f catalog.Filter) {
	t.Helper()
	for _, w := range Windows() {
		got, n, err := s.List(t.Context(), sc, f, w)
		if err != nil {
			t.Fatalf("%s, %+v: %v", what, w, err)
		}
		txtest.Same(t, fmt.Sprintf("%s, %+v", what, w), Cut(whole, w), got)
		txtest.Same(t, fmt.Sprintf("total of %s, %+v", what, w), len(whole), n)
	}
}

func pages[T any](t *testing.T, e *Env, s Store[T]) {
	list := make([]T, rows)
	for _, i := range shuffled() {
		list[i] = s.Full(e.Record(s.Prefix, fmt.Sprintf("%d %s", i, txtest.Odd)))
		e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, list[i]) })
		list[i] = s.bare(list[i])
	}
	for _, sc := range []access.Scope{access.Everything(), {}} {
		s.windows(t, "everything", list, sc, catalog.Filter{})
		s.windows(t, "one name", list[2:3], sc, catalog.Filter{Name: s.Record(&list[2]).Name})
		for _, org := range s.orgs(t, e, 1)[1:] {
			s.windows(t, "one organization", nil, sc, catalog.Filter{Org: org})
		}
	}
	if !s.Shared {
		s.windows(t, "nothing", nil, access.Scope{Strict: true}, catalog.Filter{})
	}
}

func filters[T any](t *testing.T, e *Env, s Store[T]) {
	type filtered struct {
		f    catalog.Filter
		want []T
	}
	none, other := s.Add(t, e, Named("n")), s.Add(t, e, Named("o%"))
	cases := []filtered{
		{catalog.Filter{}, []T{none, other}}, {catalog.Filter{Name: "n"}, []T{none}},
		{catalog.Filter{Name: "o%"}, []T{other}},
	}
	a := ""
	if !s.Shared {
		b := e.AddOrg(t)
		a = e.AddOrg(t)
		first, second := s.Add(t, e, Named("n"), InOrg(a)), s.Add(t, e, Named("n"), InOrg(b))
		another := s.Add(t, e, Named("o%"), InOrg(a))
		cases = []filtered{
			{catalog.Filter{}, []T{none, first, second, other, another}},
			{catalog.Filter{Name: "n"}, []T{none, first, second}},
			{catalog.Filter{Org: a}, []T{first, another}},
			{catalog.Filter{Names: []string{"n", "m", txtest.Odd}}, []T{none, first, second}},
			{catalog.Filter{Names: []string{"o%", "n"}, Org: a}, []T{first, another}},
			{catalog.Filter{Org: b}, []T{second}},
			{catalog.Filter{Name: "n", Org: a}, []T{first}},
			{catalog.Filter{Name: "o%"}, []T{other, another}},
			{catalog.Filter{Name: "o%", Org: b}, nil},
			{catalog.Filter{Org: "org_none"}, nil},
			{catalog.Filter{Org: txtest.Odd}, nil},
		}
	}
	for _, name := range []string{"N", "%", txtest.Odd, "' OR 1 = 1 --"} {
		cases = append(cases, filtered{catalog.Filter{Name: name}, nil})
	}
	for _, c := range cases {
		txtest.Same(t, fmt.Sprintf("%+v", c.f), c.want, s.All(t, c.f))
		txtest.Same(t, fmt.Sprintf("%+v, some scope", c.f), c.want,
			s.Visible(t, access.Scope{Subjects: []string{"team:x"}, Orgs: []string{a}}, c.f))
	}
}

// order checks the order by the bytes of the name, then by id.
func order[T any](t *testing.T, e *Env, s Store[T]) {
	orgs, next := s.orgs(t, e, 2), "a"
	a, b := orgs[len(orgs)-1], orgs[len(orgs)/2]
	if s.Shared {
		next = "a " // a shared kind has a name only once
	}
	want := make([]string, 8)
	for _, c := range []struct {
		place     int
		name, org string
	}{{7, "漢", ""}, {3, "a", b}, {6, "ä", ""}, {1, "B", ""}, {4, next, a}, {0, "1", ""}, {5, "b", ""}, {2, "_", ""}} {
		v := s.Add(t, e, Named(c.name), InOrg(c.org))
		want[c.place] = s.Record(&v).ID
	}
	txtest.Same(t, "order", want, s.IDs(s.All(t, catalog.Filter{})))
	txtest.Same(t, "order for some scope", want, s.IDs(s.Visible(t, access.Scope{}, catalog.Filter{})))
}

// bound checks that a window returns at most page.MaxRows, and that the total counts all rows.
func bound[T any](t *testing.T, e *Env, s Store[T]) {
	const n, each = page.MaxRows + 4, 251 // small units, for busy machines
	for from := 0; from < n; from += each {
		e.Must(t, func(ctx context.Context) error {
			for range each {
				if err := s.Insert(ctx, s.Plain(e.Record(s.Prefix, ""))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, w := range []page.Window{{}, {Limit: n}, {Offset: 2}, {Offset: 4}, {Offset: 5}} {
		list, total, err := s.List(t.Context(), access.Everything(), catalog.Filter{}, w)
		txtest.NoError(t, err)
		txtest.Same(t, fmt.Sprintf("%+v", w), [2]int{min(page.MaxRows, n-w.Offset), n}, [2]int{len(list), total})
	}
}
