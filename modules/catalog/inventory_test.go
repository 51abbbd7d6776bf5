package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
)

// TestInventoryFormats checks the detected format and the counts of a content.
func TestInventoryFormats(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	for i, c := range []struct {
		content       string
		value, want   catalog.Format
		hosts, groups int
	}{
		{"", "", catalog.INI, 0, 0},
		{hostsINI, "", catalog.INI, 3, 2},
		{"localhost ansible_connection=local\n", "", catalog.INI, 1, 0},
		{"---\nall:\n  hosts:\n    a:\n    b:\n", "", catalog.YAML, 2, 0},
		{"all:\n  hosts:\n    a: {}\n", "", catalog.YAML, 1, 0},
		{"# estate\nweb:\n  hosts:\n    a:\n  children:\n    blue:\n", "", catalog.YAML, 1, 2},
		{`{"all": {"hosts": {"a": {}}}}`, "", catalog.JSON, 1, 0},
		{`{"web": {"hosts": {"a": {}}}}`, "", catalog.JSON, 1, 1},
		{`{"web": {"hosts": {"a": {}}}}`, catalog.YAML, catalog.YAML, 1, 1},
	} {
		x := inventory(fmt.Sprint("i", i))
		x.Content, x.Format = []byte(c.content), c.value
		got, err := b.Inventories.Create(t.Context(), x)
		if err != nil || got.Format != c.want || got.Hosts != c.hosts || got.Groups != c.groups || len(got.Digest) != 64 {
			t.Errorf("%q: %s, %d hosts, %d groups, %v", c.content, got.Format, got.Hosts, got.Groups, err)
		}
		read := must[catalog.Inventory](t)(b.Inventories.Get(t.Context(), got.ID))
		if string(read.Content) != c.content {
			t.Errorf("%q is read as %q", c.content, read.Content)
		}
	}
}

// TestInventoryInput checks the member of each refusal, and the line for a content.
func TestInventoryInput(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	for _, c := range []struct {
		field, wantErr string
		kind           fault.Kind
		change         func(i *catalog.Inventory)
	}{
		{"name", "", fault.Invalid, func(i *catalog.Inventory) { i.Name = "" }},
		{"max_concurrent", "", fault.Invalid, func(i *catalog.Inventory) { i.MaxConcurrent = -1 }},
		{"max_concurrent", "", fault.Invalid, func(i *catalog.Inventory) { i.MaxConcurrent = 10_001 }},
		{"format", "", fault.Invalid, func(i *catalog.Inventory) { i.Format = "toml" }},
		{"content", "line 2", fault.Invalid, func(i *catalog.Inventory) { i.Content = []byte("[web]\n[web\n") }},
		{"content", "line 1", fault.Invalid, func(i *catalog.Inventory) { i.Content = []byte(`{"all": `) }},
		{"content", "8388608", fault.Invalid, func(i *catalog.Inventory) {
			i.Content = make([]byte, catalog.MaxInventory+1)
		}},
		{"credential_ids[1]", "", fault.Invalid, func(i *catalog.Inventory) {
			i.CredentialIDs = []string{"crd_01arz3ndektsv4rrffq69g5fav", "x"}
		}},
		{"credential_ids[0]", "", fault.NotFound, func(i *catalog.Inventory) {
			i.CredentialIDs = []string{"crd_01arz3ndektsv4rrffq69g5fav"}
		}},
		{"queue", "", fault.Invalid, func(i *catalog.Inventory) { i.Queue = "no queue" }},
	} {
		i := inventory("i")
		c.change(&i)
		if _, err := b.Inventories.Create(t.Context(), i); !fault.Is(err, c.kind) || field(err) != c.field ||
			!strings.Contains(err.Error(), c.wantErr) {
			t.Errorf("%s: %v", c.field, err)
		}
	}
}

