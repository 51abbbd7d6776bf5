package catalog

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/catalog/internal/inventories"
	"github.com/writ-automation/writ/modules/catalog/internal/project"
	"github.com/writ-automation/writ/modules/catalog/internal/template"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// references implements catalog.References.
type references struct {
	projects    catalog.ProjectStore
	inventories catalog.InventoryStore
	sources     catalog.SourceStore
	templates   catalog.TemplateStore
	mirror      *project.Mirror
	indexes     *inventories.Indexes
}

// Exists returns false for the kinds of other contexts.
func (r references) Exists(ctx context.Context, kind ids.Prefix, id string) (bool, error) {
	if !ids.Valid(kind, id) {
		return false, nil
	}
	var err error
	switch kind {
	case ids.Project:
		_, err = r.projects.ProjectByID(ctx, id)
	case ids.Inventory:
		_, err = r.inventories.InventoryByID(ctx, id)
	case ids.Template:
		_, err = r.templates.TemplateByID(ctx, id)
	default:
		return false, nil
	}
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

func (r references) Defaults(ctx context.Context, inventoryID string) (string, []string, error) {
	i, err := r.inventories.InventoryByID(ctx, inventoryID)
	if err != nil {
		return "", nil, err
	}
	return i.Queue, i.CredentialIDs, nil
}

func (r references) Targets(ctx context.Context, inventoryID, limit string) (catalog.Targets, error) {
	return r.indexes.Targets(ctx, inventoryID, limit)
}

func (r references) Hosts(ctx context.Context, inventoryID, limit string) ([]string, error) {
	return r.indexes.Hosts(ctx, inventoryID, limit)
}

func (r references) Variables(
	ctx context.Context, inventoryID string, names ...string,
) (func(host string) map[string]any, error) {
	return r.indexes.Variables(ctx, inventoryID, names...)
}

func (r references) Selected(ctx context.Context, inventoryID, limit string) (content, hosts string, err error) {
	return r.indexes.Selected(ctx, inventoryID, limit)
}

func (r references) RefreshesOnLaunch(ctx context.Context, inventoryID string) (bool, error) {
	list, err := r.sources.SourcesOf(ctx, inventoryID)
	return slices.ContainsFunc(list, func(s catalog.InventorySource) bool { return s.UpdateOnLaunch }), err
}

func (r references) Holds(ctx context.Context, templateID string) (all bool, steps []string, err error) {
	t, err := r.templates.TemplateByID(ctx, templateID)
	if fault.Is(err, fault.NotFound) {
		return false, nil, nil
	}
	for i := range t.Steps {
		if t.Steps[i].RequireApproval {
			steps = append(steps, t.Steps[i].Name)
		}
	}
	return t.RequireApproval, steps, err
}

func (r references) Step(ctx context.Context, templateID string, answers runs.Vars) (catalog.Step, error) {
	t, err := r.templates.TemplateByID(ctx, templateID)
	if err != nil {
		return catalog.Step{}, err
	}
	return template.Step(t, answers)
}

func (r references) Pin(ctx context.Context, projectID string, fresh bool) (commit, stale string, err error) {
	return r.mirror.Pin(ctx, projectID, fresh)
}
