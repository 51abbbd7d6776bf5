package catalogtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
)

// crowd is the number of concurrent units in a race.
const crowd = 8

func names[T any](t *testing.T, e *env, s objectStore[T]) {
	a, b := e.addOrg(t), e.addOrg(t)
	var stored []T
	for _, org := range []string{"", a, b} {
		stored = append(stored, add(t, e, s, named("n"), inOrg(org)), add(t, e, s, named("N"), inOrg(org)),
			add(t, e, s, named("n "), inOrg(org)))
	}
	add(t, e, s, named(odd))
	long := add(t, e, s, named(strings.Repeat("漢", 200)))
	for _, v := range append(stored, long) {
		again := s.plain(e.record(s.prefix, s.record(&v).Name))
		s.record(&again).Org = s.record(&v).Org
		e.refused(t, catalog.NameTaken, func(ctx context.Context) error { return s.insert(ctx, again) })
	}
	same(t, "stored", len(stored)+2, len(all(t, s, catalog.Filter{})))

	// Renaming and moving are subject to the same check, and a refusal changes nothing.
	for _, to := range []func(*object.Record){named("N"), inOrg(a), inOrg(b)} {
		next := stored[0]
		to(s.record(&next))
		e.refused(t, catalog.NameTaken, func(ctx context.Context) error {
			_, err := s.update(ctx, next, 1)
			return err
		})
	}
	same(t, "after refusals", stored[0], get(t, s, s.record(&stored[0]).ID))
	e.must(t, func(ctx context.Context) error { // its own name does not conflict
		_, err := s.update(ctx, stored[0], 1)
		return err
	})

	// The names of deleted and renamed objects are free.
	renamed := stored[3]
	s.record(&renamed).Name = "other"
	e.must(t, func(ctx context.Context) error {
		_, err := s.update(ctx, renamed, 1)
		return err
	})
	add(t, e, s, named("n"), inOrg(a))
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, s.record(&stored[6]).ID, 1) })
	add(t, e, s, named("n"), inOrg(b))

	twice := s.plain(*s.record(&stored[1]))
	s.record(&twice).Name = "the same id"
	if err := e.do(t, func(ctx context.Context) error { return s.insert(ctx, twice) }); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same id again: %v", err)
	}
}

func namesRace[T any](t *testing.T, e *env, s objectStore[T]) {
	for _, org := range []string{"", e.addOrg(t)} {
		won := e.wins(t, crowd, catalog.NameTaken, func(ctx context.Context, i int) error {
			v := s.plain(e.record(s.prefix, "n"))
			s.record(&v).Org = org
			return s.insert(ctx, v)
		})
		same(t, "winners", 1, won)
	}
	same(t, "stored", 2, len(all(t, s, catalog.Filter{})))
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
		same(t, "of the name", 1, len(all(t, s, catalog.Filter{Name: name})))
	}
}

func revisions[T any](t *testing.T, e *env, s objectStore[T]) {
	v := add(t, e, s)
	id := s.record(&v).ID
	update := func(ctx context.Context, revision int64) error {
		s.record(&v).Name = fmt.Sprint("asked with ", revision)
		got, err := s.update(ctx, v, revision)
		if err == nil && nameOf(s, got) != s.record(&v).Name {
			t.Errorf("the answer is %+v", got)
		}
		return err
	}
	for _, c := range []struct {
		revision int64
		fits     bool
	}{{2, false}, {-1, false}, {1, true}, {1, false}, {3, false}, {0, true}, {2, false}, {3, true}, {-3, false},
		{1 << 40, false}, {0, true}} {
		was := get(t, s, id)
		if !c.fits {
			e.refused(t, catalog.RevisionChanged, func(ctx context.Context) error { return update(ctx, c.revision) })
			same(t, "after a refusal", was, get(t, s, id))
			continue
		}
		e.must(t, func(ctx context.Context) error { return update(ctx, c.revision) })
		is := get(t, s, id)
		same(t, "revision", s.record(&was).Revision+1, s.record(&is).Revision)
	}
	// The revision is checked before the name.
	other := add(t, e, s)
	s.record(&v).Name = s.record(&other).Name
	e.refused(t, catalog.RevisionChanged, func(ctx context.Context) error {
		_, err := s.update(ctx, v, 1)
		return err
	})
	for _, stale := range []int64{-1, 1, 4, 6} {
		e.refused(t, catalog.RevisionChanged, func(ctx context.Context) error { return s.remove(ctx, id, stale) })
	}
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, id, 5) })
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, s.record(&other).ID, 0) })
	same(t, "what is left", []T{}, all(t, s, catalog.Filter{}))
}

func nameOf[T any](s objectStore[T], v T) string { return s.record(&v).Name }

func revisionsRace[T any](t *testing.T, e *env, s objectStore[T]) {
	v := add(t, e, s)
	id := s.record(&v).ID
	for round := range int64(5) {
		won := e.wins(t, crowd, catalog.RevisionChanged, func(ctx context.Context, i int) error {
			next := v
			s.record(&next).Name = fmt.Sprintf("of %d in round %d", i, round)
			_, err := s.update(ctx, next, round+1)
			return err
		})
		same(t, "winners", 1, won)
		is := get(t, s, id)
		same(t, "revision", round+2, s.record(&is).Revision)
	}
	won := e.wins(t, crowd, s.missing, func(ctx context.Context, _ int) error { return s.remove(ctx, id, 6) })
	same(t, "who removed it", 1, won)
}

func anyRevisionRace[T any](t *testing.T, e *env, s objectStore[T]) {
	v := add(t, e, s)
	won := e.wins(t, crowd, catalog.RevisionChanged, func(ctx context.Context, _ int) error {
		_, err := s.update(ctx, v, 0)
		return err
	})
	is := get(t, s, s.record(&v).ID)
	same(t, "who changed it, and the revision", [2]int64{crowd, crowd + 1}, [2]int64{int64(won), s.record(&is).Revision})
}
