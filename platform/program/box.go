package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
)

// Box is where programs run: inside a boundary, with an account that is taken for them if the process is root. Its
// methods work on nil, for programs that run as this process's own account without a boundary.
type Box struct {
	boundary *boundary.Boundary
	account  *boundary.Account
	parent   string
}

// Enter takes an account for programs of one purpose. Each program gets a home of its own below the directory parent
// while it runs. It returns nil where nothing is kept apart.
func Enter(b *boundary.Boundary, purpose, parent string) (*Box, error) {
	if b == nil || b.Status().Level == boundary.None {
		return nil, nil
	}
	a, err := b.Lease(purpose)
	if err != nil {
		return nil, fmt.Errorf("isolation: %w", err)
	}
	return &Box{b, a, parent}, nil
}

// Close gives the account back. No program of the box runs any more.
func (b *Box) Close() error {
	if b == nil {
		return nil
	}
	return b.account.Close()
}

// Own reports whether the programs have another account than this process.
func (b *Box) Own() bool { return b != nil && b.account.Own() }

// Give makes the account of the box the owner of a path and everything below, and Take makes this process the owner
// again. No program of the box runs meanwhile. Links are not followed.
func (b *Box) Give(path string) error {
	if !b.Own() {
		return nil
	}
	return own(path, b.account.UID, b.account.GID)
}

// Take is described at Give.
func (b *Box) Take(path string) error {
	if !b.Own() {
		return nil
	}
	return own(path, os.Geteuid(), os.Getegid())
}

// Owns reports whether the account of the box owns a path already.
func (b *Box) Owns(path string) bool {
	var st syscall.Stat_t
	return !b.Own() || syscall.Lstat(path, &st) == nil && int(st.Uid) == b.account.UID
}

func own(root string, uid, gid int) error {
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
	if err != nil {
		return fmt.Errorf("change the owner of %s: %w", filepath.Base(root), err)
	}
	return nil
}

// Sees returns an error with the remedy if a program of the box that is shown some paths cannot read a path.
func (b *Box) Sees(path string, show ...boundary.Path) error {
	if b == nil {
		return nil
	}
	return b.boundary.Sees(path, boundary.Command{Account: b.account, Home: filepath.Join(b.parent, "box"), Show: show})
}

// inside is a command that is ready to start inside.
type inside struct {
	*boundary.Start
	box  *Box
	home string
	late *time.Timer // the end of the grace of a cancelled program

	group    *cgroup.Group
	giveBack func() (exhausted bool)
}

// prepare makes the home of a command and plans its boundary. It returns nil without a box.
func (b *Box) prepare(c *Command) (_ *inside, err error) {
	if b == nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp(b.parent, "box-")
	if err != nil {
		return nil, fmt.Errorf("make the home of a program: %w", err)
	}
	in := &inside{box: b, home: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, Remove(dir))
		}
	}()
	files := filepath.Join(dir, "files")
	//nolint:gosec // the account passes them
	err = errors.Join(os.Chmod(dir, 0o711), os.Mkdir(files, 0o700), os.Chmod(files, 0o711))
	for _, name := range []string{"tmp", "work"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(files, name), 0o700), b.Give(filepath.Join(files, name)))
	}
	if err != nil {
		return nil, fmt.Errorf("make the home of a program: %w", err)
	}
	in.Start, err = b.boundary.Prepare(boundary.Command{
		Path: c.Path, Args: c.Args, Env: lastOnes(c.Env), Dir: c.Dir, Files: make([]*os.File, 3),
		Account: b.account, Home: files,
		Show: slices.DeleteFunc(slices.Clone(c.Show), func(p boundary.Path) bool { return p.Name == "" }),
	})
	if err != nil {
		return nil, err
	}
	if in.group, in.giveBack, err = b.boundary.Group(); err != nil {
		in.Start.Close()
		return nil, err
	}
	return in, nil
}

// start starts the boundary as a program, in its control group.
func (in *inside) start(cmd *exec.Cmd) error {
	if in == nil {
		return cmd.Start()
	}
	defer in.Started()
	return in.group.Start(cmd.SysProcAttr, cmd.Start)
}

// MemoryError says that the kernel ended a program for its limit of memory.
type MemoryError struct{ Limit int64 } // in bytes

func (e *MemoryError) Error() string {
	return fmt.Sprintf("memory limit reached: it used more than %d MiB, and the kernel ended it", e.Limit>>20)
}

// lastOnes returns an environment with each name once: of several values the last one counts.
func lastOnes(env []string) []string {
	out := make([]string, 0, len(env))
	at := make(map[string]int, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if i, ok := at[name]; ok {
			out[i] = kv
			continue
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}

// close removes what the start needed and returns why the program did not start or was ended by the kernel, nil if
// neither happened.
func (in *inside) close() error {
	if in == nil {
		return nil
	}
	if in.late != nil {
		in.late.Stop()
	}
	in.Started()
	failed := in.Failure()
	if in.giveBack() {
		failed = &MemoryError{in.group.Limits().Memory}
	}
	in.Close()
	return errors.Join(failed, Remove(in.home))
}

// contained reports whether everything inside ends with the boundary's own process.
func (in *inside) contained() bool { return in.box.boundary.Status().Level == boundary.Namespaces }

// Remove removes a directory in which a program of another one's has run. The program may have removed the permissions
// of its own directories.
func Remove(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory
		}
		return nil
	})
	return os.RemoveAll(dir)
}
