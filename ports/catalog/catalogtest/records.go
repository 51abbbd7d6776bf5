package catalogtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// add stores a plain value of a kind with edits.
func add[T any](t *testing.T, e *env, s objectStore[T], edit ...func(*object.Record)) T {
	t.Helper()
	v := s.plain(e.record(s.prefix, ""))
	for _, fn := range edit {
		fn(s.record(&v))
	}
	e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
	return s.bare(v)
}

func named(name string) func(*object.Record) { return func(r *object.Record) { r.Name = name } }

func inOrg(org string) func(*object.Record) { return func(r *object.Record) { r.Org = org } }

func get[T any](t *testing.T, s objectStore[T], id string) T {
	t.Helper()
	v, err := s.byID(t.Context(), id)
	noError(t, err)
	return v
}

// all returns everything that matches a filter.
func all[T any](t *testing.T, s objectStore[T], f catalog.Filter) []T {
	t.Helper()
	return visible(t, s, access.Everything(), f)
}

func visible[T any](t *testing.T, s objectStore[T], sc access.Scope, f catalog.Filter) []T {
	t.Helper()
	list, n, err := s.list(t.Context(), sc, f, page.Window{})
	noError(t, err)
	same(t, "total", len(list), n)
	return list
}

// idsOf returns the ids of values in their order.
func idsOf[T any](s objectStore[T], list []T) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = s.record(&list[i]).ID
	}
	return out
}

func whole[T any](t *testing.T, e *env, s objectStore[T]) {
	same(t, "a fresh store", []T{}, all(t, s, catalog.Filter{}))
	org := e.addOrg(t)
	plain := s.plain(e.record(s.prefix, "a"))
	hard := s.full(object.Record{
		ID: e.id(s.prefix), Name: odd, Org: org, CreatedBy: odd, CreatedAt: at(time.Microsecond).In(elsewhere),
		UpdatedAt: at(time.Hour + 999999*time.Microsecond).In(elsewhere), Revision: 1 << 40,
	})
	for _, v := range []T{plain, hard} {
		e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
		same(t, "by id", s.bare(v), get(t, s, s.record(&v).ID))
	}
	same(t, "listed", []T{s.bare(plain), s.bare(hard)}, all(t, s, catalog.Filter{}))

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
		same(t, "changed", s.bare(next), got)
		same(t, "changed, by id", got, get(t, s, was.ID))
	}
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, s.record(&hard).ID, 0) })
	same(t, "what is left", []string{s.record(&plain).ID}, idsOf(s, all(t, s, catalog.Filter{})))
	_, err := s.byID(t.Context(), s.record(&hard).ID)
	wantFault(t, err, s.missing)
}

func missing[T any](t *testing.T, e *env, s objectStore[T]) {
	add(t, e, s)
	gone := s.plain(e.record(s.prefix, ""))
	id := s.record(&gone).ID
	for _, id := range []string{id, "", "%", odd} {
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
	same(t, "what is there", 1, len(all(t, s, catalog.Filter{})))
}

func unknownOrg[T any](t *testing.T, e *env, s objectStore[T]) {
	is := add(t, e, s)
	v := s.plain(e.record(s.prefix, ""))
	s.record(&v).Org = "org_none"
	e.refused(t, identity.OrgNotFound, func(ctx context.Context) error { return s.insert(ctx, v) })
	moved := is
	s.record(&moved).Org = "org_none"
	e.refused(t, identity.OrgNotFound, func(ctx context.Context) error {
		_, err := s.update(ctx, moved, 0)
		return err
	})
	same(t, "what is there", []T{is}, all(t, s, catalog.Filter{}))
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
		same(t, "in the unit", s.bare(v), got)
		next := is
		s.change(&next)
		_, err = s.update(ctx, next, was.Revision)
		noError(t, err)
		noError(t, s.remove(ctx, was.ID, was.Revision+1))
		list, n, err := s.list(ctx, access.Everything(), catalog.Filter{}, page.Window{})
		noError(t, err)
		same(t, "listed in the unit", []T{s.bare(v)}, list)
		same(t, "counted in the unit", 1, n)
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatalf("the unit ended with %v", err)
	}
	same(t, "after the unit", []T{is}, all(t, s, catalog.Filter{}))

	for what, err := range map[string]error{
		"insert": s.insert(t.Context(), v),
		"update": func() error { _, err := s.update(t.Context(), is, 0); return err }(),
		"remove": s.remove(t.Context(), was.ID, 0),
	} {
		if !fault.Is(err, fault.Internal) {
			t.Errorf("%s outside of a unit: %v", what, err)
		}
	}
	same(t, "after writes outside of a unit", []T{is}, all(t, s, catalog.Filter{}))
}

// deletedOwner checks that a deleted object leaves no references.
func deletedOwner[T any](t *testing.T, e *env, s objectStore[T]) {
	target := e.known(t, ids.Credential)
	first, second := add(t, e, s), add(t, e, s)
	for _, v := range []T{first, second} {
		e.name(t, s.record(&v).ID, target)
	}
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, s.record(&first).ID, 0) })
	e.usedBy(t, target, s.record(&second).ID)
	e.refused(t, catalog.RevisionChanged, func(ctx context.Context) error {
		return s.remove(ctx, s.record(&second).ID, -1)
	})
	e.usedBy(t, target, s.record(&second).ID)
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, s.record(&second).ID, 1) })
	e.usedBy(t, target)
}
