package catalogtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func usageCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"names":                             naming,
		"what names an object":              users,
		"a target that is not there":        noTarget,
		"many targets":                      manyTargets,
		"units that are undone":             namingUndone,
		"one target named at once":          namingTogether,
		"one owner names at once":           oneOwner,
		"crossed targets":                   crossed,
		"an object goes as it is named":     namingRace,
		"an object goes as many are naming": namingCrowd,
		"an object comes as it is named":    namingNew,
	}
}

// name stores the references of an object.
func (e *env) name(t *testing.T, owner string, targets ...string) {
	t.Helper()
	e.Must(t, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, targets) })
}

// usedBy requires an object to be referenced by exactly the owners, which are given by id.
func (e *env) usedBy(t *testing.T, id string, owners ...string) {
	t.Helper()
	want := make([]object.Use, len(owners))
	for i, o := range owners {
		want[i] = object.Use{Kind: ids.KindOf(o), ID: o}
	}
	got, n, err := e.Usage.UsedBy(t.Context(), id, 1000)
	txtest.NoError(t, err)
	slices.SortFunc(got, func(a, b object.Use) int { return compare(a.ID, b.ID) })
	txtest.Same(t, "users of "+id, want, got)
	txtest.Same(t, "number of users of "+id, len(owners), n)
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func naming(t *testing.T, e *env) {
	inv, prj, crd := e.Known(t, ids.Inventory), e.Known(t, ids.Project), e.Known(t, ids.Credential)
	tpl := e.Known(t, ids.Template)
	first, second := e.ID(ids.Template), e.ID(ids.Schedule)
	e.usedBy(t, inv)
	e.name(t, first, inv, "", prj, crd, inv, "")
	e.name(t, second, inv, tpl)
	for range 2 {
		e.usedBy(t, inv, second, first)
		e.usedBy(t, prj, first)
		e.usedBy(t, crd, first)
		e.usedBy(t, tpl, second)
		e.name(t, first, crd, prj, inv) // the same references again
	}
	e.name(t, first, crd)
	e.usedBy(t, inv, second)
	e.usedBy(t, prj)
	e.usedBy(t, crd, first)
	e.name(t, first, "", "")
	e.usedBy(t, crd)
	e.usedBy(t, inv, second)
	e.Must(t, func(ctx context.Context) error { return e.Usage.Name(ctx, second, nil) })
	e.usedBy(t, inv)
	e.usedBy(t, tpl)
	e.usedBy(t, "")
}

func users(t *testing.T, e *env) {
	inv, other := e.Known(t, ids.Inventory), e.Known(t, ids.Inventory)
	var owners []string
	for n, p := range []ids.Prefix{ids.Template, ids.Schedule, ids.Trigger, ids.Source, ids.Inventory, ids.Project,
		ids.Credential} {
		owners = append(owners, e.ID(p))
		e.name(t, owners[n], inv, other)
	}
	slices.Sort(owners)
	e.usedBy(t, inv, owners...)
	for _, limit := range []int{0, 1, 3, len(owners), object.MaxUses} {
		got, n, err := e.Usage.UsedBy(t.Context(), inv, limit)
		txtest.NoError(t, err)
		txtest.Same(t, fmt.Sprint("of ", limit), [2]int{min(limit, len(owners)), len(owners)}, [2]int{len(got), n})
		for _, u := range got {
			if u.Kind == "" || u.Kind != ids.KindOf(u.ID) || !slices.Contains(owners, u.ID) {
				t.Errorf("a user is %+v", u)
			}
		}
	}
}

// notFound runs fn in a unit that must fail for the target.
func (e *env) notFound(t *testing.T, target string, fn func(ctx context.Context) error) {
	t.Helper()
	err := e.Do(t, fn)
	txtest.WantFault(t, err, catalog.ObjectNotFound)
	var f *fault.Error
	if errors.As(err, &f); f.Detail["id"] != target {
		t.Errorf("the fault tells %v, want %q", f.Detail, target)
	}
}

func noTarget(t *testing.T, e *env) {
	inv, gone, owner := e.Known(t, ids.Inventory), e.Known(t, ids.Inventory), e.ID(ids.Template)
	e.name(t, owner, inv)
	e.Must(t, func(ctx context.Context) error { return e.Objects.RemoveObject(ctx, gone) })
	for _, none := range []string{gone, e.ID(ids.Inventory), "inv_", odd, inv + "x", inv[:len(inv)-1], "%", owner} {
		for _, targets := range [][]string{{none}, {inv, none}, {none, inv, "", e.ID(ids.Project)}} {
			e.notFound(t, none, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, targets) })
		}
		e.usedBy(t, none)
	}
	e.usedBy(t, inv, owner) // a refusal keeps the previous references

	// An object that was deleted and created again can be referenced.
	e.Know(t, gone, "")
	e.name(t, owner, gone)
	e.usedBy(t, gone, owner)
}

