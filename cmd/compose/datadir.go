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
	portids "github.com/writ-automation/writ/ports/ids"
)

// dataDir is a server's own directory, locked against a second server while it is open.
type dataDir struct {
	root string
	lock *os.File
	// scratch is a directory elsewhere that was made for it; empty if there is none.
	scratch string
}

const (
	lockFile    = "lock"
	workerFile  = "worker.id"
	projectsDir = "projects" // the mirrors of projects
	sourcesDir  = "tmp"      // what sources are executed in
)

// lockWait is how long a start waits for the lock, looking every lockLook: if a server was killed while it started a
// program, that holds the lock until it has begun.
const (
	lockWait = 2 * time.Second
	lockLook = 20 * time.Millisecond
)

// openDataDir creates the directory if it is missing, with access for this user only, and locks it.
func openDataDir(root string) (*dataDir, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("data-dir: %w", err)
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("data-dir: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(root, 0o700); err != nil { //nolint:gosec // a directory needs its search bit
			return nil, fmt.Errorf("data-dir: others may read %s: %w", root, err)
		}
	}
	f, err := os.OpenFile(filepath.Join(root, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data-dir: %w", err)
	}
	if err := lockSoon(f); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data-dir: another writ process uses %s; stop it or name another directory", root)
		}
		return nil, fmt.Errorf("data-dir: lock %s: %w", root, err)
	}
	return &dataDir{root: root, lock: f}, nil
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
		case slices.Contains([]string{projectsDir, sourcesDir}, e.Name()):
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
// the next process finds the runs that this one held. A name makes it readable; it stays unique.
func (d *dataDir) worker(name string) (string, error) {
	raw, err := os.ReadFile(d.path(workerFile))
	id := strings.TrimSpace(string(raw))
	switch {
	case errors.Is(err, os.ErrNotExist):
		id = ids.New(clock.New()).New(portids.Worker)
		err = writeDurably(d.path(workerFile), id+"\n")
	case err == nil && !portids.Valid(portids.Worker, id):
		err = errors.New("it contains no worker id")
	}
	if err != nil {
		return "", fmt.Errorf("data-dir: %s: %w", workerFile, err)
	}
	if name != "" {
		return name + "-" + id[len(id)-8:], nil
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
