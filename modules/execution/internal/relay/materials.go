package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/writ-automation/writ/modules/execution/internal/archive"
	"github.com/writ-automation/writ/modules/execution/internal/provide"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
)

func (r *Relay) Inventory(ctx context.Context, h execution.Leaseholder) (execution.RelayInventory, error) {
	run, err := r.bearerRun(ctx, h)
	if err != nil {
		return execution.RelayInventory{}, err
	}
	if run.Spec.InventoryID == "" || r.Materials == nil {
		return execution.RelayInventory{}, catalog.InventoryNotFound.New("the run names no inventory that there is")
	}
	text, warnings, err := provide.Inventory(ctx, r.Materials, run)
	if err != nil {
		return execution.RelayInventory{}, err
	}
	return execution.RelayInventory{
		Content: text.Content, Format: string(text.Format), KnownHosts: text.KnownHosts, HostKeyPolicy: text.HostKeyPolicy,
		Warnings: warnings,
	}, nil
}

// The work tree is created for this call and removed when it returns.
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
	dir, err := archive.Scratch(r.cfg.ScratchDir)
	if err != nil {
		return err
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
	left, err := archive.Write(ctx, out, []archive.Part{
		{Name: "project", Dir: work}, {Name: "roles", Dir: deps.Roles}, {Name: "collections", Dir: deps.Collections},
	})
	if left > 0 {
		r.Log.WarnContext(ctx, "some links of a project lead elsewhere and were not sent", "run", run.ID, "left out", left)
	}
	return err
}

// Sweep removes work trees that were left by an earlier process of the server.
func (r *Relay) Sweep() error { return archive.Sweep(r.cfg.ScratchDir) }
