// Package archive sends work trees to workers over a relay.
package archive

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
)

// prefix begins the names of directories for work trees.
const prefix = "writ-relay-"

// Scratch makes a private directory for a work tree below parent.
func Scratch(parent string) (string, error) {
	err := os.MkdirAll(parent, 0o700)
	dir := ""
	if err == nil {
		dir, err = os.MkdirTemp(parent, prefix)
	}
	if err != nil {
		return "", fmt.Errorf("make a directory for the work tree: %w", err)
	}
	return dir, nil
}

// Sweep removes work trees that were left by an earlier process of the server.
func Sweep(parent string) error {
	list, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for work trees of an earlier life: %w", err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), prefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(parent, e.Name())))
		}
	}
	return err
}

// Part is a directory of an archive: its name there and its local path. An empty Dir is left out.
type Part struct{ Name, Dir string }

// Write writes a tar archive of the parts and returns how many entries it left out: links that lead out of their part
// and everything except files, directories and links. The archive contains no owners and no times, and of the modes
// only whether a file is executable.
func Write(ctx context.Context, w io.Writer, parts []Part) (left int, err error) {
	out := tar.NewWriter(w)
	for _, p := range parts {
		if p.Dir == "" {
			continue
		}
		n, err := packPart(ctx, out, p)
		left += n
		if err != nil {
			return left, fmt.Errorf("pack %s: %w", p.Name, err)
		}
	}
	if err := out.Close(); err != nil {
		return left, fmt.Errorf("end the archive: %w", err)
	}
	return left, nil
}

// packPart adds one part. It reads nothing outside of the directory, also if links change meanwhile.
func packPart(ctx context.Context, out *tar.Writer, p Part) (left int, err error) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return left, fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		h := &tar.Header{Name: path.Join(p.Name, name)}
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
