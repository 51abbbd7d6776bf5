package objecttest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func whole[T any](t *testing.T, e *Env, s Store[T]) {
	txtest.Same(t, "a fresh store", []T{}, s.All(t, catalog.Filter{}))
	orgs := s.orgs(t, e, 1)
	plain := s.Plain(e.Record(s.Prefix, "a"))
	hard := s.Full(object.Record{
		ID: e.ID(s.Prefix), Name: txtest.Odd, Org: orgs[len(orgs)-1], CreatedBy: txtest.Odd,
		CreatedAt: txtest.At(time.Microsecond).In(txtest.Elsewhere()),
		UpdatedAt: txtest.At(time.Hour + 999999*time.Microsecond).In(txtest.Elsewhere()), Revision: 1 << 40,
	})
	for _, v := range []T{plain, hard} {
		e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
		txtest.Same(t, "by id", s.bare(v), s.Get(t, s.Record(&v).ID))
	}
	txtest.Same(t, "listed", []T{s.bare(plain), s.bare(hard)}, s.All(t, catalog.Filter{}))

	// A caller sets the name and the organization of a record; the store increments the revision.
	for _, v := range []T{hard, plain} {
		was := *s.Record(&v)
		next := v
		s.Change(&next)
		r := s.Record(&next)
		r.Name, r.Org, r.UpdatedAt = "b "+was.Name, "", txtest.At(2*time.Hour).In(txtest.Elsewhere())
		r.CreatedBy, r.CreatedAt, r.Revision = "somebody else", txtest.At(5*time.Hour), 77
		var got T
		e.Must(t, func(ctx context.Context) (err error) {
			got, err = s.Update(ctx, next, was.Revision)
			return err
		})
		r.CreatedBy, r.CreatedAt, r.Revision = was.CreatedBy, was.CreatedAt, was.Revision+1
		txtest.Same(t, "changed", s.bare(next), got)
		txtest.Same(t, "changed, by id", got, s.Get(t, was.ID))
	}
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, s.Record(&hard).ID, 0) })
	txtest.Same(t, "what is left", []string{s.Record(&plain).ID}, s.IDs(s.All(t, catalog.Filter{})))
	_, err := s.ByID(t.Context(), s.Record(&hard).ID)
	txtest.WantFault(t, err, s.Missing)
}

func missing[T any](t *testing.T, e *Env, s Store[T]) {
	s.Add(t, e)
	gone := s.Plain(e.Record(s.Prefix, ""))
	for _, id := range []string{s.Record(&gone).ID, "", "%", txtest.Odd, strings.Repeat("漢'\"\\", 2_000)} {
		_, err := s.ByID(t.Context(), id)
		txtest.WantFault(t, err, s.Missing)
		s.Record(&gone).ID = id
		for _, revision := range []int64{0, 1, -1} {
			e.Refused(t, s.Missing, func(ctx context.Context) error {
				_, err := s.Update(ctx, gone, revision)
				return err
			})
			e.Refused(t, s.Missing, func(ctx context.Context) error { return s.Remove(ctx, id, revision) })
		}
	}
	txtest.Same(t, "what is there", 1, len(s.All(t, catalog.Filter{})))
}

func unknownOrg[T any](t *testing.T, e *Env, s Store[T]) {
	if s.Shared {
		return
	}
	is := s.Add(t, e)
	v := s.Plain(e.Record(s.Prefix, ""))
	s.Record(&v).Org = "org_none"
	e.Refused(t, identity.OrgNotFound, func(ctx context.Context) error { return s.Insert(ctx, v) })
	moved := is
	s.Record(&moved).Org = "org_none"
	e.Refused(t, identity.OrgNotFound, func(ctx context.Context) error {
		_, err := s.Update(ctx, moved, 0)
		return err
	})
	txtest.Same(t, "what is there", []T{is}, s.All(t, catalog.Filter{}))
}

// units checks that writes join the unit, are visible in it, and are rolled back with it.
func units[T any](t *testing.T, e *Env, s Store[T]) {
	stop := errors.New("stop")
	is := s.Add(t, e)
	was := *s.Record(&is)
	v := s.Full(e.Record(s.Prefix, ""))
	err := e.Do(t, func(ctx context.Context) error {
		txtest.NoError(t, s.Insert(ctx, v))
		got, err := s.ByID(ctx, s.Record(&v).ID)
		txtest.NoError(t, err)
		txtest.Same(t, "in the unit", s.bare(v), got)
		next := is
		s.Change(&next)
		_, err = s.Update(ctx, next, was.Revision)
		txtest.NoError(t, err)
		txtest.NoError(t, s.Remove(ctx, was.ID, was.Revision+1))
		list, n, err := s.List(ctx, access.Everything(), catalog.Filter{}, page.Window{})
		txtest.NoError(t, err)
		txtest.Same(t, "listed in the unit", []T{s.bare(v)}, list)
		txtest.Same(t, "counted in the unit", 1, n)
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatalf("the unit ended with %v", err)
	}
	txtest.Same(t, "after the unit", []T{is}, s.All(t, catalog.Filter{}))

	for what, err := range map[string]error{
		"insert": s.Insert(t.Context(), v),
		"update": func() error { _, err := s.Update(t.Context(), is, 0); return err }(),
		"remove": s.Remove(t.Context(), was.ID, 0),
	} {
		if !fault.Is(err, fault.Internal) {
			t.Errorf("%s outside of a unit: %v", what, err)
		}
	}
	txtest.Same(t, "after writes outside of a unit", []T{is}, s.All(t, catalog.Filter{}))
}