func manyTargets(t *testing.T, e *env) {
	const n = 1201
	owner, targets := e.ID(ids.Template), make([]string, n)
	for i := range targets {
		targets[i] = e.Known(t, ids.Credential)
	}
	slices.Reverse(targets)
	e.name(t, owner, targets...)
	for _, i := range []int{0, 1, 499, 500, 501, 999, 1000, 1200} {
		e.usedBy(t, targets[i], owner)
	}
	none := e.ID(ids.Credential)
	e.notFound(t, none, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, append(targets, none)) })
	e.name(t, owner, targets[7])
	e.usedBy(t, targets[0])
	e.usedBy(t, targets[7], owner)
}

func namingUndone(t *testing.T, e *env) {
	inv, owner, other, stop := e.Known(t, ids.Inventory), e.ID(ids.Template), e.ID(ids.Template), errors.New("stop")
	e.name(t, owner, inv)
	err := e.Do(t, func(ctx context.Context) error {
		txtest.NoError(t, e.Usage.Name(ctx, owner, nil))
		txtest.NoError(t, e.Usage.Name(ctx, other, []string{inv}))
		got, n, err := e.Usage.UsedBy(ctx, inv, 5)
		txtest.NoError(t, err)
		txtest.Same(t, "in the unit", []object.Use{{Kind: "template", ID: other}}, got)
		txtest.Same(t, "number in the unit", 1, n)
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	e.usedBy(t, inv, owner)
	if err := e.Usage.Name(t.Context(), other, []string{inv}); !fault.Is(err, fault.Internal) {
		t.Errorf("a name outside of a unit: %v", err)
	}
	e.usedBy(t, inv, owner)
}

func namingTogether(t *testing.T, e *env) {
	inv := e.Known(t, ids.Inventory)
	owners := make([]string, txtest.Crowd)
	for i := range owners {
		owners[i] = e.ID(ids.Template)
	}
	txtest.Together(txtest.Crowd, func(i int) {
		for range 5 {
			if err := e.Do(t, func(ctx context.Context) error {
				return e.Usage.Name(ctx, owners[i], []string{inv})
			}); err != nil {
				t.Errorf("name: %v", err)
			}
		}
	})
	e.usedBy(t, inv, owners...)
}

// crossed checks that units with the same objects in different orders do not deadlock.
func crossed(t *testing.T, e *env) {
	targets := []string{e.Known(t, ids.Inventory), e.Known(t, ids.Project), e.Known(t, ids.Credential)}
	txtest.Together(txtest.Crowd, func(i int) {
		mine := slices.Clone(targets)
		if i%2 == 1 {
			slices.Reverse(mine)
		}
		owner := e.ID(ids.Template)
		for range 5 {
			if err := e.Do(t, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, mine) }); err != nil {
				t.Errorf("name: %v", err)
			}
		}
	})
	for _, target := range targets {
		_, n, err := e.Usage.UsedBy(t.Context(), target, 1)
		txtest.NoError(t, err)
		txtest.Same(t, "users", txtest.Crowd, n)
	}
}

// deletedOwner checks that a deleted object leaves no references.
func deletedOwner[T any](t *testing.T, e *env, s objecttest.Store[T]) {
	target := e.Known(t, ids.Credential)
	first, second := s.Add(t, e.Env), s.Add(t, e.Env)
	for _, v := range []T{first, second} {
		e.name(t, s.Record(&v).ID, target)
	}
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, s.Record(&first).ID, 0) })
	e.usedBy(t, target, s.Record(&second).ID)
	e.Refused(t, catalog.RevisionChanged, func(ctx context.Context) error {
		return s.Remove(ctx, s.Record(&second).ID, -1)
	})
	e.usedBy(t, target, s.Record(&second).ID)
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, s.Record(&second).ID, 1) })
	e.usedBy(t, target)
}
