package binding

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// RefreshTime is how long the sources of a held run's inventories may take altogether.
const RefreshTime = time.Minute

// Materials refreshes the sources of inventories.
type Materials interface {
	// Inventory returns the inventory after a refresh of its sources, if fresh, with warnings about those that failed.
	Inventory(ctx context.Context, id string, fresh bool) (catalog.InventoryText, []runs.Warning, error)
}

// RefreshesOnLaunch reports whether a run names an inventory that is refreshed before it.
func (b *Binder) RefreshesOnLaunch(ctx context.Context, r *runs.Run) (bool, error) {
	if b.refs == nil || b.materials == nil {
		return false, nil
	}
	for _, id := range inventoriesOf(r) {
		if fresh, err := b.refs.RefreshesOnLaunch(ctx, id); fresh || err != nil {
			return fresh, err
		}
	}
	return false, nil
}

// Refresh refreshes the inventories of a run. One that cannot be refreshed stays the last good one, of which a warning
// tells. The error is that of ctx alone.
func (b *Binder) Refresh(ctx context.Context, r *runs.Run) (warnings []runs.Warning, err error) {
	bound, cancel := context.WithTimeout(ctx, RefreshTime)
	defer cancel()
	for _, id := range inventoriesOf(r) {
		_, found, err := b.materials.Inventory(bound, id, true)
		if err != nil && ctx.Err() == nil {
			found = []runs.Warning{{Code: runs.WarnInventoryStale,
				Message: "the inventory " + id + " is the last good one: its sources were not refreshed in time"}}
		}
		warnings = append(warnings, found...)
	}
	return warnings, ctx.Err()
}

// inventoriesOf returns the ids of the inventories that a run names, each once.
func inventoriesOf(r *runs.Run) (out []string) {
	known := map[string]bool{"": true}
	for _, x := range specsOf(r) {
		if !known[x.InventoryID] {
			known[x.InventoryID] = true
			out = append(out, x.InventoryID)
		}
	}
	return out
}
