package catalog_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

var past = time.Date(2026, 1, 5, 8, 30, 0, 123456000, time.UTC)

// wall is a clock with a constant time.
type wall struct{}

func (wall) Now() time.Time { return past.Add(time.Minute) }

// fakeModule replaces the catalog module. It has one object of each kind, with the id "known" and the revision 3, and
// records its calls.
type fakeModule struct {
	mu       sync.Mutex
	err      error // returned by every call, if set
	asked    []any
	bare     bool // objects only have their required members
	replayed bool
	text     string             // of a file
	kind     catalog.SourceKind // of the source that Get returns, if set
}

// ask records a call.
func (s *fakeModule) ask(args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = args
	return s.err
}

// find checks the id, and the revision if it is not 0.
func (s *fakeModule) find(code fault.Code, id string, revision int64, args ...any) error {
	if err := s.ask(append([]any{id, revision}, args...)...); err != nil {
		return err
	}
	switch {
	case id != "known":
		return code.New("no object %q", id)
	case revision != 0 && revision != 3:
		return catalog.RevisionChanged.New("the object changed")
	}
	return nil
}

func (s *fakeModule) answer(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeModule) last() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func record() object.Record {
	return object.Record{ID: "known", Name: "web", CreatedBy: "usr_admin", CreatedAt: past, UpdatedAt: past, Revision: 3}
}

type projects struct{ *fakeModule }

func (f projects) project() catalog.Project {
	p := catalog.Project{Record: record(), RepoURL: "https://git.test/a.git"}
	if f.bare {
		return p
	}
	p.Org, p.Branch, p.CredentialID, p.InstallDeps = "org_1", "main", "crd_1", true
	p.Commit, p.SyncedAt, p.LastError = "c0ffee", past, "the remote does not answer"
	return p
}

func (f projects) Create(_ context.Context, p catalog.Project) (catalog.Project, error) {
	return f.project(), f.ask(p)
}

func (f projects) Get(_ context.Context, id string) (catalog.Project, error) {
	return f.project(), f.find(catalog.ProjectNotFound, id, 0)
}

func (f projects) List(_ context.Context, q catalog.Filter, w page.Window) ([]catalog.Project, int, error) {
	return []catalog.Project{f.project()}, 7, f.ask(q, w)
}

func (f projects) Update(_ context.Context, id string, revision int64, p catalog.Project) (catalog.Project, error) {
	return f.project(), f.find(catalog.ProjectNotFound, id, revision, p)
}

func (f projects) Delete(_ context.Context, id string, revision int64) error {
	return f.find(catalog.ProjectNotFound, id, revision, "deleted")
}

func (f projects) Sync(_ context.Context, id string) (catalog.Project, error) {
	return f.project(), f.find(catalog.ProjectNotFound, id, 0, "synced")
}

func (f projects) Files(_ context.Context, id, path, ref string) ([]catalog.Entry, string, error) {
	list := []catalog.Entry{{Path: "roles", Type: catalog.DirEntry}, {Path: "site.yml", Type: catalog.FileEntry, Size: 9}}
	if f.bare {
		list = nil
	}
	return list, "c0ffee", f.find(catalog.ProjectNotFound, id, 0, path, ref)
}

func (f projects) File(_ context.Context, id, path, ref string) ([]byte, string, error) {
	return []byte(f.text), "c0ffee", f.find(catalog.ProjectNotFound, id, 0, path, ref)
}

func (f projects) Commits(_ context.Context, id, from, to string) (catalog.CommitLog, error) {
	list := []catalog.Commit{{ID: "c2", Author: "<&>", At: past, Subject: "x"}}
	l := catalog.CommitLog{From: "c0", To: "c2", Commits: list, Total: 7, Missing: 2}
	return l, f.find(catalog.ProjectNotFound, id, 0, from, to)
}

type inventories struct{ *fakeModule }

func (f inventories) inventory() catalog.Inventory {
	i := catalog.Inventory{Record: record(), Content: []byte("web1 <&>\n"), Format: catalog.INI, Digest: "d19e57"}
	if f.bare {
		return i
	}
	i.Org, i.CredentialIDs, i.Queue, i.Hosts, i.Groups = "org_1", []string{"crd_1"}, "far", 1, 2
	i.KnownHosts, i.HostKeyPolicy, i.MaxConcurrent = []byte("web1 key\n"), catalog.Strict, 4
	return i
}

