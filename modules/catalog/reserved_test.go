package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/reserved/reservedtest"
	"github.com/writ-automation/writ/ports/runs"
)

// steering lists names that are reserved at every depth.
func steering() []string { return slices.Concat(reservedtest.Ansible(), reservedtest.Environment()) }

// TestReservedAtALaunch sets every known name at every entrance of a launch, at the top and nested.
func TestReservedAtALaunch(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	x := template("open")
	x.AllowOverrides = []string{"extra_vars"}
	tpl := b.template(x)
	launch := func(id string, l catalog.Launch, at string) {
		t.Helper()
		made := len(b.runs.single)
		_, _, err := b.Launcher.Launch(t.Context(), id, l)
		if !runs.VarsReserved.Is(err) || !fault.Is(err, fault.Invalid) || at != "" && field(err) != at {
			t.Errorf("%v: %v, want the field %s", l.ExtraVars, err, at)
		}
		if len(b.runs.single) != made {
			t.Errorf("%v made a run", l.ExtraVars)
		}
	}
	for _, name := range slices.Concat(steering(), reservedtest.Magic()) {
		launch(tpl.ID, catalog.Launch{ExtraVars: runs.Vars{"a": raw("1"), name: raw(`"x"`)}}, "")
		launch(tpl.ID, catalog.Launch{SystemVars: runs.Vars{name: raw(`"x"`)}}, "")
	}
	for _, name := range steering() {
		key := string(must[[]byte](t)(json.Marshal(name)))
		for _, form := range []string{`{%s: 1}`, `[[{%s: null}]]`, `{"groups": [{"all": {%s: {}}}]}`, `{"x": {}, %s: 1, "x": 2}`} {
			launch(tpl.ID, catalog.Launch{ExtraVars: runs.Vars{"servers": raw(fmt.Sprintf(form, key))}}, "")
		}
	}
	launch(tpl.ID, catalog.Launch{ExtraVars: runs.Vars{"a": raw(`[{"ansible_host": "h"}]`)}},
		"extra_vars.a[0].ansible_host")
	launch(tpl.ID, catalog.Launch{ExtraVars: runs.Vars{"ansible_connection": raw(`"local"`)}},
		"extra_vars.ansible_connection")

	ordinary := runs.Vars{}
	for _, name := range reservedtest.Ordinary() {
		ordinary[name] = raw(`{"groups": [], "hostvars": {}, "text": "ansible_connection=local"}`)
	}
	if _, _, err := b.Launcher.Launch(t.Context(), tpl.ID, catalog.Launch{ExtraVars: ordinary}); err != nil {
		t.Error(err)
	}
}

// TestAllowedVars allows the names that a template lists, at every depth, and no others.
func TestAllowedVars(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		x := template("open")
		x.AllowOverrides, x.AllowedVars = []string{"extra_vars"}, []string{"ansible_user", "PATH"}
		x.Survey = raw(`[{"var": "ansible_user", "type": "text", "default": "deploy"}]`)
		tpl := b.template(x)
		stored := must[catalog.Template](t)(b.Templates.Get(t.Context(), tpl.ID))
		if d := cmp.Diff(x.AllowedVars, stored.AllowedVars); d != "" {
			t.Error(d)
		}
		for vars, ok := range map[string]bool{
			`{"PATH": 1, "x": [{"ansible_user": 1, "PATH": 2}]}`: true, `{"ansible_host": 1}`: false,
			`{"x": {"PATH": {"LD_PRELOAD": 1}}}`: false, `{"ANSIBLE_USER": 1}`: false,
		} {
			var v runs.Vars
			if err := json.Unmarshal([]byte(vars), &v); err != nil {
				t.Fatal(err)
			}
			_, _, err := b.Launcher.Launch(t.Context(), tpl.ID, catalog.Launch{ExtraVars: v})
			if ok != (err == nil) {
				t.Errorf("%s: %v", vars, err)
			}
		}
		// A survey with the name was valid while the list had it; a launch asks for the list of now.
		stored.AllowedVars = nil
		if _, err := b.Templates.Update(t.Context(), tpl.ID, 0, stored); !runs.VarsReserved.Is(err) ||
			field(err) != "survey[0].var" {
			t.Errorf("saved without the list: %v", err)
		}
		if err := b.Launcher.Unattended(t.Context(), tpl.ID, map[string]any{"ansible_user": "x"}); err != nil {
			t.Errorf("answered: %v", err)
		}
		for at, list := range map[string][]string{
			"allowed_vars[0]": {""}, "allowed_vars[1]": {"PATH", "PATH"}, "allowed_vars": make([]string, 101),
		} {
			bad := template("bad")
			if bad.AllowedVars = list; at == "allowed_vars" {
				for i := range list {
					list[i] = fmt.Sprint("v", i)
				}
			}
			if _, err := b.Templates.Create(t.Context(), bad); field(err) != at {
				t.Errorf("%s: %v", at, err)
			}
		}
		for _, list := range [][]string{{"a b"}, {"ansible_*"}, {"{{x}}"}, {"a\n"}} {
			bad := template("bad")
			bad.AllowedVars = list
			if _, err := b.Templates.Create(t.Context(), bad); !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", list, err)
			}
		}
	})
}

