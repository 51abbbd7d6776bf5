package catalog_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
)

func alex(t *testing.T) (context.Context, actor.Actor) {
	t.Helper()
	by := actor.Actor{Type: actor.User, ID: "usr_1", Name: "alex"}
	return actor.With(t.Context(), by), by
}

// change replaces the content of an inventory.
func (b *bundle) change(ctx context.Context, i catalog.Inventory, content string) {
	b.t.Helper()
	i.Content = []byte(content)
	must[catalog.Inventory](b.t)(b.Inventories.Update(ctx, i.ID, 0, i))
}

func (b *bundle) versions(id string) []catalog.InventoryVersion {
	b.t.Helper()
	list, total, err := b.Versions.Versions(b.t.Context(), id, window)
	if err != nil || total != len(list) {
		b.t.Fatal(total, len(list), err)
	}
	return list
}

// TestVersions: each change of the content makes a version that says how it came, and nothing else does.
func TestVersions(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, by := alex(t)
		i := must[catalog.Inventory](t)(b.Inventories.Create(ctx, inventory("estate")))
		s := b.source("cmdb", i.ID)
		b.change(ctx, i, hostsINI)
		renamed := i
		renamed.Name, renamed.Content, renamed.Queue = "other", nil, "eu"
		must[catalog.Inventory](t)(b.Inventories.Update(ctx, i.ID, 0, renamed))
		b.collector.set("[x]\nh1\n", nil)
		for range 2 {
			must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		}
		b.collector.set("[x\n", nil)
		if _, err := b.Sources.Refresh(ctx, s.ID); err == nil {
			t.Error("a refresh without an inventory succeeded")
		}
		b.change(ctx, i, hostsINI)
		at := b.clock.Now()
		want := []catalog.InventoryVersion{
			{Number: 3, At: at, By: by, How: catalog.Edited, Format: catalog.INI, Hosts: 3, Groups: 2, Digest: i.Digest},
			{Number: 2, At: at, By: by, How: catalog.Refreshed, SourceID: s.ID, Hosts: 1, Groups: 1},
			{Number: 1, At: at, By: by, How: catalog.Edited, Format: catalog.INI, Hosts: 3, Groups: 2, Digest: i.Digest},
		}
		got := b.versions(i.ID)
		if len(got) > 1 {
			want[1].Format, want[1].Digest = got[1].Format, got[1].Digest
		}
		if d := cmp.Diff(want, got); d != "" || got[1].Digest == i.Digest {
			t.Errorf("versions (-want +got):\n%s", d)
		}
		one := must[catalog.InventoryVersion](t)(b.Versions.Version(ctx, i.ID, 1))
		if string(one.Content) != hostsINI {
			t.Errorf("version 1 contains %q", one.Content)
		}
	})
}

