package catalog_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// TestSourceMembers checks that each kind accepts its members and no others.
func TestSourceMembers(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	inv, prj := b.inventory("estate").ID, b.project("site").ID
	type config = catalog.SourceConfig
	plugin := map[string]any{"plugin": "amazon.aws.aws_ec2", "regions": []any{"eu-central-1"}}
	for _, c := range []struct {
		name, field string // an empty field means valid
		kind        catalog.SourceKind
		config      config
		path, prj   string
		interval    int
	}{
		{"plugin", "", catalog.PluginSource, config{Plugin: plugin}, "", "", 60},
		{"no plugin", "config.plugin", catalog.PluginSource, config{}, "", "", 0},
		{"unnamed plugin", "config.plugin", catalog.PluginSource, config{Plugin: map[string]any{"plugin": 7}}, "", "", 0},
		{"plugin with url", "config.url", catalog.PluginSource, config{Plugin: plugin, URL: "https://a"}, "", "", 0},
		{"plugin with path", "path", catalog.PluginSource, config{Plugin: plugin}, "a", "", 0},
		{"plugin with project", "project_id", catalog.PluginSource, config{Plugin: plugin}, "", prj, 0},
		{"script", "", catalog.ScriptSource, config{Content: "#!/bin/sh\n"}, "", "", 0},
		{"script of a project", "", catalog.ScriptSource, config{}, "inv.sh", prj, 0},
		{"no script", "config.content", catalog.ScriptSource, config{}, "", "", 0},
		{"two scripts", "config.content", catalog.ScriptSource, config{Content: "x"}, "inv.sh", prj, 0},
		{"script without project", "project_id", catalog.ScriptSource, config{}, "inv.sh", "", 0},
		{"script without path", "path", catalog.ScriptSource, config{}, "", prj, 0},
		{"script with headers", "config.headers", catalog.ScriptSource,
			config{Content: "x", Headers: map[string]string{"a": "b"}}, "", "", 0},
		{"project", "", catalog.ProjectSource, config{}, "hosts.ini", prj, 0},
		{"project without path", "path", catalog.ProjectSource, config{}, "", prj, 0},
		{"project outside", "path", catalog.ProjectSource, config{}, "../hosts", prj, 0},
		{"project from the root", "path", catalog.ProjectSource, config{}, "/etc/hosts", prj, 0},
		{"no such project", "project_id", catalog.ProjectSource, config{}, "a", "prj_01arz3ndektsv4rrffq69g5fav", 0},
		{"http", "", catalog.HTTPSource, config{URL: "https://a/b", Headers: map[string]string{"X-A": "b"}}, "", "", 0},
		{"no address", "config.url", catalog.HTTPSource, config{}, "", "", 0},
		{"ftp", "config.url", catalog.HTTPSource, config{URL: "ftp://a/b"}, "", "", 0},
		{"userinfo", "config.url", catalog.HTTPSource, config{URL: "https://u:p@a/b"}, "", "", 0},
		{"bad header", "config.headers", catalog.HTTPSource, config{URL: "https://a", Headers: map[string]string{"a b": "c"}},
			"", "", 0},
		{"header twice", "config.headers.x-a", catalog.HTTPSource,
			config{URL: "https://a", Headers: map[string]string{"X-A": "1", "x-a": "2"}}, "", "", 0},
		{"header lines", "config.headers.A", catalog.HTTPSource,
			config{URL: "https://a", Headers: map[string]string{"A": "c\r\nB: d"}}, "", "", 0},
		{"header mask", "config.headers.A", catalog.HTTPSource,
			config{URL: "https://a", Headers: map[string]string{"A": "***"}}, "", "", 0},
		{"unknown", "kind", "ldap", config{}, "", "", 0},
		{"too often", "sync_interval", catalog.PluginSource, config{Plugin: plugin}, "", "", 59},
		{"hardly ever", "sync_interval", catalog.PluginSource, config{Plugin: plugin}, "", "", 31536001},
	} {
		s := catalog.InventorySource{Kind: c.kind, Config: c.config, Path: c.path, ProjectID: c.prj, InventoryID: inv,
			SyncInterval: c.interval}
		s.Name = c.name
		if _, err := b.Sources.Create(t.Context(), s); field(err) != c.field || (err == nil) != (c.field == "") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestHeadersAreSecrets checks that values read back masked, that a mask keeps the stored value, and that no other
// server gets it.
func TestHeadersAreSecrets(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		s := source("cmdb", b.inventory("estate").ID)
		s.Config.Headers = map[string]string{"Authorization": canary, "X-Site": "eu"}
		s = must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
		want := map[string]string{"Authorization": "***", "X-Site": "***"}
		list, _, err := b.Sources.List(ctx, catalog.Filter{}, window)
		read := must[catalog.InventorySource](t)(b.Sources.Get(ctx, s.ID))
		if err != nil || cmp.Diff(want, s.Config.Headers)+cmp.Diff(want, list[0].Config.Headers)+
			cmp.Diff(want, read.Config.Headers) != "" {
			t.Error(s, list, read, err)
		}
		read.Config.URL = "https://cmdb.example.com/v2/hosts"
		read.Config.Headers = map[string]string{"authorization": "***", "X-Site": "", "X-New": "n"}
		read = must[catalog.InventorySource](t)(b.Sources.Update(ctx, s.ID, 1, read))
		b.collector.set("a\n", nil)
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		if d := cmp.Diff(map[string]string{"authorization": canary, "X-Site": "eu", "X-New": "n"},
			b.collector.asked[0].Config.Headers); d != "" {
			t.Error(d)
		}
		read.Config.Headers = map[string]string{"X-Other": ""}
		if _, err := b.Sources.Update(ctx, s.ID, 0, read); field(err) != "config.headers.X-Other" {
			t.Error(err)
		}
		read.Config.URL, read.Config.Headers = "https://elsewhere.example.net/", map[string]string{"authorization": "***"}
		if _, err := b.Sources.Update(ctx, s.ID, 0, read); field(err) != "config.headers.authorization" {
			t.Error(err)
		}
	})
}

