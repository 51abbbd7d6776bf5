package objects

import (
	"context"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

type projects struct {
	plain
	port catalog.Projects
}

// project has the members of a project.
type project struct {
	RepoURL      string `json:"repo_url"`
	Branch       string `json:"branch"`
	CredentialID string `json:"credential_id"`
	InstallDeps  bool   `json:"install_deps"`
}

func (k projects) Named(ctx context.Context, names ...string) (map[string][]Stored, error) {
	return named(names, func(some []string, w page.Window) ([]catalog.Project, int, error) {
		return k.port.List(ctx, catalog.Filter{Names: some}, w)
	}, func(p catalog.Project) object.Record { return p.Record }, func(p catalog.Project) (Members, error) {
		return MembersOf(project{p.RepoURL, p.Branch, p.CredentialID, p.InstallDeps})
	})
}

func (k projects) Create(ctx context.Context, name string, m Members) (string, error) {
	p, err := projectOf(object.Record{Name: name}, m)
	if err == nil {
		p, err = k.port.Create(ctx, p)
	}
	return p.ID, err
}

func (k projects) Update(ctx context.Context, s Stored, m Members) error {
	p, err := projectOf(s.Record, m)
	if err == nil {
		_, err = k.port.Update(ctx, s.ID, s.Revision, p)
	}
	return err
}

func projectOf(r object.Record, m Members) (catalog.Project, error) {
	var v project
	err := into(m, &v)
	return catalog.Project{
		Record: r, RepoURL: v.RepoURL, Branch: v.Branch, CredentialID: v.CredentialID, InstallDeps: v.InstallDeps,
	}, err
}

type inventories struct{ port catalog.Inventories }

// inventory has the members of an inventory that imports set.
type inventory struct {
	Content       string         `json:"content,omitempty"`
	Format        catalog.Format `json:"format"`
	CredentialIDs []string       `json:"credential_ids"`
	Queue         string         `json:"queue"`
	MaxConcurrent int            `json:"max_concurrent"`
}

func (k inventories) Named(ctx context.Context, names ...string) (map[string][]Stored, error) {
	return named(names, func(some []string, w page.Window) ([]catalog.Inventory, int, error) {
		return k.port.List(ctx, catalog.Filter{Names: some}, w)
	}, func(i catalog.Inventory) object.Record { return i.Record }, func(i catalog.Inventory) (Members, error) {
		return MembersOf(inventory{"", i.Format, i.CredentialIDs, i.Queue, i.MaxConcurrent})
	})
}

func (k inventories) Create(ctx context.Context, name string, m Members) (string, error) {
	var v inventory
	if err := into(m, &v); err != nil {
		return "", err
	}
	i, err := k.port.Create(ctx, v.onto(catalog.Inventory{Record: object.Record{Name: name}}))
	return i.ID, err
}

func (k inventories) Update(ctx context.Context, s Stored, m Members) error {
	var v inventory
	if err := into(m, &v); err != nil {
		return err
	}
	stored, err := k.port.Get(ctx, s.ID)
	if err != nil {
		return err
	}
	if _, set := m["content"]; !set {
		v.Content = string(stored.Content)
	}
	_, err = k.port.Update(ctx, s.ID, s.Revision, v.onto(stored))
	return err
}

// Differs decides about the content, which may be large and is in no list.
func (k inventories) Differs(ctx context.Context, s Stored, m Members) (changed, known []string, err error) {
	known = []string{"content"}
	content, set := m["content"].(string)
	if !set {
		return nil, known, nil
	}
	stored, err := k.port.Get(ctx, s.ID)
	if err == nil && string(stored.Content) != content {
		changed = known
	}
	return changed, known, err
}

func (v inventory) onto(i catalog.Inventory) catalog.Inventory {
	i.Content, i.Format, i.CredentialIDs = []byte(v.Content), v.Format, v.CredentialIDs
	i.Queue, i.MaxConcurrent = v.Queue, v.MaxConcurrent
	return i
}

type sources struct {
	plain
	port catalog.Sources
}

// source has the members of a source that imports set.
type source struct {
	Kind           catalog.SourceKind `json:"kind"`
	Config         map[string]any     `json:"config"`
	Path           string             `json:"path"`
	ProjectID      string             `json:"project_id"`
	CredentialID   string             `json:"credential_id"`
	InventoryID    string             `json:"inventory_id"`
	UpdateOnLaunch bool               `json:"update_on_launch"`
}

func (k sources) Named(ctx context.Context, names ...string) (map[string][]Stored, error) {
	return named(names, func(some []string, w page.Window) ([]catalog.InventorySource, int, error) {
		return k.port.List(ctx, catalog.Filter{Names: some}, w)
	}, func(s catalog.InventorySource) object.Record { return s.Record },
		func(s catalog.InventorySource) (Members, error) {
			return MembersOf(source{
				s.Kind, s.Config.Plugin, s.Path, s.ProjectID, s.CredentialID, s.InventoryID, s.UpdateOnLaunch,
			})
		})
}

func (k sources) Create(ctx context.Context, name string, m Members) (string, error) {
	var v source
	if err := into(m, &v); err != nil {
		return "", err
	}
	s, err := k.port.Create(ctx, v.onto(catalog.InventorySource{Record: object.Record{Name: name}}))
	return s.ID, err
}

func (k sources) Update(ctx context.Context, s Stored, m Members) error {
	var v source
	if err := into(m, &v); err != nil {
		return err
	}
	stored, err := k.port.Get(ctx, s.ID)
	if err == nil {
		_, err = k.port.Update(ctx, s.ID, s.Revision, v.onto(stored))
	}
	return err
}

func (v source) onto(s catalog.InventorySource) catalog.InventorySource {
	s.Kind, s.Config.Plugin, s.Path, s.ProjectID = v.Kind, v.Config, v.Path, v.ProjectID
	s.CredentialID, s.InventoryID, s.UpdateOnLaunch = v.CredentialID, v.InventoryID, v.UpdateOnLaunch
	return s
}
