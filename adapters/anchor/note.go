package anchor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxHead bounds a file with a head: every signed note is smaller.
const maxHead = 64 << 10

// readNote reads a file with a head.
func readNote(path string) (note string, err error) {
	// Opening a special file could block forever, so its type is checked first.
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

// regular refuses files that a rename would replace unexpectedly, such as symbolic links.
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

// replaceNote writes a file with a head atomically, and returns when it is durable.
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