// TestRefresh fills the inventory, and keeps its content after a failure.
func TestRefresh(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		inv := b.inventory("estate")
		s := b.source("cmdb", inv.ID)
		b.trail.Take()
		b.collector.set("[x]\nh1\nh2\n", nil)
		s = must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		got := must[catalog.Inventory](t)(b.Inventories.Get(ctx, inv.ID))
		if got.Hosts != 2 || got.Groups != 1 || string(got.Content) != "[x]\nh1\nh2\n" || got.Revision != inv.Revision+1 ||
			s.SyncedAt.IsZero() {
			t.Errorf("%+v %+v", got, s)
		}
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID)) // unchanged, but requested
		list := b.trail.Take()
		if len(list) != 2 || list[0].Detail["changed"] != true || list[1].Detail["changed"] != false {
			t.Errorf("entries %+v", list)
		}
		for _, c := range []struct {
			content, wantErr string
			fails            error
		}{
			{"", "the door is shut", catalog.RefreshFailed.New("the door is shut")},
			{"", "the source could not be read", errors.New(canary)},
			{"[x\n", "what the source says is no inventory: content: line 1", nil},
		} {
			b.collector.set(c.content, c.fails)
			if _, err := b.Sources.Refresh(ctx, s.ID); !catalog.RefreshFailed.Is(err) ||
				!strings.HasPrefix(err.Error(), c.wantErr) {
				t.Error(err)
			}
			now := must[catalog.InventorySource](t)(b.Sources.Get(ctx, s.ID))
			if !strings.HasPrefix(now.LastError, c.wantErr) || !now.SyncedAt.Equal(s.SyncedAt) {
				t.Errorf("%+v", now)
			}
			list := b.trail.Take()
			if len(list) != 1 || list[0].Outcome != audit.Failure {
				t.Errorf("entries %+v", list)
			}
		}
		if kept := must[catalog.Inventory](t)(b.Inventories.Get(ctx, inv.ID)); kept.Digest != got.Digest {
			t.Error("a failure took the inventory along")
		}
	})
}