// TestVersionsOfAnEarlierInventory: the first change keeps what an inventory contained before versions were kept.
func TestVersionsOfAnEarlierInventory(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, by := alex(t)
		i := must[catalog.Inventory](t)(b.Inventories.Create(ctx, inventory("estate")))
		err := b.d.Do(ctx, func(ctx context.Context) error {
			_, err := b.d.InUnit(ctx).NewDelete().Table("inventory_versions").Where("1 = 1").Exec(ctx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.change(ctx, i, "h1\n")
		b.change(ctx, i, "h2\n")
		list := b.versions(i.ID)
		if len(list) != 3 || list[2].How != catalog.Earlier || list[2].By != (actor.Actor{}) || list[1].By != by ||
			!list[2].At.Equal(i.UpdatedAt) {
			t.Fatalf("%+v", list)
		}
		if one := must[catalog.InventoryVersion](t)(b.Versions.Version(ctx, i.ID, 1)); string(one.Content) != hostsINI {
			t.Errorf("version 1 contains %q", one.Content)
		}
	})
}

func TestVersionsDiffer(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	ctx, _ := alex(t)
	i := inventory("estate")
	i.Content = []byte("[web]\nw1 port=80 zone=a\nw2\nw3\n[db]\nd1\n")
	i = must[catalog.Inventory](t)(b.Inventories.Create(ctx, i))
	b.change(ctx, i, "[web]\nw1 port=81 tls=true\nw2\n[db]\nw2\nd2\n[eu:children]\nweb\n[db:vars]\na=1\n")
	d := must[catalog.InventoryDiff](t)(b.Versions.Diff(ctx, i.ID, 0, 2))
	want := catalog.InventoryDiff{
		From: d.From, To: d.To,
		Hosts: catalog.EntryDiff{Added: []string{"d2"}, Removed: []string{"d1", "w3"}, AddedTotal: 1, RemovedTotal: 2,
			ChangedTotal: 2, Changed: []catalog.ChangedEntry{
				{Name: "w1", Joined: []string{"eu"}, Vars: []catalog.ChangedVar{
					{Name: "port", Had: true, Has: true, From: int64(80), To: int64(81)},
					{Name: "tls", Has: true, To: "true"}, {Name: "zone", Had: true, From: "a"},
				}},
				{Name: "w2", Joined: []string{"db", "eu"}},
			}},
		Groups: catalog.EntryDiff{Added: []string{"eu"}, AddedTotal: 1, ChangedTotal: 2, Changed: []catalog.ChangedEntry{
			{Name: "db", Vars: []catalog.ChangedVar{{Name: "a", Has: true, To: int64(1)}}},
			{Name: "web", Joined: []string{"eu"}},
		}},
		Text: "@@ -1,6 +1,10 @@\n [web]\n-w1 port=80 zone=a\n+w1 port=81 tls=true\n w2\n-w3\n [db]\n-d1\n+w2\n+d2\n" +
			"+[eu:children]\n+web\n+[db:vars]\n+a=1\n",
	}
	if x := cmp.Diff(want, d); x != "" || d.From.Number != 1 || d.To.Number != 2 || d.To.Content != nil {
		t.Errorf("%d to %d (-want +got):\n%s", d.From.Number, d.To.Number, x)
	}
	back := must[catalog.InventoryDiff](t)(b.Versions.Diff(ctx, i.ID, 2, 1))
	if x := cmp.Diff(d.Hosts.Removed, back.Hosts.Added); x != "" {
		t.Errorf("the other way: %s", x)
	}
	same := must[catalog.InventoryDiff](t)(b.Versions.Diff(ctx, i.ID, 2, 2))
	if x := cmp.Diff(catalog.InventoryDiff{From: same.From, To: same.To}, same); x != "" {
		t.Errorf("with itself: %s", x)
	}
	first := must[catalog.InventoryDiff](t)(b.Versions.Diff(ctx, i.ID, 0, 1))
	if x := cmp.Diff([]string{"d1", "w1", "w2", "w3"}, first.Hosts.Added); x != "" || first.From.Number != 0 {
		t.Errorf("the first one: %s", x)
	}
	for _, from := range []int64{-1, 9} {
		if _, err := b.Versions.Diff(ctx, i.ID, from, 2); field(err) != "from" {
			t.Errorf("from %d: %v", from, err)
		}
	}
	if _, err := b.Versions.Diff(ctx, i.ID, 0, 9); !catalog.VersionNotFound.Is(err) {
		t.Error(err)
	}
}

// TestVersionsDifferWithinBounds: the lists and values are bounded, the totals are whole.
func TestVersionsDifferWithinBounds(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	ctx, _ := alex(t)
	i := inventory("estate")
	i.Content = []byte("old[1:700]\nsame[1:700]\n")
	i = must[catalog.Inventory](t)(b.Inventories.Create(ctx, i))
	b.change(ctx, i, "new[1:700]\nsame[1:700] text="+strings.Repeat("x", 4000)+"\n")
	d := must[catalog.InventoryDiff](t)(b.Versions.Diff(ctx, i.ID, 0, 2))
	h := d.Hosts
	if !d.Truncated || len(h.Added) != 500 || len(h.Removed) != 500 || len(h.Changed) != 500 || h.AddedTotal != 700 ||
		h.RemovedTotal != 700 || h.ChangedTotal != 700 || len(d.Text) > 3000 {
		t.Errorf("%t, %d of %d, %d of %d, %d of %d, %d bytes", d.Truncated, len(h.Added), h.AddedTotal, len(h.Removed),
			h.RemovedTotal, len(h.Changed), h.ChangedTotal, len(d.Text))
	}
	first, last := h.Changed[0].Vars[0], h.Changed[499].Vars[0]
	if first.To == nil || last.To != nil || !last.Has || last.Name != "text" {
		t.Errorf("the first value has %d bytes, the last one is %v", len(fmt.Sprint(first.To)), last)
	}
}
