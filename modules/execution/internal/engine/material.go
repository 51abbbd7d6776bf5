package engine

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/modules/execution/internal/provide"
	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// material is what a run names, as it lies on this machine. Empty members are none.
type material struct {
	tree      string // the checkout
	deps      catalog.Deps
	inventory string // its file
	warnings  []runs.Warning
}

// fetchMaterial fetches what the run names. A fault of kind Unavailable says that it may work later; any other one
// fails the run.
func (w *work) fetchMaterial(ctx context.Context) error {
	s := &w.run.Spec
	if s.ProjectID != "" {
		deps, err := w.e.Materials.Tree(ctx, s.ProjectID, w.run.Commit, w.dir.Project())
		if err != nil {
			return fmt.Errorf("check the project out: %w", err)
		}
		w.material.tree, w.material.deps = w.dir.Project(), deps
		w.spec.Dir = w.material.tree
	}
	if s.InventoryID != "" {
		// A shard works on what its split was divided by, as far as nobody changes it meanwhile.
		content, format, stale, err := w.e.Materials.Inventory(ctx, s.InventoryID, w.run.Kind != runs.Shard)
		if err != nil {
			return fmt.Errorf("get the inventory: %w", err)
		}
		if stale != "" {
			w.material.warnings = warn(w.material.warnings, runs.WarnInventoryStale, "%s", w.text(stale))
		}
		if w.material.inventory, err = w.dir.WriteInventory(string(format), content); err != nil {
			return err
		}
		w.spec.Env["WRIT_INVENTORY"] = w.material.inventory
	}
	return nil
}

// equip gives the run its secrets and then what else it names, within its time and before it begins. It is false
// where the run is dealt with; ended then says whether this executor may go on claiming.
func (w *work) equip() (ok, ended bool) {
	if s := &w.run.Spec; s.ProjectID == "" && s.InventoryID == "" && len(s.CredentialIDs) == 0 {
		w.openOutputs(nil)
		return true, true
	}
	ctx, stop := w.bounded()
	defer stop()
	in, err := w.unlock(ctx)
	w.openOutputs(rundir.MaskOf(in))
	if err == nil {
		err = w.inject(in)
	}
	if err == nil {
		err = w.fetchMaterial(ctx)
	}
	switch cause := w.cause(); {
	case w.lost.Load():
		w.abandonDir()
	case cause == errCanceled:
		w.settle(runs.Ending{Status: runs.Canceled})
	case cause != nil:
		w.e.release(w.job)
		w.discard()
	case err == nil:
		return true, true
	case ctx.Err() != nil:
		w.settle(w.failed(overTime(w.e.timeout(w.run))))
	case fault.Is(err, fault.Unavailable):
		w.e.Log.Warn("get what a run names", "run", w.lease.RunID, "error", w.masker.String(err.Error()))
		w.e.release(w.job)
		w.discard()
		return false, false
	default:
		w.e.Log.Warn("get what a run names", "run", w.lease.RunID, "error", w.masker.String(err.Error()))
		w.settle(w.failed(provide.Sentence(err)))
	}
	return false, true
}
