package relayclient

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// bounds limits an archive.
type bounds struct {
	entries int
	bytes   int64
	name    int // bytes of one name
	names   int // bytes of all names
	depth   int // directories above a file
}

func defaultBounds() bounds {
	return bounds{entries: 600_000, bytes: 4 << 30, name: 4096, names: 64 << 20, depth: 128}
}

const (
	trailer   = 1024    // zeros at the end of an archive
	maxExcess = 1 << 20 // data after that
)

// The top directories of an archive.
const (
	projectTop     = "project"
	rolesTop       = "roles"
	collectionsTop = "collections"
)

// unpacker writes an archive into directories that it made.
type unpacker struct {
	bounds
	dir   string
	roots map[string]*os.Root // by top directory of the archive
	links map[string]bool     // by name in the archive
	// The counts so far.
	count, named int
	size         int64
}

// unpack creates dir from the entries of an archive below project/, and directories next to it from those below roles/
// and collections/. It writes nothing elsewhere or through a link, and leaves nothing after an error. Unavailable
// reports a truncated archive, SyncFailed a forbidden entry.
func unpack(ctx context.Context, r io.Reader, dir string, b bounds) (deps catalog.Deps, err error) {
	u := &unpacker{bounds: b, dir: dir, roots: make(map[string]*os.Root), links: make(map[string]bool)}
	defer func() {
		err = errors.Join(err, u.close())
		if err != nil {
			deps, err = catalog.Deps{}, errors.Join(err, u.remove())
		}
	}()
	if _, err := u.root(projectTop); err != nil {
		return deps, err
	}
	if err := u.all(&feed{r: bufio.NewReaderSize(r, 64<<10)}); err != nil {
		return deps, err
	}
	for name := range u.links {
		if err := ctx.Err(); err != nil {
			return deps, fault.Wrap(fault.Unavailable, err, "the project was not unpacked to its end")
		}
		if err := u.checkLink(name); err != nil {
			return deps, err
		}
	}
	return u.deps(), nil
}

// feed counts the read bytes and the zeros at the end, and keeps the reason for the end.
type feed struct {
	r     io.Reader
	n     int64
	zeros int
	fail  error
}

func (f *feed) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	f.n += int64(n)
	last := len(bytes.TrimRight(p[:n], "\x00"))
	if last > 0 {
		f.zeros = 0
	}
	f.zeros += n - last
	if err != nil && err != io.EOF {
		f.fail = err
	}
	return n, err
}

// all unpacks every entry. An archive ends with zeros: without them it is incomplete, even if the last entry is
// complete.
func (u *unpacker) all(f *feed) error {
	in := tar.NewReader(f)
	for {
		before := f.n
		h, err := in.Next()
		switch {
		case err == io.EOF && f.n-before >= trailer && f.zeros >= trailer:
			return u.finish(f)
		case err == io.EOF:
			return brokeOff(io.ErrUnexpectedEOF)
		case err != nil:
			return brokeOff(err)
		}
		if err := u.entry(h, in); err != nil {
			if f.fail != nil || errors.Is(err, io.ErrUnexpectedEOF) {
				return brokeOff(err)
			}
			return err
		}
		if _, err := io.Copy(io.Discard, in); err != nil { // advances to the next header
			return brokeOff(err)
		}
	}
}

// finish reads to the end, which detects a closed connection.
func (u *unpacker) finish(f *feed) error {
	n, err := io.Copy(io.Discard, io.LimitReader(f, maxExcess+1))
	switch {
	case err != nil:
		return brokeOff(err)
	case n > maxExcess:
		return refused("has something behind its end")
	}
	return nil
}

func brokeOff(err error) error {
	return fault.Wrap(fault.Unavailable, err, "the project's archive broke off")
}

// refused makes the fault of an archive with a forbidden entry.
func refused(format string, args ...any) error {
	return catalog.SyncFailed.New("the project's archive %s", fmt.Sprintf(format, args...))
}

// entry writes one entry.
func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if u.count++; u.count > u.entries {
		return refused("has more than %d entries", u.entries)
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	top, name, err := u.place(h)
	if err != nil {
		return err
	}
	root, err := u.root(top)
	if err != nil {
		return err
	}
	if parent := path.Dir(name); parent != "." && h.Typeflag != tar.TypeDir {
		err = root.MkdirAll(parent, 0o700)
	}
	if err == nil {
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o700)
		case tar.TypeReg:
			err = u.file(root, name, h, content)
		case tar.TypeSymlink:
			err = u.link(root, top, name, h.Linkname)
		default:
			return refused("holds what is neither a file, a directory nor a link: %.120q", h.Name)
		}
	}
	switch {
	case errors.Is(err, os.ErrExist) || errors.Is(err, syscall.ENOTDIR):
		return refused("holds two things under one name: %.120q", h.Name)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return refused("has a name that is too long for this machine: %.120q", h.Name)
	case err != nil && fault.KindOf(err) == fault.Internal:
		return fmt.Errorf("unpack the project: %w", err)
	}
	return err
}

