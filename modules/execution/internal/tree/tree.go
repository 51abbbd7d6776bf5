// Package tree makes an archive of directories for another machine.
package tree

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Part is a directory of the archive: Name is what it is called there, Dir where it lies. An empty Dir is left out.
type Part struct{ Name, Dir string }

// Pack writes a tar archive of the parts, and returns how many entries it left out: links that lead out of their part
// or that only its place on this machine explains, and what is no file. Owners and times are left out, of modes all
// but whether a file can be executed.
func Pack(ctx context.Context, w io.Writer, parts []Part) (left int, err error) {
	out := tar.NewWriter(w)
	for _, p := range parts {
		if p.Dir == "" {
			continue
		}
		n, err := pack(ctx, out, p)
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

// pack adds one part. Nothing outside of its directory is read, whatever is changed there meanwhile.
func pack(ctx context.Context, out *tar.Writer, p Part) (left int, err error) {
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
			return file(out, root, name, h)
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

// file adds a file as it is when it is opened.
func file(out *tar.Writer, root *os.Root, name string, h *tar.Header) error {
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

// inside reports whether a link stays below the root of its part wherever that lies. A link that steps back after it
// has gone down is taken for one that leaves: what it goes through may be a link itself.
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
