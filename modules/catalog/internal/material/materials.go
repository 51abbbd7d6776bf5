package material

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/mirror"
	"github.com/writ-automation/writ/modules/catalog/internal/refresh"
	"github.com/writ-automation/writ/ports/catalog"
)

// freshTime bounds how long the sources of one inventory are asked before a run.
const freshTime = 2 * time.Minute

// Materials gives executors what runs name.
type Materials struct {
	projects    catalog.ProjectStore
	inventories catalog.InventoryStore
	sources     catalog.SourceStore
	mirror      *mirror.Mirror
	refresher   *refresh.Refresher
	log         *slog.Logger
}

var _ catalog.Materials = (*Materials)(nil)

// NewMaterials makes what executors ask.
func NewMaterials(
	p catalog.ProjectStore, i catalog.InventoryStore, s catalog.SourceStore, m *mirror.Mirror, r *refresh.Refresher, log *slog.Logger,
) *Materials {
	return &Materials{projects: p, inventories: i, sources: s, mirror: m, refresher: r, log: log}
}

func (m *Materials) Inventory(ctx context.Context, id string, fresh bool) (content []byte, f catalog.Format, stale string, err error) {
	if fresh {
		if stale, err = m.refresh(ctx, id); err != nil {
			return nil, "", "", err
		}
	}
	content, f, err = m.inventories.InventoryContent(ctx, id)
	return content, f, stale, err
}

// refresh asks the sources that update on launch, one after the other. One that fails leaves what was there.
func (m *Materials) refresh(ctx context.Context, inventoryID string) (stale string, err error) {
	list, err := m.sources.SourcesOf(ctx, inventoryID)
	if err != nil {
		return "", err
	}
	bound, cancel := context.WithTimeout(ctx, freshTime)
	defer cancel()
	for _, s := range list {
		if !s.UpdateOnLaunch {
			continue
		}
		if err := m.refresher.RefreshUnasked(bound, s.ID); err != nil {
			m.log.WarnContext(ctx, "an inventory was not refreshed before a run", "inventory", inventoryID, "source", s.ID, "err", err)
			stale = "the inventory is the last good one: its source " + s.ID + " could not be refreshed"
		}
	}
	return stale, ctx.Err()
}

func (m *Materials) Tree(ctx context.Context, projectID, commit, dir string) (catalog.Deps, error) {
	p, err := m.projects.ProjectByID(ctx, projectID)
	if err != nil {
		return catalog.Deps{}, err
	}
	return m.mirror.Tree(ctx, p, commit, dir, p.InstallDeps)
}