func (f inventories) Create(_ context.Context, i catalog.Inventory) (catalog.Inventory, error) {
	return f.inventory(), f.ask(i)
}

func (f inventories) Get(_ context.Context, id string) (catalog.Inventory, error) {
	return f.inventory(), f.find(catalog.InventoryNotFound, id, 0)
}

func (f inventories) List(_ context.Context, q catalog.Filter, w page.Window) ([]catalog.Inventory, int, error) {
	return []catalog.Inventory{f.inventory()}, 7, f.ask(q, w)
}

func (f inventories) Update(
	_ context.Context, id string, revision int64, i catalog.Inventory,
) (catalog.Inventory, error) {
	return f.inventory(), f.find(catalog.InventoryNotFound, id, revision, i)
}

func (f inventories) Delete(_ context.Context, id string, revision int64) error {
	return f.find(catalog.InventoryNotFound, id, revision, "deleted")
}

func (f inventories) Hosts(_ context.Context, id string, w page.Window) ([]catalog.HostEntry, int, error) {
	list := []catalog.HostEntry{{Name: "web1", Groups: []string{"web"}, Vars: map[string]any{
		"big": json.Number("98765432109876543210"), "n": int64(9007199254740993), "on": true,
		"of":    []any{1.5, nil, map[string]any{"a": map[string]any{"__ansible_unsafe": "{{ x }}"}}},
		"vault": map[string]any{"__ansible_vault": "v"},
	}}, {Name: "db1"}}
	return list, 7, f.find(catalog.InventoryNotFound, id, 0, w)
}

func (f inventories) Groups(_ context.Context, id string) ([]catalog.GroupEntry, error) {
	return []catalog.GroupEntry{{Name: "all", Hosts: 2}}, f.find(catalog.InventoryNotFound, id, 0)
}

func (f inventories) Resolve(_ context.Context, id, limit string) (catalog.Resolution, error) {
	r := catalog.Resolution{Count: 2, Groups: []string{"web"}, Sample: []string{"web1", "web2"}, Warnings: []string{"w"}}
	if f.bare {
		r = catalog.Resolution{}
	}
	return r, f.find(catalog.InventoryNotFound, id, 0, limit)
}

type versions struct{ *fakeModule }

func (versions) version(n int64) catalog.InventoryVersion {
	return catalog.InventoryVersion{Number: n, At: past, By: actor.Actor{Type: actor.User, ID: "usr_1", Name: "alex"},
		How: catalog.Refreshed, SourceID: "src_1", Format: catalog.INI, Hosts: 1, Groups: 2, Digest: "d19e57"}
}

func (f versions) Versions(_ context.Context, id string, w page.Window) ([]catalog.InventoryVersion, int, error) {
	earlier := catalog.InventoryVersion{Number: 1, At: past, How: catalog.Earlier, Format: catalog.JSON}
	return []catalog.InventoryVersion{f.version(2), earlier}, 7, f.find(catalog.InventoryNotFound, id, 0, w)
}

func (f versions) Version(_ context.Context, id string, number int64) (catalog.InventoryVersion, error) {
	v := f.version(number)
	v.Content = []byte("web1 <&>\n")
	return v, f.find(catalog.InventoryNotFound, id, 0, number)
}

func (f versions) Diff(_ context.Context, id string, from, to int64) (catalog.InventoryDiff, error) {
	d := catalog.InventoryDiff{From: f.version(from), To: f.version(to), Text: "@@\n+<&>\n", Truncated: true}
	d.Hosts = catalog.EntryDiff{Added: []string{"a"}, Removed: []string{"b"}, AddedTotal: 7, RemovedTotal: 8,
		ChangedTotal: 9, Changed: []catalog.ChangedEntry{{Name: "c", Joined: []string{"g"}, Left: []string{"h"},
			Vars: []catalog.ChangedVar{
				{Name: "p", Had: true, Has: true, From: int64(1), To: map[string]any{"__ansible_unsafe": "{{ x }}"}},
				{Name: "q", Has: true, To: false}, {Name: "r", Had: true},
			}}}}
	return d, f.find(catalog.InventoryNotFound, id, 0, from, to)
}

type sources struct{ *fakeModule }

