package boundary

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/writ-automation/writ/platform/boundary/internal/child"
)

// defaultShared is the default size of /dev/shm.
const defaultShared = 1 << 30

// maskOptions make an empty directory that everybody may pass, with room for the names of what is shown in it.
const maskOptions = "mode=0755,size=256k,nr_inodes=4096"

// view is what a run sees, as mounts by the path inside.
type view struct {
	mounts []child.Mount
	masks  []string // empty file systems, which become read-only
	taken  []string // paths whose content is not the machine's
	locked bool     // everything but what is mounted to be written is read-only
}

// mounts returns the mounts of a command.
func (b *Boundary) mounts(c Command) ([]child.Mount, error) {
	v := &view{locked: c.Profile.ReadOnly}
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && c.Home != "" {
			v.mounts = append(v.mounts, child.Mount{Kind: child.Bind, From: filepath.Join(c.Home, "tmp"), To: real(dir)})
			v.taken = append(v.taken, dir)
		}
	}
	if info, err := os.Lstat("/dev/shm"); err == nil && info.IsDir() {
		size := cmp.Or(c.Profile.SharedMemory, b.config.SharedMemory, defaultShared)
		v.mounts = append(v.mounts, child.Mount{Kind: child.Memory, From: "mode=1777,size=" + strconv.FormatInt(size, 10),
			To: "/dev/shm"})
		v.taken = append(v.taken, "/dev/shm")
	}
	for _, path := range b.hiddenFrom(c) {
		v.hide(path)
	}
	for _, p := range b.shown(c) {
		v.show(p, c.Account)
	}
	// Parents come before what lies in them. The sort is stable: a directory is hidden before something is shown at it.
	slices.SortStableFunc(v.mounts, func(x, y child.Mount) int { return cmp.Compare(x.To, y.To) })
	out := []child.Mount{{Kind: child.Private}}
	if v.locked {
		out = append(out, child.Mount{Kind: child.Lock, To: "/"})
	}
	out = append(out, v.mounts...)
	for _, m := range v.masks {
		out = append(out, child.Mount{Kind: child.Seal, To: m})
	}
	out = append(out, child.Mount{Kind: child.Lock, To: "/sys/fs/cgroup"})
	if c.Account.Own() && c.Home != "" {
		names, err := entries(c)
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
	}
	return append(out, child.Mount{Kind: child.Proc, To: "/proc"}), nil
}

// shown lists what a command sees, each once, those that hold others first.
func (b *Boundary) shown(c Command) []Path {
	list := slices.Concat(b.config.Show, c.Profile.Show, c.Show)
	if c.Home != "" {
		list = append(list, Path{Name: c.Home, Write: true})
	}
	slices.SortStableFunc(list, func(x, y Path) int { return cmp.Compare(x.at(), y.at()) })
	return slices.CompactFunc(list, func(x, y Path) bool { return x.at() == y.at() })
}

func (v *view) covered(path string) bool {
	return slices.ContainsFunc(v.taken, func(t string) bool { return below(t, path) })
}

// hide covers a directory by an empty one, and a file by the empty device.
func (v *view) hide(path string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	if !info.IsDir() {
		v.mounts = append(v.mounts, child.Mount{Kind: child.Cover, From: os.DevNull, To: path})
		v.taken = append(v.taken, path)
		return
	}
	v.mounts = append(v.mounts, child.Mount{Kind: child.Memory, From: maskOptions, To: path})
	v.masks, v.taken = append(v.masks, path), append(v.taken, path)
}

// show makes a path visible where it would not be: in what is covered, elsewhere, and in a directory that the account
// may not pass, which is covered then. Everything else is as the permissions of files say.
func (v *view) show(p Path, account *Account) {
	if _, err := os.Stat(p.Name); err != nil {
		return
	}
	name, at := real(p.Name), p.at()
	if top := v.origin(name); at == p.Name && account.Own() && top != "" {
		if dir := closedParent(top, name, account); dir != "" {
			v.hide(dir)
		}
	}
	if at == p.Name {
		at = name
	}
	if at == name && !v.covered(name) && !(v.locked && p.Write) {
		return
	}
	kind := child.Look
	if p.Write {
		kind = child.Bind
	}
	v.mounts = append(v.mounts, child.Mount{Kind: kind, From: name, To: at})
}

// origin returns the uppermost directory above a path whose content there is the machine's: "/", or one that is shown
// in what is covered. It is empty if the path lies in something else.
func (v *view) origin(path string) string {
	top, at := "/", ""
	for _, m := range v.mounts {
		if !below(m.To, path) || len(m.To) < len(at) {
			continue
		}
		if top, at = "", m.To; m.From == m.To {
			top = m.To
		}
	}
	return top
}

// closedParent returns the uppermost directory between top and a path that the account may not pass, empty for none.
func closedParent(top, path string, a *Account) string {
	closed := ""
	for dir := filepath.Dir(path); dir != top && below(top, dir); dir = filepath.Dir(dir) {
		if !passable(dir, a) {
			closed = dir
		}
	}
	return closed
}

// passable reports whether an account may look up names in a directory.
func passable(dir string, a *Account) bool { return permits(dir, a, 1) }

// permits reports whether the permissions of a file give an account all of some rights, in the bits of others.
func permits(path string, a *Account, bits uint32) bool {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return false
	}
	switch {
	case int(st.Uid) == a.UID:
		bits <<= 6
	case int(st.Gid) == a.GID:
		bits <<= 3
	}
	return st.Mode&bits == bits
}

// entries gives the account a name if it has none: ssh and others refuse to work without.
func entries(c Command) ([]child.Mount, error) {
	var out []child.Mount
	id := strconv.Itoa(c.Account.UID)
	for path, entry := range map[string]string{
		"/etc/passwd": "writ-run:x:" + id + ":" + id + ":a run:" + filepath.Join(c.Home, "work") + ":/bin/sh",
		"/etc/group":  "writ-run:x:" + id + ":",
	} {
		text, err := withEntry(path, id, entry)
		if os.IsNotExist(err) || err == nil && text == nil {
			continue
		}
		file := filepath.Join(filepath.Dir(c.Home), filepath.Base(path))
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err == nil {
			err = os.Chmod(file, 0o644) //nolint:gosec // everybody reads the original
		}
		if err != nil {
			return nil, fmt.Errorf("name the account of a run: %w", err)
		}
		out = append(out, child.Mount{Kind: child.Look, From: file, To: real(path)})
	}
	slices.SortFunc(out, func(x, y child.Mount) int { return cmp.Compare(x.To, y.To) })
	return out, nil
}
