package secretstest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

func whole[T any](t *testing.T, e *env, s objectStore[T]) {
	same(t, "a fresh store", []T{}, all(t, s, ""))
	org := ""
	if s.orgs {
		org = e.addOrg(t)
	}
	plain := s.plain(e.record(s.prefix, "a"))
	hard := s.full(object.Record{
		ID: e.id(s.prefix), Name: odd, Org: org, CreatedBy: odd, CreatedAt: at(time.Microsecond).In(elsewhere),
		UpdatedAt: at(time.Hour + 999999*time.Microsecond).In(elsewhere), Revision: 1 << 40,
	})
	for _, v := range []T{plain, hard} {
		e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
		same(t, "by id", v, get(t, s, s.record(&v).ID))
	}
	same(t, "listed", []T{plain, hard}, all(t, s, ""))

	// A caller sets the name and the organization of a record; the store increments the revision.
	for _, v := range []T{hard, plain} {
		was := *s.record(&v)
		next := v
		s.change(&next)
		r := s.record(&next)
		r.Name, r.Org, r.UpdatedAt = "b "+was.Name, "", at(2*time.Hour).In(elsewhere)
		r.CreatedBy, r.CreatedAt, r.Revision = "somebody else", at(5*time.Hour), 77
		var got T
		e.must(t, func(ctx context.Context) (err error) {
			got, err = s.update(ctx, next, was.Revision)
			return err
		})
		r.CreatedBy, r.CreatedAt, r.Revision = was.CreatedBy, was.CreatedAt, was.Revision+1
		same(t, "changed", next, got)
		same(t, "changed, by id", got, get(t, s, was.ID))
	}
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, s.record(&hard).ID, 0) })
	same(t, "what is left", []string{s.record(&plain).ID}, idsOf(s, all(t, s, "")))
	_, err := s.byID(t.Context(), s.record(&hard).ID)
	wantFault(t, err, s.missing)
}

func missing[T any](t *testing.T, e *env, s objectStore[T]) {
	add(t, e, s)
	gone := s.plain(e.record(s.prefix, ""))
	id := s.record(&gone).ID
	for _, id := range []string{id, "", "%", odd, long} {
		_, err := s.byID(t.Context(), id)
		wantFault(t, err, s.missing)
		s.record(&gone).ID = id
		for _, revision := range []int64{0, 1, -1} {
			e.refused(t, s.missing, func(ctx context.Context) error {
				_, err := s.update(ctx, gone, revision)
				return err
			})
			e.refused(t, s.missing, func(ctx context.Context) error { return s.remove(ctx, id, revision) })
		}
	}
	same(t, "what is there", 1, len(all(t, s, "")))
}

// units checks that writes join the unit, are visible in it, and are rolled back with it.
func units[T any](t *testing.T, e *env, s objectStore[T]) {
	stop := errors.New("stop")
	is := add(t, e, s)
	was := *s.record(&is)
	v := s.full(e.record(s.prefix, ""))
	err := e.do(t, func(ctx context.Context) error {
		noError(t, s.insert(ctx, v))
		got, err := s.byID(ctx, s.record(&v).ID)
		noError(t, err)
		same(t, "in the unit", v, got)
		next := is
		s.change(&next)
		_, err = s.update(ctx, next, was.Revision)
		noError(t, err)
		noError(t, s.remove(ctx, was.ID, was.Revision+1))
		list, n, err := s.list(ctx, "", page.Window{})
		noError(t, err)
		same(t, "listed in the unit", []T{v}, list)
		same(t, "counted in the unit", 1, n)
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatalf("the unit ended with %v", err)
	}
	same(t, "after the unit", []T{is}, all(t, s, ""))

	for what, err := range map[string]error{
		"insert": s.insert(t.Context(), v),
		"update": func() error { _, err := s.update(t.Context(), is, 0); return err }(),
		"remove": s.remove(t.Context(), was.ID, 0),
	} {
		if !fault.Is(err, fault.Internal) {
			t.Errorf("%s outside of a unit: %v", what, err)
		}
	}
	same(t, "after writes outside of a unit", []T{is}, all(t, s, ""))
}

func revisions[T any](t *testing.T, e *env, s objectStore[T]) {
	v := add(t, e, s)
	id := s.record(&v).ID
	update := func(ctx context.Context, revision int64) error {
		s.record(&v).Name = fmt.Sprint("asked with ", revision)
		got, err := s.update(ctx, v, revision)
		if err == nil && s.record(&got).Name != s.record(&v).Name {
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
	for _, stale := range []int64{-1, 1, 4, 6} {
		e.refused(t, catalog.RevisionChanged, func(ctx context.Context) error { return s.remove(ctx, id, stale) })
	}
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, id, 5) })
	same(t, "what is left", []T{}, all(t, s, ""))
}

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
