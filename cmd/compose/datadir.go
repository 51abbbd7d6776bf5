package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/execution"
	portids "github.com/writ-automation/writ/ports/ids"
)

// dataDir is a server's own directory, locked against a second server while it is open.
type dataDir struct {
	root string
	lock *os.File
	// scratch is a directory elsewhere that was made for it; empty if there is none.
	scratch string
	// made lists what this process made for it: directories around it, then what is in it. A start that fails removes it.
	made []string
	// ends end what this process started in it. A start that fails calls them before it removes anything.
	ends []func()
}

const (
	lockFile    = "lock"
	workerFile  = "worker.id"
	projectsDir = "projects" // the mirrors of projects
	sourcesDir  = "tmp"      // what sources are executed in
	localRuns   = "runs"     // the directories of runs, unless they are elsewhere
)

// lockWait is how long a start waits for the lock, looking every lockLook: if a server was killed while it started a
// program, that holds the lock until it has begun.
const (
	lockWait = 2 * time.Second
	lockLook = 20 * time.Millisecond
)

// openDataDir creates the directory if it is missing, with access for this user only, and locks it.
func openDataDir(root string) (*dataDir, error) {
	d := &dataDir{root: root, made: missing(root)}
	err := os.MkdirAll(root, 0o700)
	if err == nil {
		err = d.shut()
	}
	if err == nil {
		d.note(lockFile)
		d.lock, err = os.OpenFile(d.path(lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err != nil {
		d.undo()
		return nil, fmt.Errorf("data-dir: %w; name a directory that this user can write", err)
	}
	err = lockSoon(d.lock)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = inUse(root)
	case err != nil:
		err = fmt.Errorf("data-dir: lock %s: %w", root, err)
	case !d.holds():
		err = fmt.Errorf("data-dir: another writ process removed %s; start again", root)
	default:
		for _, name := range []string{ansibleState, projectsDir, sourcesDir, localRuns} {
			d.note(name)
		}
		return d, nil
	}
	return nil, errors.Join(err, d.lock.Close())
}

// inUse is the error of a directory that another process uses. Its text is the path.
type inUse string

func (e inUse) Error() string {
	return fmt.Sprintf("data-dir: another writ process uses %s; stop it or name another directory", string(e))
}

// InUse reports whether a process was not assembled because another one uses its data directory.
func InUse(err error) bool { return errors.As(err, new(inUse)) }

// shut closes the directory to other users.
func (d *dataDir) shut() error {
	info, err := os.Stat(d.root)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(d.root, 0o700) //nolint:gosec // a directory needs its search bit
}

// holds reports whether the locked file is still the one in the directory: a start that failed may have removed it.
func (d *dataDir) holds() bool {
	held, err := d.lock.Stat()
	there, errThere := os.Stat(d.path(lockFile))
	return err == nil && errThere == nil && os.SameFile(held, there)
}

// missing lists a path and those of its parents that do not exist, the outermost first.
func missing(path string) []string {
	var list []string
	for ; !present(path); path = filepath.Dir(path) {
		list = append([]string{path}, list...)
	}
	return list
}

func present(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// note lists a file, or a directory, that this process is about to make.
func (d *dataDir) note(name string) {
	if !present(d.path(name)) {
		d.made = append(d.made, d.path(name))
	}
}

// keep ends the time in which a start that fails removes what it made.
func (d *dataDir) keep() { d.made = nil }

// undo removes what this process made, while it holds the lock: a start that fails leaves nothing behind.
func (d *dataDir) undo() {
	for _, end := range d.ends {
		end()
	}
	if slices.Contains(d.made, d.root) {
		_ = os.RemoveAll(d.root)
	}
	for _, path := range slices.Backward(d.made) {
		if filepath.Dir(path) == d.root {
			_ = os.RemoveAll(path)
			continue
		}
		_ = os.Remove(path)
	}
	d.tidy()
}

// lockSoon locks a file that nobody else holds for long.
func lockSoon(f *os.File) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // descriptors are small
		if !errors.Is(err, syscall.EWOULDBLOCK) || !background.Wait(ctx, lockLook) {
			return err
		}
	}
}

// letPass lets every account pass the directory to what is its own, and closes everything in it that is not passed:
// where nothing is mounted, programs reach their files only by way of the directory.
func (d *dataDir) letPass() error {
	entries, err := os.ReadDir(d.root)
	if err != nil {
		return fmt.Errorf("data-dir: %w", err)
	}
	for _, e := range entries {
		mode := os.FileMode(0o600)
		switch {
		case slices.Contains([]string{projectsDir, sourcesDir, pluginsDir}, e.Name()):
			mode = 0o711
		case e.IsDir():
			mode = 0o700
		case !e.Type().IsRegular():
			continue
		}
		err = errors.Join(err, os.Chmod(d.path(e.Name()), mode)) //nolint:gosec // passed and not read
	}
	return errors.Join(err, os.Chmod(d.root, 0o711)) //nolint:gosec // passed and not read
}

// close unlocks the directory. The lock also ends with the process.
func (d *dataDir) close() error { return d.lock.Close() }

// tidy removes the directory outside, unless something is left in it.
func (d *dataDir) tidy() {
	if d.scratch != "" {
		_ = os.RemoveAll(filepath.Join(d.scratch, ansibleState))
		_ = os.Remove(d.scratch)
	}
}

func (d *dataDir) path(name string) string { return filepath.Join(d.root, name) }

// worker returns the identity under which this server executes runs. It is made once and stored, so that after a crash
// the next process finds the runs that this one held. A name makes it readable; with the
// end of the id it stays unique.
func (d *dataDir) worker(name string) (string, error) {
	raw, err := os.ReadFile(d.path(workerFile))
	id := strings.TrimSpace(string(raw))
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.note(workerFile)
		id = ids.New(clock.New()).New(portids.Worker)
		err = writeDurably(d.path(workerFile), id+"\n")
	case err == nil && !portids.Valid(portids.Worker, id):
		err = errors.New("it contains no worker id")
	}
	if err != nil {
		return "", fmt.Errorf("data-dir: %s: %w", workerFile, err)
	}
	if name != "" {
		return name + execution.NameMark + id[len(id)-8:], nil
	}
	return id, nil
}

// writeDurably writes a file whole or not at all, and returns when it would survive a loss of power.
func writeDurably(path, text string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
