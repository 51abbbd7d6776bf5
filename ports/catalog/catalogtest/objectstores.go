package catalogtest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// objectStore adapts the store of one kind to the cases for all kinds.
type objectStore[T any] struct {
	prefix  ids.Prefix
	missing fault.Code
	record  func(v *T) *object.Record

	plain func(r object.Record) T // sets only the record and required members
	full  func(r object.Record) T // sets every member
	// change sets every member that a caller may set, outside of the record, to a value that neither plain nor full
	// uses.
	change func(v *T)
	// bare returns a value as a store reads it back.
	bare func(v T) T

	insert func(ctx context.Context, v T) error
	byID   func(ctx context.Context, id string) (T, error)
	list   func(ctx context.Context, s access.Scope, f catalog.Filter, w page.Window) ([]T, int, error)
	update func(ctx context.Context, v T, revision int64) (T, error)
	remove func(ctx context.Context, id string, revision int64) error
}

func projects(e *env) objectStore[catalog.Project] {
	s := e.Projects
	return objectStore[catalog.Project]{
		prefix: ids.Project, missing: catalog.ProjectNotFound,
		record: func(p *catalog.Project) *object.Record { return &p.Record },
		plain:  func(r object.Record) catalog.Project { return catalog.Project{Record: r} },
		full: func(r object.Record) catalog.Project {
			return catalog.Project{
				Record: r, RepoURL: "git@host:" + odd, Branch: odd, CredentialID: "crd_1", InstallDeps: true,
				Commit: "0123456789abcdef0123456789abcdef01234567", SyncedAt: at(time.Microsecond).In(elsewhere), LastError: odd,
			}
		},
		change: func(p *catalog.Project) {
			p.RepoURL, p.Branch, p.CredentialID, p.InstallDeps = "https://other.example/'x'", "main", "crd_2", !p.InstallDeps
			p.Commit, p.SyncedAt = "", time.Time{} // a changed address clears the result of the fetch
		},
		bare:   func(p catalog.Project) catalog.Project { return p },
		insert: s.InsertProject, byID: s.ProjectByID, list: s.ListProjects, update: s.UpdateProject, remove: s.DeleteProject,
	}
}

func inventories(e *env) objectStore[catalog.Inventory] {
	s := e.Inventories
	return objectStore[catalog.Inventory]{
		prefix: ids.Inventory, missing: catalog.InventoryNotFound,
		record: func(i *catalog.Inventory) *object.Record { return &i.Record },
		plain:  func(r object.Record) catalog.Inventory { return catalog.Inventory{Record: r, Format: catalog.INI} },
		full: func(r object.Record) catalog.Inventory {
			return catalog.Inventory{
				Record: r, Content: []byte("a\nb\n" + odd), Format: catalog.YAML, CredentialIDs: []string{"crd_2", "crd_1", odd},
				Queue: odd, Hosts: 1 << 33, Groups: 3, Digest: "00ff",
				KnownHosts: []byte("h1 key\n" + odd), HostKeyPolicy: catalog.Strict,
			}
		},
		change: func(i *catalog.Inventory) {
			i.Content, i.Format, i.Hosts, i.Groups, i.Digest = []byte("{}"), catalog.JSON, 7, 8, "ff00"
			i.CredentialIDs, i.Queue = []string{"crd_3"}, "other"
			i.KnownHosts, i.HostKeyPolicy = []byte("h2 key\n"), catalog.AcceptNew
		},
		bare: func(i catalog.Inventory) catalog.Inventory {
			i.Content, i.KnownHosts = nil, nil
			return i
		},
		insert: s.InsertInventory, byID: s.InventoryByID, list: s.ListInventories, update: s.UpdateInventory,
		remove: s.DeleteInventory,
	}
}

func sources(e *env) objectStore[catalog.InventorySource] {
	s := e.Sources
	return objectStore[catalog.InventorySource]{
		prefix: ids.Source, missing: catalog.SourceNotFound,
		record: func(i *catalog.InventorySource) *object.Record { return &i.Record },
		plain: func(r object.Record) catalog.InventorySource {
			return catalog.InventorySource{Record: r, Kind: catalog.ScriptSource, InventoryID: "inv_1"}
		},
		full: func(r object.Record) catalog.InventorySource {
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
				UpdateOnLaunch: true, SyncInterval: 3600, SyncedAt: at(time.Microsecond).In(elsewhere), LastError: odd,
				Trusted: true, Dropped: odd, Sealed: []byte("\x00\xff\xfe'; --" + odd),
			}
		},
		change: func(i *catalog.InventorySource) {
			i.Kind, i.Path, i.ProjectID, i.CredentialID, i.InventoryID = catalog.HTTPSource, "b", "prj_2", "crd_2", "inv_2"
			i.Config = catalog.SourceConfig{URL: "https://other.example/", Headers: map[string]string{"A": "'b'"}}
			i.UpdateOnLaunch, i.SyncInterval, i.Trusted, i.Sealed = !i.UpdateOnLaunch, 61, !i.Trusted, []byte{0}
		},
		bare:   func(i catalog.InventorySource) catalog.InventorySource { return i },
		insert: s.InsertSource, byID: s.SourceByID, list: s.ListSources, update: s.UpdateSource, remove: s.DeleteSource,
	}
}

func templates(e *env) objectStore[catalog.Template] {
	s := e.Templates
	return objectStore[catalog.Template]{
		prefix: ids.Template, missing: catalog.TemplateNotFound,
		record: func(v *catalog.Template) *object.Record { return &v.Record },
		plain:  func(r object.Record) catalog.Template { return catalog.Template{Record: r} },
		full:   func(r object.Record) catalog.Template { return catalog.Template{Record: r, TemplateSpec: fullSpec()} },
		change: func(v *catalog.Template) {
			v.TemplateSpec = catalog.TemplateSpec{Tool: "bash", Command: "echo '" + odd + "'", DryRun: true}
		},
		bare:   func(v catalog.Template) catalog.Template { return v },
		insert: s.InsertTemplate, byID: s.TemplateByID, list: s.ListTemplates, update: s.UpdateTemplate,
		remove: s.DeleteTemplate,
	}
}
