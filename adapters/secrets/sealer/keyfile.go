package sealer

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/writ-automation/writ/ports/secret"
)

const (
	// KeyFile is the name of the key's file in the data directory.
	KeyFile = "encryption.key"
	// maxKeyFile bounds the size of a file of keys.
	maxKeyFile = 64 << 10
	// candidate begins the name of a file that is to become the key's.
	candidate = ".new-" + KeyFile + "-"
)

// header explains the file to a reader.
const header = `# The encryption key of this install. Secrets in the database open with it alone: keep a copy where the database is not.
# One key in base64 on a line, the current one first; the others only open what they sealed.
`

// KeySource names the place of the key-encryption keys: Text if it is not empty, else the file File if it is set, else
// KeyFile in Dir, which Open creates if it does not exist.
type KeySource struct {
	Dir  string
	File string
	Text secret.Text
	// Existing reports that the install has sealed secrets already. If the key is not in Dir, it is lost then, and no
	// new one is created.
	Existing bool
}

// Open returns the sealer of an install. At the first start it creates a key in Dir, once for all processes that start
// at the same time. If the key is missing although secrets exist, every call of the sealer returns secrets.KeyLost.
// Errors name a file that others may read, that is not a regular file, or that holds no keys, and nothing of its
// content.
func Open(from KeySource) (*Sealer, error) {
	keys, err := from.load()
	if err != nil {
		return nil, err
	}
	var file *watched
	if path := from.path(); path != "" {
		// A file that is replaced between the two is noticed at the first use.
		file = &watched{path: path}
	}
	return newSealer(keys, file)
}

// Check reads the keys and creates nothing. A missing key of Dir is no error. The other errors are those of Open.
func (k KeySource) Check() error {
	if k.Text == "" && k.File == "" {
		_, err := readKeys(filepath.Join(k.Dir, KeyFile))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	_, err := k.load()
	return err
}

func (k KeySource) load() ([][]byte, error) {
	switch {
	case k.Text != "":
		keys, err := parseKeys([]byte(k.Text.Reveal()))
		if err != nil {
			return nil, fmt.Errorf("the encryption key from the environment %w", err)
		}
		return keys, nil
	case k.File != "":
		keys, err := readKeys(k.File)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("the encryption key file %s does not exist", k.File)
		}
		return keys, err
	case k.Dir == "":
		return nil, errors.New("the encryption key rests nowhere: neither a directory nor a file nor a text is given")
	}
	path := filepath.Join(k.Dir, KeyFile)
	keys, err := readKeys(path)
	if errors.Is(err, os.ErrNotExist) {
		if k.Existing {
			return nil, nil
		}
		keys, err = createKey(k.Dir, path)
	}
	if err != nil {
		return nil, err
	}
	return keys, discard(k.Dir)
}

// readKeys reads a file of keys that only its owner may read. The error is os.ErrNotExist if there is no such file.
func readKeys(path string) ([][]byte, error) {
	// What is no regular file is refused below; the flag keeps a pipe from holding the start up before that.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read the encryption key: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the encryption key: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("the encryption key file %s is not a regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("others than its owner may use the encryption key file %s (chmod 600)", path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the encryption key: %w", err)
	}
	defer clear(raw)
	if len(raw) > maxKeyFile {
		return nil, fmt.Errorf("the encryption key file %s is too large", path)
	}
	keys, err := parseKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("the encryption key file %s %w", path, err)
	}
	return keys, nil
}

// parseKeys reads keys, one per line in base64. Its errors continue a sentence that names the source, and contain
// nothing of the keys.
func parseKeys(text []byte) ([][]byte, error) {
	var keys [][]byte
	seen := make(map[keyID]bool)
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, err := base64.StdEncoding.Strict().AppendDecode(nil, line)
		if err != nil || len(key) != keySize {
			return nil, fmt.Errorf("holds no key of %d bytes in base64 on line %d", keySize, n)
		}
		id := idOf(key)
		if seen[id] {
			return nil, fmt.Errorf("holds the same key twice, again on line %d", n)
		}
		seen[id] = true
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("holds no key")
	}
	return keys, nil
}

// createKey creates a key file and returns its keys, which may be those of another process that was first. It returns
// only when the file is durable.
func createKey(dir, path string) ([][]byte, error) {
	failed := place(dir, path)
	keys, err := readKeys(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && failed != nil:
		return nil, fmt.Errorf("make the encryption key %s: %w", path, failed)
	case err != nil:
		return nil, err
	}
	return keys, syncDir(dir)
}

// place puts a new key into its file, whole or not at all, and never over another one.
func place(dir, path string) error {
	key := make([]byte, keySize)
	defer clear(key)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	// os.CreateTemp creates a file that only the owner may read.
	tmp, err := os.CreateTemp(dir, candidate+"*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(header + base64.StdEncoding.EncodeToString(key) + "\n")
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("write the data directory: %w", err)
	}
	return nil
}

// discard removes the temporary files of processes that ended while they created the key. The key file exists by now,
// so a process that still creates one finds that it is second.
func discard(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("tidy the data directory: %w", err)
	}
	found := false
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), candidate) {
			continue
		}
		found = true
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("tidy the data directory: %w", err)
		}
	}
	if found {
		// That process may have ended before the key's own file was sure to stay.
		return syncDir(dir)
	}
	return nil
}