// TestReservedInASurvey refuses a question for every known name when its template is saved, and when a template that
// was saved before the list is launched.
func TestReservedInASurvey(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	names := slices.DeleteFunc(slices.Concat(steering(), reservedtest.Magic()), func(name string) bool {
		return name == "BASH_FUNC_ls%%" // not the name of a question
	})
	for _, name := range names {
		x := template("asks")
		x.Survey = raw(fmt.Sprintf(`[{"var": "a", "type": "text"}, {"var": %q, "type": "text"}]`, name))
		if _, err := b.Templates.Create(t.Context(), x); !runs.VarsReserved.Is(err) || field(err) != "survey[1].var" {
			t.Errorf("%s: %v", name, err)
		}
	}
	tpl := b.template(template("old"))
	old := tpl
	for _, name := range names {
		old.Survey = raw(fmt.Sprintf(`[{"var": %q, "type": "text"}]`, name))
		if err := b.d.Do(t.Context(), func(ctx context.Context) error {
			_, err := b.store.UpdateTemplate(ctx, old, 0)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		_, _, err := b.Launcher.Launch(t.Context(), tpl.ID, catalog.Launch{Answers: map[string]any{name: "x"}})
		if !runs.VarsReserved.Is(err) || field(err) != "answers."+name {
			t.Errorf("%s: %v", name, err)
		}
		if err := b.Launcher.Unattended(t.Context(), tpl.ID, map[string]any{name: "x"}); !runs.VarsReserved.Is(err) {
			t.Errorf("%s unattended: %v", name, err)
		}
	}
}

// TestQuestionsInAnotherCase: a script sees one variable for release_tag and for RELEASE-TAG, so neither replaces an
// answer.
func TestQuestionsInAnotherCase(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	x := template("asks")
	x.AllowOverrides = []string{"extra_vars"}
	x.Survey = raw(`[{"var": "release_tag", "type": "choice", "choices": ["1", "2"]}]`)
	tpl := b.template(x)
	for _, name := range []string{"release_tag", "RELEASE_TAG", "Release-tag", "release.tag"} {
		_, _, err := b.Launcher.Launch(t.Context(), tpl.ID, catalog.Launch{ExtraVars: runs.Vars{name: raw("3")}})
		if field(err) != "extra_vars."+name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSourcesAreData refreshes an inventory with templates and connection variables: they are dropped or marked, the
// source and a run of the inventory name what was dropped, and a source that an admin trusts returns all of it.
func TestSourcesAreData(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		inv := b.inventory("estate")
		s := source("cmdb", inv.ID)
		s.UpdateOnLaunch = true
		s = must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
		const hosts = "h ansible_host=10.0.0.1 ansible_connection=local x={{y}}\n"
		b.collector.set(hosts, nil)
		b.trail.Take()
		s = must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		got := must[catalog.Inventory](t)(b.Inventories.Get(ctx, inv.ID))
		const data = `{"all":{"hosts":{"h":{"ansible_host":{"__ansible_unsafe":"10.0.0.1"},"x":{"__ansible_unsafe":"{{y}}"}}},` +
			`"children":{},"vars":{}},"ungrouped":{"hosts":{"h":{}},"children":{},"vars":{}}}`
		if d := cmp.Diff(data, string(got.Content)); d != "" || got.Format != catalog.JSON || got.Hosts != 1 {
			t.Error(d, got.Format, got.Hosts)
		}
		entry := b.trail.Take()[0].Detail
		if s.Dropped != "ansible_connection" || entry["dropped"] != "ansible_connection" {
			t.Errorf("dropped %q, entry %v", s.Dropped, entry)
		}
		warned := func(want ...string) {
			t.Helper()
			_, warnings, err := b.Materials.Inventory(ctx, inv.ID, true)
			var codes []string
			for _, w := range warnings {
				codes = append(codes, w.Code)
			}
			if d := cmp.Diff(want, codes); d != "" || err != nil {
				t.Error(d, err)
			}
		}
		warned("vars_reserved")
		for _, bad := range []string{"-h x=1\n", "h{{x}}\n", "[a]\n\"-oProxyCommand=x\"\n"} {
			b.collector.set(bad, nil)
			if _, err := b.Sources.Refresh(ctx, s.ID); !catalog.RefreshFailed.Is(err) {
				t.Errorf("%q: %v", bad, err)
			}
			if now := must[catalog.Inventory](t)(b.Inventories.Get(ctx, inv.ID)); now.Digest != got.Digest {
				t.Errorf("%q is the inventory", bad)
			}
		}
		warned("inventory_not_refreshed", "vars_reserved")
		s.Trusted = true
		s = must[catalog.InventorySource](t)(b.Sources.Update(ctx, s.ID, 0, s))
		b.collector.set(hosts, nil)
		s = must[catalog.InventorySource](t)(b.Sources.Refresh(ctx, s.ID))
		got = must[catalog.Inventory](t)(b.Inventories.Get(ctx, inv.ID))
		if string(got.Content) != hosts || s.Dropped != "" || !s.Trusted {
			t.Errorf("trusted: %s, %+v", got.Content, s)
		}
		warned()
	})
}

// TestOnlyAdminsTrust: no other caller sets trusted, or changes what a trusted source asks and fills.
func TestOnlyAdminsTrust(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	ctx := t.Context()
	inv, other := b.inventory("estate"), b.inventory("other")
	s := source("cmdb", inv.ID)
	s.Config.Headers = map[string]string{"X-Key": "value"}
	plain := must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
	s.Name, s.Trusted = "trusted", true
	b.trail.Take()
	trusted := must[catalog.InventorySource](t)(b.Sources.Create(ctx, s))
	if b.trail.Take()[0].Detail["trusted"] != true {
		t.Error("the entry of a trusted source does not say so")
	}
	b.guard.become(access.Manage, nil, "")
	s.Name = "another"
	if _, err := b.Sources.Create(ctx, s); !catalog.NotAllowed.Is(err) {
		t.Errorf("created: %v", err)
	}
	plain.Trusted = true
	if _, err := b.Sources.Update(ctx, plain.ID, 0, plain); !catalog.NotAllowed.Is(err) {
		t.Errorf("set: %v", err)
	}
	for name, change := range map[string]func(*catalog.InventorySource){
		"url":        func(s *catalog.InventorySource) { s.Config.URL += "/2" },
		"header":     func(s *catalog.InventorySource) { s.Config.Headers = map[string]string{"X-Key": "other"} },
		"new header": func(s *catalog.InventorySource) { s.Config.Headers = map[string]string{"X-Key": "***", "Y": "z"} },
		"no header":  func(s *catalog.InventorySource) { s.Config.Headers = nil },
		"inventory":  func(s *catalog.InventorySource) { s.InventoryID = other.ID },
		"credential": func(s *catalog.InventorySource) { s.CredentialID = b.credential() },
		"kind": func(s *catalog.InventorySource) {
			s.Kind, s.Config = catalog.ScriptSource, catalog.SourceConfig{Content: "#!/bin/sh\n"}
		},
	} {
		x := trusted
		change(&x)
		if _, err := b.Sources.Update(ctx, trusted.ID, 0, x); !catalog.NotAllowed.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	trusted.Name, trusted.SyncInterval = "renamed", 600
	trusted = must[catalog.InventorySource](t)(b.Sources.Update(ctx, trusted.ID, 0, trusted))
	if !trusted.Trusted {
		t.Error("a new name took the trust away")
	}
	trusted.Trusted, trusted.Config.URL = false, "https://cmdb.example.com/v2"
	if now := must[catalog.InventorySource](t)(b.Sources.Update(ctx, trusted.ID, 0, trusted)); now.Trusted {
		t.Error("the trust stayed")
	}
	b.guard.admins()
	trusted.Trusted = true
	must[catalog.InventorySource](t)(b.Sources.Update(ctx, trusted.ID, 0, trusted))
}