// TestRefreshOfProject collects from a work tree of the pinned commit, which is removed afterwards.
func TestRefreshOfProject(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		p, inv := b.project("site"), b.inventory("estate")
		s := catalog.InventorySource{Kind: catalog.ProjectSource, Path: "hosts.ini", ProjectID: p.ID, InventoryID: inv.ID}
		s.Name = "file"
		s = must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
		must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		got := must[catalog.Inventory](t)(b.Inventories.Get(ctx, inv.ID))
		if string(got.Content) != "from-the-tree\n" || cmp.Diff([]string{p.ID + " " + firstCommit}, b.checkouts.trees) != "" {
			t.Error(string(got.Content), b.checkouts.trees)
		}
		left, err := os.ReadDir(b.material.Config.TempDir)
		if err != nil || len(left) != 0 {
			t.Error(left, err)
		}
	})
}

// TestRefreshesTogether checks that concurrent requests for one source share a refresh, that refreshes of one inventory
// run one by one, and that each request has an entry.
func TestRefreshesTogether(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	inv := b.inventory("estate")
	one, two := b.source("one", inv.ID), b.source("two", inv.ID)
	b.trail.Take()
	b.collector.set("h\n", nil)
	begun, free := b.collector.block()
	defer free()
	const many = 20
	errs := make(chan error, 2*many)
	var work sync.WaitGroup
	for range many {
		for _, id := range []string{one.ID, two.ID} {
			work.Go(func() { _, err := b.Sources.Refresh(t.Context(), id); errs <- err })
		}
	}
	<-begun
	free()
	work.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if b.collector.most != 1 {
		t.Errorf("%d refreshes of one inventory at once", b.collector.most)
	}
	if n := len(b.trail.Take()); n != 2*many {
		t.Errorf("%d entries", n)
	}
}

// TestRefreshByItself refreshes when due and before a run; only changes are recorded.
func TestRefreshByItself(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		inv := b.inventory("estate")
		b.collector.set("h1\n", nil)
		b.Background.Start()
		s := source("cmdb", inv.ID)
		onLaunch := func(id string, want bool) {
			t.Helper()
			if got := must[bool](t)(b.References.RefreshesOnLaunch(ctx, id)); got != want {
				t.Errorf("%s is refreshed before a run: %v", id, got)
			}
		}
		onLaunch(inv.ID, false)
		s.SyncInterval, s.UpdateOnLaunch = 3600, true
		s = must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
		onLaunch(inv.ID, true)
		onLaunch("inv_none", false)
		b.eventually("the first refresh", func() bool {
			return must[catalog.Inventory](t)(b.Inventories.Get(ctx, inv.ID)).Hosts == 1
		})
		refreshes := func() (n int) {
			for _, e := range b.trail.Take() {
				if e.Action == audit.SourceRefresh {
					n++
				}
			}
			return n
		}
		b.eventually("its entry", func() bool { return refreshes() == 1 })
		text, _, err := b.Materials.Inventory(ctx, inv.ID, true)
		if err != nil || string(text.Content) != "h1\n" || refreshes() != 0 {
			t.Error(string(text.Content), err)
		}
		b.collector.set("h1\nh2\n", nil)
		if text, _, err = b.Materials.Inventory(ctx, inv.ID, false); err != nil || string(text.Content) != "h1\n" {
			t.Error(string(text.Content), err)
		}
		if text, _, err = b.Materials.Inventory(ctx, inv.ID, true); err != nil || string(text.Content) != "h1\nh2\n" ||
			refreshes() != 1 {
			t.Error(string(text.Content), err)
		}
		b.collector.set("", catalog.RefreshFailed.New("down"))
		if text, _, err = b.Materials.Inventory(ctx, inv.ID, true); err != nil || string(text.Content) != "h1\nh2\n" ||
			refreshes() != 0 {
			t.Error(string(text.Content), err)
		}
		if now := must[catalog.InventorySource](t)(b.Sources.Get(ctx, s.ID)); now.LastError != "down" {
			t.Errorf("%+v", now)
		}
		if _, _, err := b.Materials.Inventory(ctx, "inv_none", true); !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
	})
}
