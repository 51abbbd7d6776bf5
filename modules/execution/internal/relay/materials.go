package relay

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// scratchPrefix begins the names of directories for work trees.
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
	// A shard uses the same inventory as the division of its split, unless it was changed meanwhile.
	text, warnings, err := r.Materials.Inventory(ctx, id, run.Kind != runs.Shard)
	if err != nil {
		return execution.RelayInventory{}, fmt.Errorf("get the inventory: %w", err)
	}
	return execution.RelayInventory{
		Content: text.Content, Format: string(text.Format), KnownHosts: text.KnownHosts, HostKeyPolicy: text.HostKeyPolicy,
		Warnings: warnings,
	}, nil
}

// The work tree is created for this call and removed when it returns.
func (r *Relay) Project(ctx context.Context, h execution.Leaseholder, open func() (io.Writer, error)) error {
	run, err := r.bearerRun(ctx, h)
	if err != nil {
		return err
	}
	if run.Spec.ProjectID == "" || r.Materials == nil {
		return catalog.ProjectNotFound.New("the run names no project that there is")
	}
	return r.sendTree(ctx, open, run.ID, func(work string) (catalog.Deps, error) {
		return r.Materials.Tree(ctx, run.Spec.ProjectID, run.Commit, work)
	})
}

// sendTree writes the archive of a work tree that is made for it.
func (r *Relay) sendTree(
	ctx context.Context, open func() (io.Writer, error), id string, checkOut func(dir string) (catalog.Deps, error),
) (err error) {
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
	deps, err := checkOut(work)
	if err != nil {
		return fmt.Errorf("check the project out: %w", err)
	}
	out, err := open()
	if err != nil {
		return err
	}
	left, err := pack(ctx, out, []part{
		{"project", work}, {"roles", deps.Roles}, {"collections", deps.Collections},
	})
	if left > 0 {
		r.Log.WarnContext(ctx, "some links of a project lead elsewhere and were not sent", "id", id, "left out", left)
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

// Sweep removes work trees that were left by an earlier process of the server.
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

// part is a directory of an archive: its name there and its local path. An empty dir is left out.
type part struct{ name, dir string }

// pack writes a tar archive of the parts and returns how many entries it left out: links that lead out of their part
// and everything except files, directories and links. The archive contains no owners and no times, and of the modes
// only whether a file is executable.
func pack(ctx context.Context, w io.Writer, parts []part) (left int, err error) {
	out := tar.NewWriter(w)
	for _, p := range parts {
		if p.dir == "" {
			continue
		}
		n, err := packPart(ctx, out, p)
		left += n
		if err != nil {
			return left, fmt.Errorf("pack %s: %w", p.name, err)
		}
	}
	if err := out.Close(); err != nil {
		return left, fmt.Errorf("end the archive: %w", err)
	}
	return left, nil
}

// packPart adds one part. It reads nothing outside of the directory, also if links change meanwhile.
func packPart(ctx context.Context, out *tar.Writer, p part) (left int, err error) {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return left, fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		h := &tar.Header{Name: path.Join(p.name, name)}
		switch e.Type() {
		case fs.ModeDir:
			h.Typeflag, h.Mode, h.Name = tar.TypeDir, 0o755, h.Name+"/"
			return out.WriteHeader(h)
		case 0:
			return packFile(out, root, name, h)
		case fs.ModeSymlink:
			if h.Linkname, err = root.Readlink(name); err != nil {
				return err
			}
			if !inside(name, h.Linkname) {
				left++
				return nil
			}
			h.Typeflag, h.Mode = tar.TypeSymlink, 0o777
			return out.WriteHeader(h)
		default:
			left++
			return nil
		}
	})
}

// packFile adds a file with its size at the time of opening.
func packFile(out *tar.Writer, root *os.Root, name string, h *tar.Header) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s changed while it was read", name)
	}
	h.Typeflag, h.Mode, h.Size = tar.TypeReg, 0o644, info.Size()
	if info.Mode().Perm()&0o111 != 0 {
		h.Mode = 0o755
	}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(out, f, h.Size)
	return err
}

// inside reports whether a link stays below the root of its part. A target with ".." after a name counts as outside,
// since that name may be a link itself.
func inside(name, target string) bool {
	if target == "" || path.IsAbs(target) {
		return false
	}
	depth, down := strings.Count(name, "/"), false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; down || depth < 0 {
				return false
			}
		default:
			down = true
		}
	}
	return true
}
