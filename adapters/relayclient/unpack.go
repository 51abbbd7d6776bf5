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

// bounds are what an archive may hold.
type bounds struct {
	entries int
	bytes   int64
	name    int // bytes of a name
	names   int // bytes of all names
	depth   int // directories around a file
}

func defaultBounds() bounds {
	return bounds{entries: 600_000, bytes: 4 << 30, name: 4096, names: 64 << 20, depth: 128}
}

const (
	trailer   = 1024    // zeros at the end of an archive
	maxExcess = 1 << 20 // behind that
)

// The folders of an archive.
const (
	projectTop     = "project"
	rolesTop       = "roles"
	collectionsTop = "collections"
)

// unpacker writes an archive below directories that it has made.
type unpacker struct {
	bounds
	dir   string
	roots map[string]*os.Root // by folder of the archive
	links map[string]bool     // by name in the archive
	// What of the archive was counted.
	count, named int
	size         int64
}

// unpack makes dir of what an archive has below project/, and directories beside it of what it has below roles/ and
// collections/. Nothing is written elsewhere, through a link, or left after an error. Unavailable says that the
// archive broke off, SyncFailed what it may not hold.
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

// feed counts what is read, and the zeros at its end, and remembers why there is no more.
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

// all unpacks every entry. An archive ends with zeros: without them something is missing, however well the last entry
// ended.
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
		if _, err := io.Copy(io.Discard, in); err != nil { // so that what is read next is the next header
			return brokeOff(err)
		}
	}
}

// finish reads to the end, where a connection that was cut shows.
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

// refused makes the fault of an archive that holds what it may not.
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

// place splits the name of an entry into a folder of the archive and a name below it, which is "." for the folder
// itself.
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

// root returns the directory of a folder, made where this is the first that is heard of it.
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

// file writes a file that is not there. Of its mode it keeps what others may not change.
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

// link makes a link. Where it leads is judged when everything is there.
func (u *unpacker) link(root *os.Root, top, name, target string) error {
	if target == "" || path.IsAbs(target) || strings.ContainsRune(target, 0) {
		return refused("holds a link that leads out of it: %.120q", name)
	}
	u.links[path.Join(top, name)] = true
	return root.Symlink(target, name)
}

// The most that a link is followed: links that lead to links, as the system counts them, and steps.
const (
	maxHops  = 40
	maxSteps = 10_000
)

// checkLink follows a link the way that the system does, and refuses it where it ever steps out of its folder. What
// is not there is taken by its name: it may come to be there.
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
			return nil // nobody follows it any further
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

// remove drops everything that was made.
func (u *unpacker) remove() (err error) {
	for top := range u.roots {
		err = errors.Join(err, os.RemoveAll(u.path(top)))
	}
	return err
}
