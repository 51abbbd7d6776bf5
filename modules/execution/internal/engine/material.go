package engine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-automation/writ/modules/execution/internal/provide"
	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// material holds the local paths of what a run names. Empty members are none.
type material struct {
	tree      string // the checkout
	deps      catalog.Deps
	inventory string // the inventory file
	warnings  []runs.Warning
	leftOut   []string // links of the checkout that lead out of the repository
}

// fetchMaterial fetches the run's project and inventory. A fault of kind Unavailable is temporary; any other one fails
// the run.
func (w *work) fetchMaterial(ctx context.Context) error {
	s := &w.run.Spec
	if s.ProjectID != "" {
		deps, err := w.e.Materials.Tree(ctx, s.ProjectID, w.run.Commit, w.dir.Project())
		if err != nil {
			return fmt.Errorf("check the project out: %w", err)
		}
		if w.material.leftOut, err = leftOut(w.dir.Project()); err != nil {
			return err
		}
		for _, name := range []string{s.Playbook, s.Inventory} {
			if err := behind(name, w.material.leftOut); err != nil {
				return err
			}
		}
		if err := w.dir.GiveProject(); err != nil {
			return err
		}
		w.material.tree, w.material.deps = w.dir.Project(), deps
		w.spec.Dir = w.material.tree
	}
	if s.InventoryID != "" {
		text, warnings, err := provide.Inventory(ctx, w.e.Materials, w.run)
		if err != nil {
			return err
		}
		w.material.warnings = append(w.material.warnings, w.mask(warnings)...)
		if w.material.inventory, err = w.dir.WriteInventory(string(text.Format), text.Content); err != nil {
			return err
		}
		if err := w.bringHostKeys(text); err != nil {
			return err
		}
		w.spec.Env["WRIT_INVENTORY"] = w.material.inventory
	}
	return nil
}

// maxLeftOut bounds the links that are remembered of a checkout.
const maxLeftOut = 100

// leftOut lists the links of a checkout that lead out of the repository.
func leftOut(tree string) (links []string, err error) {
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSymlink {
			return err
		}
		target, err := os.Readlink(path)
		if err != nil || target != catalog.LeftOutLink {
			return err
		}
		name, err := filepath.Rel(tree, path)
		if links = append(links, name); err == nil && len(links) == maxLeftOut {
			return fs.SkipAll
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for links that lead out of the repository: %w", err)
	}
	return links, nil
}

// behind refuses a path of a checkout that is or passes a link that was left out.
func behind(name string, links []string) error {
	for _, link := range links {
		if name == link || strings.HasPrefix(filepath.Clean(name)+"/", link+"/") {
			return catalog.FileNotFound.New("%.200q is behind the link %.200q, which leads out of the repository and is left "+
				"out: put the files into the repository", name, link)
		}
	}
	return nil
}

// warnLeftOut adds to the record of a failed run which links its checkout lacks: what it missed may be behind them.
func (w *work) warnLeftOut(end *runs.Ending) {
	if list := w.material.leftOut; end.Status == runs.Failed && len(list) > 0 {
		end.Warnings = warn(end.Warnings, runs.WarnProjectLinks, "%s", w.text(fmt.Sprintf(
			"links that lead out of the repository are left out of its work tree; put the files into the repository: %.200q",
			list[:min(len(list), 3)])))
	}
}

// equip fetches the run's secrets and then its materials, within its time and before it begins. ok is false if the run
// was already settled; ended then reports whether this executor may continue claiming.
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
