package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Owner is the account that executes a run. The zero value is the executor's own.
type Owner struct{ UID, GID int }

// makeOpen makes a directory of the executor for what an owner reads, with a mode if there is one.
func (d Dir) makeOpen(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, 0o700); err != nil || d.owner == (Owner{}) {
		return err
	}
	return os.Chmod(path, mode) // what is in it has permissions of its own
}

// makeOwn makes a directory of the run.
func (d Dir) makeOwn(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return d.give(path)
}

// give makes the owner of the run the owner of a file that was just made.
func (d Dir) give(path string) error {
	if d.owner == (Owner{}) {
		return nil
	}
	return os.Lchown(path, d.owner.UID, d.owner.GID)
}

// GiveProject makes the owner of the run the owner of its checkout, and of requirements beside it, before anything of
// the run executes.
func (d Dir) GiveProject() error {
	if d.owner == (Owner{}) {
		return nil
	}
	for _, suffix := range []string{"", ".roles", ".collections"} {
		root := d.Project() + suffix
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			switch {
			case err == nil:
				return d.give(path)
			case suffix != "" && path == root && errors.Is(err, fs.ErrNotExist):
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("hand the checkout to the run: %w", err)
		}
	}
	return nil
}
