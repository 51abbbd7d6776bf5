package material

import (
	"context"

	"github.com/writ-automation/writ/modules/catalog/internal/mirror"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
)

// References tells what a request may name.
type References struct {
	projects    catalog.ProjectStore
	inventories catalog.InventoryStore
	templates   catalog.TemplateStore
	mirror      *mirror.Mirror
}

var _ catalog.References = (*References)(nil)

// NewReferences makes what answers for references.
func NewReferences(p catalog.ProjectStore, i catalog.InventoryStore, t catalog.TemplateStore, m *mirror.Mirror) *References {
	return &References{projects: p, inventories: i, templates: t, mirror: m}
}

// Of kinds that are none of the catalog there is nothing.
func (r *References) Exists(ctx context.Context, kind ids.Prefix, id string) (bool, error) {
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

func (r *References) Defaults(ctx context.Context, inventoryID string) (string, []string, error) {
	i, err := r.inventories.InventoryByID(ctx, inventoryID)
	if err != nil {
		return "", nil, err
	}
	return i.Queue, i.CredentialIDs, nil
}

func (r *References) Pin(ctx context.Context, projectID string, fresh bool) (commit, stale string, err error) {
	return r.mirror.Pin(ctx, projectID, fresh)
}