// TestInventoryUpdate checks that an update without content keeps the content.
func TestInventoryUpdate(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		i, ctx := b.inventory("estate"), t.Context()
		next := inventory("estate")
		next.Content, next.Queue = nil, "eu"
		got := must[catalog.Inventory](t)(b.Inventories.Update(ctx, i.ID, 1, next))
		if string(got.Content) != hostsINI || got.Hosts != 3 || got.Digest != i.Digest || got.Queue != "eu" ||
			got.Revision != 2 {
			t.Errorf("%+v", got)
		}
		if _, err := b.Inventories.Update(ctx, i.ID, 1, next); !catalog.RevisionChanged.Is(err) {
			t.Error(err)
		}
		next.Format = catalog.JSON
		if _, err := b.Inventories.Update(ctx, i.ID, 0, next); field(err) != "format" {
			t.Error(err)
		}
		next.Content, next.Format = []byte(`{"all": {"hosts": {"z": {}}}}`), ""
		got = must[catalog.Inventory](t)(b.Inventories.Update(ctx, i.ID, 2, next))
		if got.Format != catalog.JSON || got.Hosts != 1 || string(got.Content) != string(next.Content) {
			t.Errorf("%+v", got)
		}
		queue, credentials, err := b.References.Defaults(ctx, i.ID)
		if err != nil || queue != "eu" || len(credentials) != 0 {
			t.Error(queue, credentials, err)
		}
		text, _, err := b.Materials.Inventory(ctx, i.ID, true)
		if err != nil || text.Format != catalog.JSON || string(text.Content) != string(next.Content) {
			t.Errorf("%+v %v", text, err)
		}
	})
}

// TestInventoryHosts pages through a large inventory and resolves limits on it, also after a change.
func TestInventoryHosts(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	ctx := t.Context()
	i := inventory("estate")
	i.Content = []byte("[web]\nweb[00001:50000].example.com\n[eu:children]\nweb\n")
	i = must[catalog.Inventory](t)(b.Inventories.Create(ctx, i))
	for offset := 0; offset < 50_000; offset += 10_000 {
		list, total, err := b.Inventories.Hosts(ctx, i.ID, page.Window{Offset: offset, Limit: 2})
		if err != nil || total != 50_000 || len(list) != 2 || list[0].Name != fmt.Sprintf("web%05d.example.com", offset+1) {
			t.Fatal(list, total, err)
		}
		if d := cmp.Diff([]string{"eu", "web"}, list[0].Groups); d != "" {
			t.Error(d)
		}
	}
	r := must[catalog.Resolution](t)(b.Inventories.Resolve(ctx, i.ID, "eu[0:9],nobody"))
	if r.Count != 10 || len(r.Warnings) != 1 {
		t.Errorf("%+v", r)
	}
	r = must[catalog.Resolution](t)(b.Inventories.Resolve(ctx, i.ID, "*1.example.com:!web00001*"))
	if r.Count != 4999 || len(r.Sample) != catalog.MaxSample || r.Sample[0] != "web00011.example.com" {
		t.Errorf("%d %v", r.Count, r.Sample)
	}
	if _, err := b.Inventories.Resolve(ctx, i.ID, "@file"); field(err) != "limit" {
		t.Error(err)
	}
	next := inventory("estate")
	must[catalog.Inventory](t)(b.Inventories.Update(ctx, i.ID, 0, next))
	if r := must[catalog.Resolution](t)(b.Inventories.Resolve(ctx, i.ID, "")); r.Count != 3 {
		t.Errorf("%+v", r)
	}
}

// TestHostsOfALimit asks for the names that a run with exclusive hosts would be executed on.
func TestHostsOfALimit(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		i := inventory("limited")
		i.Content, i.Format = []byte("[web]\nb\na\n[db]\nc\n"), catalog.INI
		i = must[catalog.Inventory](t)(b.Inventories.Create(t.Context(), i))
		for limit, want := range map[string][]string{"": {"b", "a", "c"}, "web:!b": {"a"}, "none": {}} {
			got, err := b.References.Hosts(t.Context(), i.ID, limit)
			if err != nil || got == nil || !slices.Equal(got, want) {
				t.Errorf("%q: %v, %v", limit, got, err)
			}
		}
		if _, err := b.References.Hosts(t.Context(), i.ID, "@file"); !fault.Is(err, fault.Invalid) {
			t.Error(err)
		}
		if _, err := b.References.Hosts(t.Context(), "inv_none", ""); !catalog.InventoryNotFound.Is(err) {
			t.Error(err)
		}
	})
}
