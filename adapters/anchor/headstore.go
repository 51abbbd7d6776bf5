package anchor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

const (
	headSuffix = ".note"
	// nameLen is the number of hex digits of the origin's digest in a file name.
	nameLen = 32
	// maxEntries bounds the directory entries that are read: the directory is for heads only.
	maxEntries = 1024
)

type headStore struct {
	dir string
	mu  sync.Mutex
}

var _ audit.HeadStore = (*headStore)(nil)

// NewHeadStore returns the store in a directory. Save creates the directory, for its owner only; the parent has to
// exist. Each head is a file that is named after its origin. The store is safe for concurrent use by one process.
//
// Notes joins an Unavailable fault for each file that cannot be read, is not regular or is damaged, and returns the
// other heads. Save returns Invalid for a text that is not the note of a head or has more than 64 KiB, and Unavailable
// if it cannot write. It never overwrites a file that it cannot read, since that may hold the proof of a rollback.
func NewHeadStore(dir string) audit.HeadStore { return &headStore{dir: dir} }

func (s *headStore) Notes() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.names()
	if err != nil {
		return nil, unread(s.dir, err)
	}
	var out []string
	var failed []error
	for _, name := range names {
		note, _, err := s.read(name)
		if err != nil {
			failed = append(failed, unread(filepath.Join(s.dir, name), err))
			continue
		}
		out = append(out, note)
	}
	return out, errors.Join(failed...)
}

func unread(path string, err error) error {
	return fault.Wrap(fault.Unavailable, fmt.Errorf("%s: %w", path, err), "a head that is kept cannot be read")
}

func (s *headStore) Save(note string) error {
	h, err := parseHead(note)
	if err != nil {
		return fault.BadField("head", "this is no signed head: %s", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(h, note); err != nil {
		return fault.Wrap(fault.Unavailable, err, "a head cannot be kept in %s", s.dir)
	}
	return nil
}

func (s *headStore) write(h head, note string) error {
	if err := s.open(); err != nil {
		return err
	}
	name := fileOf(h.origin)
	_, kept, err := s.read(name)
	switch {
	case err == nil && kept.size >= h.size:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		names, err := s.names()
		if err != nil || len(names) >= audit.HeldHeads {
			return err
		}
	case err != nil:
		return fmt.Errorf("%s: %w; look at it and put it aside", name, err)
	}
	return replaceNote(filepath.Join(s.dir, name), note)
}

// open creates the directory, for this user only.
func (s *headStore) open() error {
	err := os.Mkdir(s.dir, 0o700)
	if err == nil {
		return syncDir(filepath.Dir(s.dir))
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(s.dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is no directory")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(s.dir, 0o700) //nolint:gosec // a directory needs its search bit
	}
	return nil
}

// names returns the files of heads, none without a directory.
func (s *headStore) names() (out []string, err error) {
	info, err := os.Lstat(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("it is no directory")
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	all, err := d.Readdirnames(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(all) == maxEntries {
		return nil, fmt.Errorf("it holds %d files or more", maxEntries)
	}
	for _, name := range all {
		if digits, ok := strings.CutSuffix(name, headSuffix); ok && len(digits) == nameLen {
			out = append(out, name)
		}
	}
	return out, nil
}

// read reads the head in a file, whose origin has to match the file name.
func (s *headStore) read(name string) (string, head, error) {
	note, err := readNote(filepath.Join(s.dir, name))
	if err != nil {
		return "", head{}, err
	}
	h, err := parseHead(note)
	if err == nil && fileOf(h.origin) != name {
		err = errors.New("it is of another origin than its name says")
	}
	return note, h, err
}

// fileOf returns the file name of an origin.
func fileOf(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return hex.EncodeToString(sum[:])[:nameLen] + headSuffix
}
