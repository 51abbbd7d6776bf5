package catalogtest

import (
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// late is a point in time in another zone.
func late() time.Time { return txtest.At(time.Microsecond).In(txtest.Elsewhere()) }

func projects(e *env) objecttest.Store[catalog.Project] {
	s := e.Projects
	return objecttest.Store[catalog.Project]{
		Prefix: ids.Project, Missing: catalog.ProjectNotFound,
		Record: func(p *catalog.Project) *object.Record { return &p.Record },
		Plain:  func(r object.Record) catalog.Project { return catalog.Project{Record: r} },
		Full: func(r object.Record) catalog.Project {
			return catalog.Project{
				Record: r, RepoURL: "git@host:" + odd, Branch: odd, CredentialID: "crd_1", InstallDeps: true,
				Commit: "0123456789abcdef0123456789abcdef01234567", SyncedAt: late(), LastError: odd,
			}
		},
		Change: func(p *catalog.Project) {
			p.RepoURL, p.Branch, p.CredentialID, p.InstallDeps = "https://other.example/'x'", "main", "crd_2", !p.InstallDeps
			p.Commit, p.SyncedAt = "", time.Time{} // a changed address clears the result of the fetch
		},
		Insert: s.InsertProject, ByID: s.ProjectByID, List: s.ListProjects, Update: s.UpdateProject, Remove: s.DeleteProject,
	}
}

func inventories(e *env) objecttest.Store[catalog.Inventory] {
	s := e.Inventories
	return objecttest.Store[catalog.Inventory]{
		Prefix: ids.Inventory, Missing: catalog.InventoryNotFound,
		Record: func(i *catalog.Inventory) *object.Record { return &i.Record },
		Plain:  func(r object.Record) catalog.Inventory { return catalog.Inventory{Record: r, Format: catalog.INI} },
		Full: func(r object.Record) catalog.Inventory {
			return catalog.Inventory{
				Record: r, Content: []byte("a\nb\n" + odd), Format: catalog.YAML, CredentialIDs: []string{"crd_2", "crd_1", odd},
				Queue: odd, Hosts: 1 << 33, Groups: 3, Digest: "00ff",
				KnownHosts: []byte("h1 key\n" + odd), HostKeyPolicy: catalog.Strict, MaxConcurrent: 10_000,
			}
		},
		Change: func(i *catalog.Inventory) {
			i.Content, i.Format, i.Hosts, i.Groups, i.Digest = []byte("{}"), catalog.JSON, 7, 8, "ff00"
			i.CredentialIDs, i.Queue = []string{"crd_3"}, "other"
			i.KnownHosts, i.HostKeyPolicy, i.MaxConcurrent = []byte("h2 key\n"), catalog.AcceptNew, 1
		},
		Bare: func(i catalog.Inventory) catalog.Inventory {
			i.Content, i.KnownHosts = nil, nil
			return i
		},
		Insert: s.InsertInventory, ByID: s.InventoryByID, List: s.ListInventories, Update: s.UpdateInventory,
		Remove: s.DeleteInventory,
	}
}

func sources(e *env) objecttest.Store[catalog.InventorySource] {
	s := e.Sources
	return objecttest.Store[catalog.InventorySource]{
		Prefix: ids.Source, Missing: catalog.SourceNotFound,
		Record: func(i *catalog.InventorySource) *object.Record { return &i.Record },
		Plain: func(r object.Record) catalog.InventorySource {
			return catalog.InventorySource{Record: r, Kind: catalog.ScriptSource, InventoryID: "inv_1"}
		},
		Full: func(r object.Record) catalog.InventorySource {
			return catalog.InventorySource{
				Record: r, Kind: catalog.PluginSource, Path: "a/" + odd, ProjectID: "prj_1", CredentialID: "crd_1",
				InventoryID: "inv_1",
				Config: catalog.SourceConfig{
					Plugin: map[string]any{
						"plugin": odd, "n": json.Number("123456789012345678901234567890"), "f": json.Number("0.1000"), "yes": true,
						"none": nil,
						"list": []any{json.Number("1"), "a", map[string]any{odd: odd}},
					},
					Content: "#!/bin/sh\n" + odd, URL: "https://x.example/?a=b&c=<d>",
					Headers: map[string]string{"X-A": odd, "X-B": ""},
				},
				UpdateOnLaunch: true, SyncInterval: 3600, SyncedAt: late(), LastError: odd,
				Trusted: true, Dropped: odd, Sealed: []byte("\x00\xff\xfe'; --" + odd),
			}
		},
		Change: func(i *catalog.InventorySource) {
			i.Kind, i.Path, i.ProjectID, i.CredentialID, i.InventoryID = catalog.HTTPSource, "b", "prj_2", "crd_2", "inv_2"
			i.Config = catalog.SourceConfig{URL: "https://other.example/", Headers: map[string]string{"A": "'b'"}}
			i.UpdateOnLaunch, i.SyncInterval, i.Trusted, i.Sealed = !i.UpdateOnLaunch, 61, !i.Trusted, []byte{0}
		},
		Insert: s.InsertSource, ByID: s.SourceByID, List: s.ListSources, Update: s.UpdateSource, Remove: s.DeleteSource,
	}
}

func templates(e *env) objecttest.Store[catalog.Template] {
	s := e.Templates
	return objecttest.Store[catalog.Template]{
		Prefix: ids.Template, Missing: catalog.TemplateNotFound,
		Record: func(v *catalog.Template) *object.Record { return &v.Record },
		Plain:  func(r object.Record) catalog.Template { return catalog.Template{Record: r} },
		Full:   func(r object.Record) catalog.Template { return catalog.Template{Record: r, TemplateSpec: fullSpec()} },
		Change: func(v *catalog.Template) {
			v.TemplateSpec = catalog.TemplateSpec{Tool: "bash", Command: "echo '" + odd + "'", DryRun: true}
		},
		Insert: s.InsertTemplate, ByID: s.TemplateByID, List: s.ListTemplates, Update: s.UpdateTemplate,
		Remove: s.DeleteTemplate,
	}
}
