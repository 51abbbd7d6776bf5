package sealer

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// maxKeys bounds the keys in a file.
const maxKeys = 100

// AddKey appends a new key to the file of keys and returns its id. The key can open texts, and seals none yet, so that
// the files of several servers can be made equal first. Processes that use the file reload it.
func AddKey(from KeySource) (string, error) {
	var id string
	return id, from.change(func(keys [][]byte) ([][]byte, error) {
		key, err := newKey()
		if err != nil {
			return nil, err
		}
		id = idOf(key).String()
		return append(keys, key), nil
	})
}

// Promote moves the key with an id to the front of the file, so that it seals; with an empty id it creates one. The
// other keys stay and open what they sealed. It returns the id. Processes that use the file reload it.
func Promote(from KeySource, id string) (string, error) {
	err := from.change(func(keys [][]byte) ([][]byte, error) {
		if id == "" {
			key, err := newKey()
			if err != nil {
				return nil, err
			}
			id = idOf(key).String()
			return append([][]byte{key}, keys...), nil
		}
		at := slices.IndexFunc(keys, func(key []byte) bool { return idOf(key).String() == id })
		if at < 0 {
			return nil, fmt.Errorf("the file holds no key with the id %s", id)
		}
		return append([][]byte{keys[at]}, slices.Delete(slices.Clone(keys), at, at+1)...), nil
	})
	return id, err
}

func newKey() ([]byte, error) {
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

// change replaces the file of keys atomically and under a lock.
func (k KeySource) change(edit func(keys [][]byte) ([][]byte, error)) error {
	path := k.path()
	if path == "" {
		return errors.New("the encryption key comes from the environment, where no command can change it: put the new key " +
			"before the old ones there, start the servers with it, and wrap everything under it")
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("find the encryption key: %w", err)
	}
	release, err := lock(path)
	if err != nil {
		return err
	}
	defer release()
	keys, err := readKeys(path)
	if err != nil {
		return err
	}
	if keys, err = edit(keys); err != nil {
		return fmt.Errorf("change the encryption key file %s: %w", path, err)
	}
	if len(keys) > maxKeys {
		return fmt.Errorf(
			"the encryption key file %s would hold more than %d keys: take out those that seal nothing any more", path, maxKeys)
	}
	return replace(path, keys)
}

// lock excludes other commands from a file of keys. After it has waited it checks that the locked file still has the
// name, and otherwise tries again.
func lock(path string) (release func(), err error) {
	for range 100 {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("lock the encryption key: %w", err)
		}
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			return nil, errors.Join(fmt.Errorf("lock the encryption key: %w", err), f.Close())
		}
		mine, err := f.Stat()
		named, nerr := os.Stat(path)
		if err == nil && nerr == nil && os.SameFile(mine, named) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close()
	}
	return nil, fmt.Errorf("the encryption key file %s keeps being replaced", path)
}

// replace writes a new file of keys and renames it over the old one.
func replace(path string, keys [][]byte) error {
	var text bytes.Buffer
	defer func() { clear(text.Bytes()) }()
	text.WriteString(header)
	for _, key := range keys {
		text.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), candidate+"*")
	if err != nil {
		return fmt.Errorf("write the encryption key: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(text.Bytes())
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("write the encryption key: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write the encryption key: %w", err)
	}
	return syncDir(filepath.Dir(path))
}