// place splits the name of an entry into a top directory of the archive and a name below it, which is "." for the
// directory itself.
func (u *unpacker) place(h *tar.Header) (top, name string, err error) {
	full := h.Name
	if h.Typeflag == tar.TypeDir {
		full = strings.TrimSuffix(full, "/")
	}
	u.named += len(full)
	switch {
	case len(full) > u.name || len(h.Linkname) > u.name:
		return "", "", refused("has a name of more than %d bytes", u.name)
	case u.named > u.names:
		return "", "", refused("has more than %d bytes of names", u.names)
	case full == "" || path.IsAbs(full) || path.Clean(full) != full || strings.ContainsRune(full, 0):
		return "", "", refused("has a name that leads elsewhere: %.120q", h.Name)
	case strings.Count(full, "/") > u.depth:
		return "", "", refused("is deeper than %d directories", u.depth)
	}
	top, name, below := strings.Cut(full, "/")
	switch {
	case top != projectTop && top != rolesTop && top != collectionsTop:
		return "", "", refused("has a name outside of its folders: %.120q", h.Name)
	case !below && h.Typeflag != tar.TypeDir:
		return "", "", refused("has no folder %s", top)
	case !below:
		name = "."
	}
	for at := full; at != "."; at = path.Dir(at) {
		if u.links[at] {
			return "", "", refused("leads through a link: %.120q", h.Name)
		}
	}
	return top, name, nil
}

// root returns a top directory and creates it on first use.
func (u *unpacker) root(top string) (*os.Root, error) {
	if r := u.roots[top]; r != nil {
		return r, nil
	}
	dir := u.path(top)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a work tree: %w", err)
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a work tree: %w", err), os.Remove(dir))
	}
	u.roots[top] = r
	return r, nil
}

func (u *unpacker) path(top string) string {
	if top == projectTop {
		return u.dir
	}
	return u.dir + "." + top
}

// file writes a new file. It removes write permission for group and others.
func (u *unpacker) file(root *os.Root, name string, h *tar.Header, content io.Reader) error {
	for record := range h.PAXRecords {
		if strings.HasPrefix(record, "GNU.sparse.") {
			return refused("holds a file with holes: %.120q", h.Name)
		}
	}
	if h.Size > u.bytes-u.size {
		return refused("is larger than %d bytes", u.bytes)
	}
	u.size += h.Size
	mode := os.FileMode(h.Mode) & 0o644 //nolint:gosec // cut to nine bits and less
	if h.Mode&0o111 != 0 {
		mode = os.FileMode(h.Mode) & 0o755 //nolint:gosec // the same
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// link makes a link. checkLink checks its target when all entries exist.
func (u *unpacker) link(root *os.Root, top, name, target string) error {
	if target == "" || path.IsAbs(target) || strings.ContainsRune(target, 0) {
		return refused("holds a link that leads out of it: %.120q", name)
	}
	u.links[path.Join(top, name)] = true
	return root.Symlink(target, name)
}

// Bounds on following a link: nested links, as the kernel counts them, and steps.
const (
	maxHops  = 40
	maxSteps = 10_000
)

// checkLink follows a link as the kernel does, and refuses it if it ever leaves its top directory. A missing path
// component is checked by its name, since it may be created later.
func (u *unpacker) checkLink(full string) error {
	top, name, _ := strings.Cut(full, "/")
	root := u.roots[top]
	at, rest := path.Dir(name), []string{path.Base(name)}
	for hops, steps := 0, 0; len(rest) > 0; steps++ {
		part := rest[0]
		rest = rest[1:]
		switch {
		case steps > maxSteps:
			return refused("holds a link that leads too far: %.120q", full)
		case part == "" || part == ".":
			continue
		case part == ".." && at == ".":
			return refused("holds a link that leads out of it: %.120q", full)
		case part == "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		if !u.links[path.Join(top, next)] {
			at = next
			continue
		}
		target, err := root.Readlink(next)
		if err != nil {
			return fmt.Errorf("follow a link of the project: %w", err)
		}
		if hops++; hops > maxHops {
			return nil // the kernel follows it no further
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return nil
}

func (u *unpacker) deps() catalog.Deps {
	var out catalog.Deps
	if u.roots[rolesTop] != nil {
		out.Roles = u.path(rolesTop)
	}
	if u.roots[collectionsTop] != nil {
		out.Collections = u.path(collectionsTop)
	}
	return out
}

func (u *unpacker) close() (err error) {
	for _, r := range u.roots {
		err = errors.Join(err, r.Close())
	}
	return err
}

// remove deletes everything that was created.
func (u *unpacker) remove() (err error) {
	for top := range u.roots {
		err = errors.Join(err, os.RemoveAll(u.path(top)))
	}
	return err
}
