package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-automation/writ/modules/execution/internal/tree"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// scratchPrefix begins the names of directories in which work trees are made.
const scratchPrefix = "writ-relay-"

func (r *Relay) Inventory(ctx context.Context, h execution.Leaseholder) (execution.RelayInventory, error) {
	run, err := r.bearerRun(ctx, h)
	if err != nil {
		return execution.RelayInventory{}, err
	}
	id := run.Spec.InventoryID
	if id == "" || r.Materials == nil {
		return execution.RelayInventory{}, catalog.InventoryNotFound.New("the run names no inventory that there is")
	}
	// A shard works on what its split was divided by, as far as nobody changes it meanwhile.
	content, format, stale, err := r.Materials.Inventory(ctx, id, run.Kind != runs.Shard)
	if err != nil {
		return execution.RelayInventory{}, fmt.Errorf("get the inventory: %w", err)
	}
	return execution.RelayInventory{Content: content, Format: string(format), Stale: stale}, nil
}

// The work tree is made for this call alone and gone when it returns.
func (r *Relay) Project(ctx context.Context, h execution.Leaseholder, open func() (io.Writer, error)) (err error) {
	run, err := r.bearerRun(ctx, h)
	if err != nil {
		return err
	}
	if run.Spec.ProjectID == "" || r.Materials == nil {
		return catalog.ProjectNotFound.New("the run names no project that there is")
	}
	select {
	case r.trees <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.trees }()
	dir, err := r.scratch()
	if err != nil {
		return fmt.Errorf("make a directory for the work tree: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work := filepath.Join(dir, "project")
	deps, err := r.Materials.Tree(ctx, run.Spec.ProjectID, run.Commit, work)
	if err != nil {
		return fmt.Errorf("check the project out: %w", err)
	}
	out, err := open()
	if err != nil {
		return err
	}
	left, err := tree.Pack(ctx, out, []tree.Part{
		{Name: "project", Dir: work}, {Name: "roles", Dir: deps.Roles}, {Name: "collections", Dir: deps.Collections},
	})
	if left > 0 {
		r.Log.WarnContext(ctx, "some links of a project lead elsewhere and were not sent", "run", run.ID, "left out", left)
	}
	return err
}

// scratch makes a private directory.
func (r *Relay) scratch() (string, error) {
	if err := os.MkdirAll(r.cfg.ScratchDir, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(r.cfg.ScratchDir, scratchPrefix)
}

// Sweep removes the work trees that an earlier life of the server left behind.
func (r *Relay) Sweep() error {
	list, err := os.ReadDir(r.cfg.ScratchDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for work trees of an earlier life: %w", err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), scratchPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.cfg.ScratchDir, e.Name())))
		}
	}
	return err
}