func (f sources) source() catalog.InventorySource {
	s := catalog.InventorySource{Record: record(), Kind: catalog.ProjectSource, InventoryID: "inv_1"}
	if f.bare {
		return s
	}
	s.Kind, s.Config = catalog.HTTPSource,
		catalog.SourceConfig{URL: "https://h.test", Headers: map[string]string{"X-Key": "T0PSECRET"}}
	s.Org, s.Path, s.ProjectID, s.CredentialID, s.UpdateOnLaunch, s.SyncInterval = "org_1", "a/b", "prj_1", "crd_1",
		true, 60
	s.SyncedAt, s.LastError, s.Trusted, s.Dropped = past, "it answered 500", true, "PATH"
	return s
}

func (f sources) Create(_ context.Context, s catalog.InventorySource) (catalog.InventorySource, error) {
	err := f.ask(s)
	s.Record = record()
	return s, err
}

func (f sources) Get(_ context.Context, id string) (catalog.InventorySource, error) {
	s := f.source()
	if f.kind != "" {
		s.Kind = f.kind
	}
	return s, f.find(catalog.SourceNotFound, id, 0)
}

func (f sources) List(_ context.Context, q catalog.Filter, w page.Window) ([]catalog.InventorySource, int, error) {
	return []catalog.InventorySource{f.source()}, 7, f.ask(q, w)
}

func (f sources) Update(
	_ context.Context, id string, revision int64, s catalog.InventorySource,
) (catalog.InventorySource, error) {
	err := f.find(catalog.SourceNotFound, id, revision, s)
	return f.source(), err
}

func (f sources) Compare(_ context.Context, id string, s catalog.InventorySource) ([]string, error) {
	return []string{"config"}, f.find(catalog.SourceNotFound, id, 0, s)
}

func (f sources) Delete(_ context.Context, id string, revision int64) error {
	return f.find(catalog.SourceNotFound, id, revision, "deleted")
}

func (f sources) Refresh(_ context.Context, id string) (catalog.InventorySource, error) {
	return f.source(), f.find(catalog.SourceNotFound, id, 0, "refreshed")
}

type templates struct{ *fakeModule }

// Create returns its input.
func (f templates) Create(_ context.Context, t catalog.Template) (catalog.Template, error) {
	err := f.ask(t)
	name, org := t.Name, t.Org
	t.Record = record()
	t.Name, t.Org = name, org
	return t, err
}

func (f templates) template() catalog.Template {
	return catalog.Template{Record: record(), TemplateSpec: catalog.TemplateSpec{Playbook: "site.yml"}}
}

func (f templates) Get(_ context.Context, id string) (catalog.Template, error) {
	return f.template(), f.find(catalog.TemplateNotFound, id, 0)
}

func (f templates) List(_ context.Context, q catalog.Filter, w page.Window) ([]catalog.Template, int, error) {
	return []catalog.Template{f.template()}, 7, f.ask(q, w)
}

func (f templates) Update(_ context.Context, id string, revision int64, t catalog.Template) (catalog.Template, error) {
	return f.template(), f.find(catalog.TemplateNotFound, id, revision, t)
}

func (f templates) Compare(_ context.Context, id string, t catalog.Template) ([]string, error) {
	return nil, f.find(catalog.TemplateNotFound, id, 0, t)
}

func (f templates) Delete(_ context.Context, id string, revision int64) error {
	return f.find(catalog.TemplateNotFound, id, revision, "deleted")
}

type launcher struct{ *fakeModule }

func (f launcher) Launch(ctx context.Context, id string, l catalog.Launch) (*runs.Run, bool, error) {
	if err := f.find(catalog.TemplateNotFound, id, 0, l); err != nil {
		return nil, false, err
	}
	r := &runs.Run{ID: "run_1", Kind: runs.Single, Status: runs.Pending, CreatedAt: past, Revision: 1}
	r.Actor, r.Spec.Tool, r.Origin.Source, r.Origin.SourceID = actor.From(ctx), "bash", runs.FromTemplate, "known"
	r.Vars = runs.Vars{"n": json.RawMessage("9007199254740993"), "db_password": json.RawMessage(`"T0PSECRET"`)}
	return r, f.replayed, nil
}

func (f launcher) Unattended(context.Context, string, map[string]any) error { return nil }

// trail contains the entry of the one run.
type trail struct{}

func (trail) Page(context.Context, audit.Filter) (audit.Page, error) { return audit.Page{}, nil }

func (trail) ReceiptOf(_ context.Context, run string) (audit.Receipt, bool, error) {
	return audit.Receipt{Seq: 41, Hash: [32]byte{1}}, run == "run_1", nil
}

func (trail) Size(context.Context) (int64, error) { return 0, nil }
