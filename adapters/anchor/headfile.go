package anchor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// maxHead bounds a head file: no signed note is larger.
const maxHead = 64 << 10

type headFile struct {
	path string
	mu   sync.Mutex
}

var _ audit.HeadFile = (*headFile)(nil)

// NewHeadFile returns the head file at a path, whose folder has to exist. The file is read and written by its owner alone.
// It may be used by several goroutines; of several processes that save at once the last one wins.
//
// Load fails with an Unavailable fault for what cannot be read, is no regular file or has more than 64 KiB. Save fails with
// audit.AnchorFailed, and then the file holds what it held before, or the new note where only the folder could not be made
// durable.
func NewHeadFile(path string) audit.HeadFile { return &headFile{path: path} }

// Load implements audit.HeadFile.
func (h *headFile) Load() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	note, err := h.read()
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "the head file cannot be read")
	}
	return note, nil
}

func (h *headFile) read() (note string, err error) {
	// Opening something else than a file could wait for ever, so it is looked at first.
	if err := h.regular(); err != nil {
		return "", err
	}
	f, err := os.Open(h.path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, maxHead+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxHead {
		return "", fmt.Errorf("it has more than %d bytes", maxHead)
	}
	return string(b), nil
}

// regular refuses what a rename would replace without its owner expecting it, a symbolic link among others.
func (h *headFile) regular() error {
	info, err := os.Lstat(h.path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	return nil
}

// Save implements audit.HeadFile.
func (h *headFile) Save(note string) error {
	if note == "" || len(note) > maxHead {
		return audit.AnchorFailed.New("a head file holds 1 to %d bytes", maxHead)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.replace(note); err != nil {
		return audit.AnchorFailed.New("the head file cannot be written").Because(err)
	}
	return nil
}

func (h *headFile) replace(note string) error {
	if err := h.regular(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(h.path)
	f, err := os.CreateTemp(dir, ".head-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(note)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), h.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
