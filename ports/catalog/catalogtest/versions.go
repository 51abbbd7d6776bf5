package catalogtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func versionCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"versions":              versions,
		"versions by number":    versionsEnd,
		"versions by size":      versionsFit,
		"versions without gaps": versionRace,
	}
}

// kept are the numbers of the versions, the newest first.
func (e *env) keptVersions(t *testing.T, id string, w page.Window) (numbers []int64, total int) {
	t.Helper()
	list, total, err := e.Versions.InventoryVersions(t.Context(), id, w)
	txtest.NoError(t, err)
	for _, v := range list {
		numbers = append(numbers, v.Number)
	}
	return numbers, total
}

// keep fills an inventory and keeps the version.
func (e *env) keep(t *testing.T, i catalog.Inventory, v catalog.InventoryVersion) {
	t.Helper()
	e.Must(t, func(ctx context.Context) error {
		if err := e.Inventories.FillInventory(ctx, i); err != nil {
			return err
		}
		return e.Versions.KeepVersion(ctx, i.ID, v)
	})
}

func versions(t *testing.T, e *env) {
	s := inventories(e)
	is, other := s.Full(e.Record(s.Prefix, "")), s.Add(t, e.Env)
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, is) })
	earlier := catalog.InventoryVersion{At: late(), How: catalog.Earlier}
	edit := catalog.InventoryVersion{At: late(), How: catalog.Edited, SourceID: odd,
		By: actor.Actor{Type: actor.User, ID: "usr_1", Name: odd}}
	var want []catalog.InventoryVersion // the oldest first
	expect := func(v catalog.InventoryVersion) {
		v.Number, v.Format, v.Hosts, v.Groups = int64(len(want)+1), is.Format, is.Hosts, is.Groups
		v.Digest, v.Content = is.Digest, is.Content
		want = append(want, v)
	}
	expect(earlier)
	for range 2 {
		e.Must(t, func(ctx context.Context) error { return e.Versions.KeepVersion(ctx, is.ID, earlier) })
	}
	e.keep(t, is, edit) // nothing changed
	for n, content := range [][]byte{[]byte(odd), {}, noise(3000), bytes.Repeat([]byte("host\n"), 1000)} {
		is.Content, is.Hosts, is.Digest = content, n, fmt.Sprint("d", n)
		for range 2 {
			e.keep(t, is, edit)
		}
		expect(edit)
	}
	is.Format = catalog.INI // the same content read otherwise
	e.keep(t, is, edit)
	expect(edit)
	for _, v := range want {
		got, err := e.Versions.InventoryVersion(t.Context(), is.ID, v.Number)
		txtest.NoError(t, err)
		if !bytes.Equal(got.Content, v.Content) {
			t.Errorf("version %d has %d bytes instead of %d", v.Number, len(got.Content), len(v.Content))
		}
		got.Content, v.Content = nil, nil
		txtest.Same(t, fmt.Sprint("version ", v.Number), v, got)
	}
	numbers, total := e.keptVersions(t, is.ID, page.Window{Offset: 1, Limit: 2})
	txtest.Same(t, "a part", []int64{5, 4}, numbers)
	txtest.Same(t, "the total", len(want), total)
	list, _, err := e.Versions.InventoryVersions(t.Context(), is.ID, page.Window{})
	txtest.NoError(t, err)
	for i := range list {
		v := want[len(want)-1-i]
		v.Content = nil
		txtest.Same(t, "listed", v, list[i])
	}
	stop := errors.New("stop")
	err = e.Do(t, func(ctx context.Context) error {
		txtest.NoError(t, e.Versions.KeepVersion(ctx, other.ID, edit))
		return stop
	})
	if !errors.Is(err, stop) {
		t.Error(err)
	}
	if _, total := e.keptVersions(t, other.ID, page.Window{}); total != 0 {
		t.Errorf("another inventory has %d", total)
	}
	_, err = e.Versions.InventoryVersion(t.Context(), is.ID, 99)
	txtest.WantFault(t, err, catalog.VersionNotFound)
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, is.ID, 0) })
	if _, total := e.keptVersions(t, is.ID, page.Window{}); total != 0 {
		t.Errorf("%d are left of an inventory that is gone", total)
	}
}

func versionsEnd(t *testing.T, e *env) {
	is := inventories(e).Add(t, e.Env)
	for n := range catalog.KeptVersions + 2 {
		is.Digest = fmt.Sprint("d", n)
		e.keep(t, is, catalog.InventoryVersion{At: late(), How: catalog.Edited})
	}
	numbers, total := e.keptVersions(t, is.ID, page.Window{})
	if total != catalog.KeptVersions || numbers[0] != catalog.KeptVersions+2 || numbers[total-1] != 3 {
		t.Errorf("%d: %v", total, numbers)
	}
}

// versionsFit checks the bound of the sizes, and that two versions stay however large they are.
func versionsFit(t *testing.T, e *env) {
	is := inventories(e).Add(t, e.Env)
	const most = catalog.KeptVersionBytes
	for n, size := range []int{1, most / 2, most / 2, 2, most} {
		is.Digest, is.Content = fmt.Sprint("d", n), noise(size)
		e.keep(t, is, catalog.InventoryVersion{At: late(), How: catalog.Edited})
		want := [][]int64{{1}, {2, 1}, {3, 2}, {4, 3}, {5, 4}}[n]
		got, _ := e.keptVersions(t, is.ID, page.Window{})
		txtest.Same(t, fmt.Sprint("after ", n+1), want, got)
	}
}

// versionRace checks that concurrent changes keep one version each, and the earlier content once.
func versionRace(t *testing.T, e *env) {
	is := inventories(e).Add(t, e.Env)
	txtest.Together(txtest.Crowd, func(n int) {
		i := is
		i.Digest = fmt.Sprint("d", n)
		err := e.Do(t, func(ctx context.Context) error {
			earlier := catalog.InventoryVersion{At: late(), How: catalog.Earlier}
			if err := e.Versions.KeepVersion(ctx, i.ID, earlier); err != nil {
				return err
			}
			if err := e.Inventories.FillInventory(ctx, i); err != nil {
				return err
			}
			return e.Versions.KeepVersion(ctx, i.ID, catalog.InventoryVersion{At: late(), How: catalog.Edited})
		})
		if err != nil {
			t.Errorf("change %d: %v", n, err)
		}
	})
	list, total, err := e.Versions.InventoryVersions(t.Context(), is.ID, page.Window{})
	txtest.NoError(t, err)
	if total != txtest.Crowd+1 {
		t.Fatalf("%d versions of %d changes", total, txtest.Crowd)
	}
	for i, v := range list {
		if first := i == total-1; v.Number != int64(total-i) || first != (v.How == catalog.Earlier) {
			t.Errorf("version %d in place %d: %s", v.Number, i, v.How)
		}
	}
}
