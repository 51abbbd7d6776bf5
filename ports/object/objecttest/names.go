package objecttest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func names[T any](t *testing.T, e *Env, s Store[T]) {
	orgs := s.orgs(t, e, 2)
	last := orgs[len(orgs)-1]
	var stored []T
	for _, org := range orgs {
		stored = append(stored, s.Add(t, e, Named("n"), InOrg(org)), s.Add(t, e, Named("N"), InOrg(org)),
			s.Add(t, e, Named("n "), InOrg(org)))
	}
	s.Add(t, e, Named(txtest.Odd))
	long := s.Add(t, e, Named(strings.Repeat("漢", 200)))
	for _, v := range append(stored, long) {
		again := s.Plain(e.Record(s.Prefix, s.Record(&v).Name))
		s.Record(&again).Org = s.Record(&v).Org
		e.Refused(t, access.NameTaken, func(ctx context.Context) error { return s.Insert(ctx, again) })
	}
	txtest.Same(t, "stored", len(stored)+2, len(s.All(t, catalog.Filter{})))

	// Renaming and moving are subject to the same check, and a refusal changes nothing.
	moves := []func(*object.Record){Named("N")}
	for _, org := range orgs[1:] {
		moves = append(moves, InOrg(org))
	}
	for _, to := range moves {
		next := stored[0]
		to(s.Record(&next))
		e.Refused(t, access.NameTaken, func(ctx context.Context) error {
			_, err := s.Update(ctx, next, 1)
			return err
		})
	}
	txtest.Same(t, "after refusals", stored[0], s.Get(t, s.Record(&stored[0]).ID))
	e.Must(t, func(ctx context.Context) error { // its own name does not conflict
		_, err := s.Update(ctx, stored[0], 1)
		return err
	})

	// The names of renamed and deleted objects are free.
	renamed := stored[len(stored)-3]
	s.Record(&renamed).Name = "other"
	e.Must(t, func(ctx context.Context) error {
		_, err := s.Update(ctx, renamed, 0)
		return err
	})
	s.Add(t, e, Named("n"), InOrg(last))
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, s.Record(&renamed).ID, 0) })
	s.Add(t, e, Named("other"), InOrg(last))

	for _, org := range orgs[1:] {
		moved := s.Add(t, e, Named("moved to "+org))
		s.Record(&moved).Org = org
		e.Must(t, func(ctx context.Context) error {
			got, err := s.Update(ctx, moved, 1)
			txtest.Same(t, "moved", org, s.Record(&got).Org)
			return err
		})
	}

	twice := s.Plain(*s.Record(&stored[1]))
	s.Record(&twice).Name = "the same id"
	if err := e.Do(t, func(ctx context.Context) error { return s.Insert(ctx, twice) }); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same id again: %v", err)
	}
}

func namesRace[T any](t *testing.T, e *Env, s Store[T]) {
	orgs := s.orgs(t, e, 1)
	for _, org := range orgs {
		won := e.Wins(t, txtest.Crowd, access.NameTaken, func(ctx context.Context, _ int) error {
			v := s.Plain(e.Record(s.Prefix, "n"))
			s.Record(&v).Org = org
			return s.Insert(ctx, v)
		})
		txtest.Same(t, "winners", 1, won)
	}
	txtest.Same(t, "stored", len(orgs), len(s.All(t, catalog.Filter{})))
}

func renamesRace[T any](t *testing.T, e *Env, s Store[T]) {
	var list []T
	for range txtest.Crowd {
		list = append(list, s.Add(t, e))
	}
	for round := range 10 {
		name := fmt.Sprint("n", round)
		won := e.Wins(t, txtest.Crowd, access.NameTaken, func(ctx context.Context, i int) error {
			next := list[i]
			s.Record(&next).Name = name
			_, err := s.Update(ctx, next, 0)
			return err
		})
		txtest.Same(t, "winners", 1, won)
		txtest.Same(t, "of the name", 1, len(s.All(t, catalog.Filter{Name: name})))
	}
}

func revisions[T any](t *testing.T, e *Env, s Store[T]) {
	v := s.Add(t, e)
	id := s.Record(&v).ID
	update := func(ctx context.Context, revision int64) error {
		s.Record(&v).Name = fmt.Sprint("asked with ", revision)
		got, err := s.Update(ctx, v, revision)
		if err == nil && s.Record(&got).Name != s.Record(&v).Name {
			t.Errorf("the answer is %+v", got)
		}
		return err
	}
	for _, c := range []struct {
		revision int64
		fits     bool
	}{{2, false}, {-1, false}, {1, true}, {1, false}, {3, false}, {0, true}, {2, false}, {3, true}, {-3, false},
		{1 << 40, false}, {0, true}} {
		was := s.Get(t, id)
		if !c.fits {
			e.Refused(t, access.RevisionChanged, func(ctx context.Context) error { return update(ctx, c.revision) })
			txtest.Same(t, "after a refusal", was, s.Get(t, id))
			continue
		}
		e.Must(t, func(ctx context.Context) error { return update(ctx, c.revision) })
		is := s.Get(t, id)
		txtest.Same(t, "revision", s.Record(&was).Revision+1, s.Record(&is).Revision)
	}
	// The revision is checked before the name.
	other := s.Add(t, e)
	s.Record(&v).Name = s.Record(&other).Name
	e.Refused(t, access.RevisionChanged, func(ctx context.Context) error {
		_, err := s.Update(ctx, v, 1)
		return err
	})
	for _, stale := range []int64{-1, 1, 4, 6} {
		e.Refused(t, access.RevisionChanged, func(ctx context.Context) error { return s.Remove(ctx, id, stale) })
	}
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, id, 5) })
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, s.Record(&other).ID, 0) })
	txtest.Same(t, "what is left", []T{}, s.All(t, catalog.Filter{}))
}

func revisionsRace[T any](t *testing.T, e *Env, s Store[T]) {
	v := s.Add(t, e)
	id := s.Record(&v).ID
	for round := range int64(5) {
		won := e.Wins(t, txtest.Crowd, access.RevisionChanged, func(ctx context.Context, i int) error {
			next := v
			s.Record(&next).Name = fmt.Sprintf("of %d in round %d", i, round)
			_, err := s.Update(ctx, next, round+1)
			return err
		})
		txtest.Same(t, "winners", 1, won)
		is := s.Get(t, id)
		txtest.Same(t, "revision", round+2, s.Record(&is).Revision)
	}
	won := e.Wins(t, txtest.Crowd, s.Missing, func(ctx context.Context, _ int) error { return s.Remove(ctx, id, 6) })
	txtest.Same(t, "who removed it", 1, won)
}

func anyRevisionRace[T any](t *testing.T, e *Env, s Store[T]) {
	v := s.Add(t, e)
	won := e.Wins(t, txtest.Crowd, access.RevisionChanged, func(ctx context.Context, _ int) error {
		_, err := s.Update(ctx, v, 0)
		return err
	})
	is := s.Get(t, s.Record(&v).ID)
	txtest.Same(t, "who changed it, and the revision", [2]int64{txtest.Crowd, txtest.Crowd + 1},
		[2]int64{int64(won), s.Record(&is).Revision})
}
