package anchor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxHead bounds a file with a head: no signed note is larger.
const maxHead = 64 << 10

// readNote reads a file with a head.
func readNote(path string) (note string, err error) {
	// Opening something else than a file could wait for ever, so it is looked at first.
	if err := regular(path); err != nil {
		return "", err
	}
	f, err := os.Open(path)
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
func regular(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	return nil
}

// replaceNote writes a file with a head, whole or not at all, and returns when it would survive a loss of power.
func replaceNote(path, note string) error {
	if err := regular(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".head-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(note)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
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
