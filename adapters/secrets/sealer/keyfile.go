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
	// maxKeyFile bounds what is read as a file of keys.
	maxKeyFile = 64 << 10
	// candidate begins the name of a file that is to become the key's.
	candidate = ".new-" + KeyFile + "-"
)

// header tells who finds the file what it is.
const header = `# The encryption key of this install. Secrets in the database open with it alone: keep a copy where the database is not.
# One key in base64 on a line, the current one first; the others only open what they sealed.
`

// KeySource says where the key-encryption keys rest: Text where it is not empty, else the file File where that is
// named, else KeyFile in Dir, which is made where there is none.
type KeySource struct {
	Dir  string
	File string
	Text secret.Text
	// Existing says that the install holds sealed secrets already. A key that is not in Dir is lost then, and no other
	// one takes its place.
	Existing bool
}

// Open returns the sealer of an install. A key in Dir is made at the first start, once for however many processes
// start at the same time; where one is missing although secrets exist, the sealer answers everything with
// secrets.KeyLost. Errors name the file at fault and nothing of what is in it: one that others may read, that is no
// regular file, or that holds no keys.
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

// readKeys reads a file of keys that nobody but its owner may read. It is os.ErrNotExist where there is none.
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
		return nil, fmt.Errorf("the encryption key file %s is no regular file", path)
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

// parseKeys reads keys, one in base64 on a line. Its errors go on from what the keys are in, and say nothing of them.
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

// createKey makes a key and returns those that the file holds then: another process may have been first. It returns
// when the file would survive a loss of power, whoever made it.
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
	// Nobody but the owner may read what os.CreateTemp makes.
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

// discard removes what a process left that ended while it made the key. The key's file is there by now, so that
// whoever still makes one finds that it came second.
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
