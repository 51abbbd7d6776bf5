package boundary

import (
	"fmt"
	"os"
	"path/filepath"
)

// Sees returns an error if a command could not read a path that exists, with the path that is in the way and what to do
// about it.
func (b *Boundary) Sees(path string, c Command) error {
	if c.Account == nil && b.pool != nil {
		c.Account = &Account{UID: b.pool.ids.First, GID: b.pool.ids.First}
	}
	path = real(path)
	if _, err := os.Lstat(path); err != nil || b.status.Level == None {
		return nil
	}
	if c.Profile.Image != "" {
		return b.reaches(path, c)
	}
	shownAt := ""
	for _, p := range b.shown(c) {
		if name := real(p.Name); below(name, path) && len(name) > len(shownAt) {
			shownAt = name
		}
	}
	covered := b.hiddenFrom(c)
	if b.status.Level == Namespaces && c.Home != "" {
		covered = append(covered, "/tmp", "/var/tmp", "/dev/shm")
	}
	if b.status.Level != Users {
		for _, dir := range covered {
			if below(dir, path) && len(dir) > len(shownAt) {
				return fmt.Errorf("runs do not see %s, which is in %s; show it to them with --isolation-show %s", path, dir,
					filepath.Dir(path))
			}
		}
	}
	if c.Account.Own() {
		return b.permitted(path, shownAt, c)
	}
	return nil
}

// permitted returns an error if the permissions keep the account of a run from reading a path. The directories above
// what is shown do not matter where it is mounted.
func (b *Boundary) permitted(path, shownAt string, c Command) error {
	if below(c.Home, path) && c.Home != "" {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		mounted := b.status.Level == Namespaces && shownAt != "" && len(dir) < len(shownAt)
		if !mounted && !passable(dir, c.Account) {
			return b.closed(path, dir, "x")
		}
		if dir == "/" {
			break
		}
	}
	bits, needs := uint32(4), "r"
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		bits, needs = 5, "rx"
	}
	if !permits(path, c.Account, bits) {
		return b.closed(path, path, needs)
	}
	return nil
}

func (b *Boundary) closed(path, at, bits string) error {
	if b.status.Level == Namespaces && at != path {
		return fmt.Errorf("runs cannot read %s: %s is closed to other users; show it to them with --isolation-show %s, "+
			"or chmod o+%s %s", path, at, filepath.Dir(path), bits, at)
	}
	return fmt.Errorf("runs cannot read %s: %s is closed to other users; chmod o+%s %s", path, at, bits, at)
}
