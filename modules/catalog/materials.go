package catalog

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/project"
	"github.com/writ-automation/writ/modules/catalog/internal/source"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// freshTime limits the refresh of an inventory's sources before a run.
const freshTime = 2 * time.Minute

// materials implements catalog.Materials.
type materials struct {
	projects    catalog.ProjectStore
	inventories catalog.InventoryStore
	sources     catalog.SourceStore
	mirror      *project.Mirror
	refresher   *source.Refresher
	log         *slog.Logger
	elsewhere   bool // requirements are installed where runs execute
}

func (m materials) Inventory(
	ctx context.Context, id string, fresh bool,
) (text catalog.InventoryText, warnings []runs.Warning, err error) {
	if fresh {
		if warnings, err = m.refresh(ctx, id); err != nil {
			return text, nil, err
		}
	}
	text, err = m.inventories.InventoryText(ctx, id)
	return text, warnings, err
}

// refresh refreshes the sources that update on launch, one by one. A source that fails leaves the previous content.
func (m materials) refresh(ctx context.Context, inventoryID string) (warnings []runs.Warning, err error) {
	list, err := m.sources.SourcesOf(ctx, inventoryID)
	if err != nil {
		return nil, err
	}
	bound, cancel := context.WithTimeout(ctx, freshTime)
	defer cancel()
	for _, s := range list {
		if s.UpdateOnLaunch {
			failed := m.refresher.RefreshUnasked(bound, s.ID)
			if failed != nil {
				m.log.WarnContext(ctx, "an inventory was not refreshed before a run", "inventory", inventoryID, "source", s.ID,
					"err", failed)
			}
			id := s.ID
			if s, err = m.sources.SourceByID(ctx, id); err != nil && !catalog.SourceNotFound.Is(err) {
				return nil, err
			}
			if failed != nil {
				warnings = append(warnings, runs.Warning{Code: runs.WarnInventoryStale, Message: strings.TrimSuffix(
					"the inventory is the last good one: its source "+id+" could not be refreshed: "+s.LastError, ": ")})
			}
		}
		if s.Dropped != "" {
			warnings = append(warnings, runs.ReservedDropped("the inventory source "+s.ID, s.Dropped))
		}
	}
	return warnings, ctx.Err()
}

func (m materials) Tree(ctx context.Context, projectID, commit, dir string) (catalog.Deps, error) {
	p, err := m.projects.ProjectByID(ctx, projectID)
	if err != nil {
		return catalog.Deps{}, err
	}
	return m.mirror.Tree(ctx, p, commit, dir, p.InstallDeps && !m.elsewhere)
}

func (m materials) Wanted(ctx context.Context, projectID string) (r catalog.Repository, wanted bool, err error) {
	if !m.elsewhere {
		return r, false, nil
	}
	p, err := m.projects.ProjectByID(ctx, projectID)
	if err != nil || !p.InstallDeps {
		return r, false, err
	}
	r, err = m.mirror.Repository(ctx, p)
	return r, err == nil, err
}
