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
)

func usageCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
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
	e.must(t, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, targets) })
}

// usedBy requires an object to be referenced by exactly the owners, which are given by id.
func (e *env) usedBy(t *testing.T, id string, owners ...string) {
	t.Helper()
	want := make([]object.Use, len(owners))
	for i, o := range owners {
		want[i] = object.Use{Kind: ids.KindOf(o), ID: o}
	}
	got, n, err := e.Usage.UsedBy(t.Context(), id, 1000)
	noError(t, err)
	slices.SortFunc(got, func(a, b object.Use) int { return compare(a.ID, b.ID) })
	same(t, "users of "+id, want, got)
	same(t, "number of users of "+id, len(owners), n)
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
	inv, prj, crd := e.known(t, ids.Inventory), e.known(t, ids.Project), e.known(t, ids.Credential)
	tpl := e.known(t, ids.Template)
	first, second := e.id(ids.Template), e.id(ids.Schedule)
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
	e.must(t, func(ctx context.Context) error { return e.Usage.Name(ctx, second, nil) })
	e.usedBy(t, inv)
	e.usedBy(t, tpl)
	e.usedBy(t, "")
}

func users(t *testing.T, e *env) {
	inv, other := e.known(t, ids.Inventory), e.known(t, ids.Inventory)
	var owners []string
	for n, p := range []ids.Prefix{ids.Template, ids.Schedule, ids.Trigger, ids.Source, ids.Inventory, ids.Project,
		ids.Credential} {
		owners = append(owners, e.id(p))
		e.name(t, owners[n], inv, other)
	}
	slices.Sort(owners)
	e.usedBy(t, inv, owners...)
	for _, limit := range []int{0, 1, 3, len(owners), object.MaxUses} {
		got, n, err := e.Usage.UsedBy(t.Context(), inv, limit)
		noError(t, err)
		same(t, fmt.Sprint("of ", limit), [2]int{min(limit, len(owners)), len(owners)}, [2]int{len(got), n})
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
	err := e.do(t, fn)
	wantFault(t, err, catalog.ObjectNotFound)
	var f *fault.Error
	if errors.As(err, &f); f.Detail["id"] != target {
		t.Errorf("the fault tells %v, want %q", f.Detail, target)
	}
}

func noTarget(t *testing.T, e *env) {
	inv, gone, owner := e.known(t, ids.Inventory), e.known(t, ids.Inventory), e.id(ids.Template)
	e.name(t, owner, inv)
	e.must(t, func(ctx context.Context) error { return e.Objects.RemoveObject(ctx, gone) })
	for _, none := range []string{gone, e.id(ids.Inventory), "inv_", odd, inv + "x", inv[:len(inv)-1], "%", owner} {
		for _, targets := range [][]string{{none}, {inv, none}, {none, inv, "", e.id(ids.Project)}} {
			e.notFound(t, none, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, targets) })
		}
		e.usedBy(t, none)
	}
	e.usedBy(t, inv, owner) // a refusal keeps the previous references

	// An object that was deleted and created again can be referenced.
	e.know(t, gone, "")
	e.name(t, owner, gone)
	e.usedBy(t, gone, owner)
}

func manyTargets(t *testing.T, e *env) {
	const n = 1201
	owner, targets := e.id(ids.Template), make([]string, n)
	for i := range targets {
		targets[i] = e.known(t, ids.Credential)
	}
	slices.Reverse(targets)
	e.name(t, owner, targets...)
	for _, i := range []int{0, 1, 499, 500, 501, 999, 1000, 1200} {
		e.usedBy(t, targets[i], owner)
	}
	none := e.id(ids.Credential)
	e.notFound(t, none, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, append(targets, none)) })
	e.name(t, owner, targets[7])
	e.usedBy(t, targets[0])
	e.usedBy(t, targets[7], owner)
}

func namingUndone(t *testing.T, e *env) {
	inv, owner, other, stop := e.known(t, ids.Inventory), e.id(ids.Template), e.id(ids.Template), errors.New("stop")
	e.name(t, owner, inv)
	err := e.do(t, func(ctx context.Context) error {
		noError(t, e.Usage.Name(ctx, owner, nil))
		noError(t, e.Usage.Name(ctx, other, []string{inv}))
		got, n, err := e.Usage.UsedBy(ctx, inv, 5)
		noError(t, err)
		same(t, "in the unit", []object.Use{{Kind: "template", ID: other}}, got)
		same(t, "number in the unit", 1, n)
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
	inv := e.known(t, ids.Inventory)
	owners := make([]string, crowd)
	for i := range owners {
		owners[i] = e.id(ids.Template)
	}
	together(crowd, func(i int) {
		for range 5 {
			if err := e.do(t, func(ctx context.Context) error {
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
	targets := []string{e.known(t, ids.Inventory), e.known(t, ids.Project), e.known(t, ids.Credential)}
	together(crowd, func(i int) {
		mine := slices.Clone(targets)
		if i%2 == 1 {
			slices.Reverse(mine)
		}
		owner := e.id(ids.Template)
		for range 5 {
			if err := e.do(t, func(ctx context.Context) error { return e.Usage.Name(ctx, owner, mine) }); err != nil {
				t.Errorf("name: %v", err)
			}
		}
	})
	for _, target := range targets {
		_, n, err := e.Usage.UsedBy(t.Context(), target, 1)
		noError(t, err)
		same(t, "users", crowd, n)
	}
}
