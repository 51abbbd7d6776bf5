package secretstest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
)

func names[T any](t *testing.T, e *env, s objectStore[T]) {
	for _, name := range []string{"n", "N", "n ", odd, strings.Repeat("漢", 200)} {
		add(t, e, s, named(name))
		e.refused(t, catalog.NameTaken, func(ctx context.Context) error {
			return s.insert(ctx, s.plain(e.record(s.prefix, name)))
		})
	}
	first := all(t, s, "n")[0]
	stored := all(t, s, "")
	same(t, "stored", 5, len(stored))
	next := first
	s.record(&next).Name = "N"
	e.refused(t, catalog.NameTaken, func(ctx context.Context) error {
		_, err := s.update(ctx, next, 1)
		return err
	})
	same(t, "after a refusal", stored, all(t, s, ""))
	e.must(t, func(ctx context.Context) error { // its own name is no obstacle
		_, err := s.update(ctx, first, 1)
		return err
	})

	// The names of deleted and renamed objects are free.
	s.record(&next).Name = "other"
	e.must(t, func(ctx context.Context) error {
		_, err := s.update(ctx, next, 2)
		return err
	})
	add(t, e, s, named("n"))
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, s.record(&next).ID, 3) })
	add(t, e, s, named("other"))

	twice := s.plain(*s.record(&all(t, s, "n")[0]))
	s.record(&twice).Name = "the same id"
	if err := e.do(t, func(ctx context.Context) error { return s.insert(ctx, twice) }); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same id again: %v", err)
	}
}

func namesRace[T any](t *testing.T, e *env, s objectStore[T]) {
	won := e.wins(t, crowd, catalog.NameTaken, func(ctx context.Context, _ int) error {
		return s.insert(ctx, s.plain(e.record(s.prefix, "n")))
	})
	same(t, "winners and what is stored", [2]int{1, 1}, [2]int{won, len(all(t, s, ""))})
}

func renamesRace[T any](t *testing.T, e *env, s objectStore[T]) {
	var list []T
	for range crowd {
		list = append(list, add(t, e, s))
	}
	for round := range 10 {
		name := fmt.Sprint("n", round)
		won := e.wins(t, crowd, catalog.NameTaken, func(ctx context.Context, i int) error {
			next := list[i]
			s.record(&next).Name = name
			_, err := s.update(ctx, next, 0)
			return err
		})
		same(t, "winners", 1, won)
		same(t, "of the name", 1, len(all(t, s, name)))
	}
}

const rows = 7

func cut[T any](list []T, w page.Window) []T {
	from := min(w.Offset, len(list))
	return list[from:min(from+w.Rows(), len(list))]
}

// windows returns windows of a list of about that many rows.
func windows() []page.Window {
	return []page.Window{
		{}, {Limit: 1}, {Limit: 3}, {Offset: 2, Limit: 3}, {Offset: 3}, {Offset: rows - 1, Limit: 5},
		{Offset: rows, Limit: 1}, {Offset: 100},
		{Limit: rows}, {Offset: 1, Limit: rows}, {Limit: page.MaxRows}, {Limit: page.MaxRows + 1}, {Limit: 1 << 40},
		{Offset: 1 << 40, Limit: 1},
	}
}

func pages[T any](t *testing.T, e *env, s objectStore[T]) {
	list := make([]T, rows)
	for _, i := range []int{3, 0, 6, 2, 5, 1, 4} {
		list[i] = s.full(e.record(s.prefix, fmt.Sprintf("%d %s", i, odd)))
		e.must(t, func(ctx context.Context) error { return s.insert(ctx, list[i]) })
	}
	for name, want := range map[string][]T{
		"": list, s.record(&list[2]).Name: list[2:3], "%": nil, "2": nil, "' OR 1 = 1 --": nil, odd: nil,
	} {
		for _, w := range windows() {
			got, n, err := s.list(t.Context(), name, w)
			noError(t, err)
			same(t, fmt.Sprintf("%q, %+v", name, w), cut(want, w), got)
			same(t, fmt.Sprintf("total of %q, %+v", name, w), len(want), n)
		}
	}
}

// order checks that a list is sorted by the bytes of the name.
func order[T any](t *testing.T, e *env, s objectStore[T]) {
	sorted := []string{"1", "B", "_", "a", "a ", "b", "ä", "漢"}
	want := make([]string, len(sorted))
	for _, place := range []int{7, 3, 6, 1, 4, 0, 5, 2} {
		v := add(t, e, s, named(sorted[place]))
		want[place] = s.record(&v).ID
	}
	same(t, "order", want, idsOf(s, all(t, s, "")))
}

// bound checks that a window returns at most page.MaxRows, and that the total counts all rows.
func bound[T any](t *testing.T, e *env, s objectStore[T]) {
	const n, each = page.MaxRows + 4, 251 // in units that are short enough for a busy machine
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
		list, total, err := s.list(t.Context(), "", w)
		noError(t, err)
		same(t, fmt.Sprintf("%+v", w), [2]int{min(page.MaxRows, n-w.Offset), n}, [2]int{len(list), total})
	}
}
