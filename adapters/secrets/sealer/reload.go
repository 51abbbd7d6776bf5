package sealer

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stamp tells one state of a file from another.
type stamp struct {
	inode uint64
	size  int64
	at    time.Time
}

// watched is a file of keys that may be replaced while the process lives.
type watched struct {
	path string

	mu   sync.Mutex
	seen stamp
}

// path returns the file of the keys, empty where they are in no file.
func (k KeySource) path() string {
	switch {
	case k.Text != "":
		return ""
	case k.File != "":
		return k.File
	case k.Dir != "":
		return filepath.Join(k.Dir, KeyFile)
	}
	return ""
}

func stampOf(info fs.FileInfo) stamp {
	return stamp{inode: inodeOf(info), size: info.Size(), at: info.ModTime()}
}

// keys returns the keys that are at hand now. A file of keys that was replaced is read anew, so that another key
// needs no restart; one that cannot be read, or holds no keys any more, changes nothing. The file is read and its
// keys are put in their place by one caller at a time, and the others wait for that: of two readings the later one
// stays, and nobody goes on with keys that are known to be old.
func (s *Sealer) keys() *keyring {
	if s.file == nil {
		return s.keyring.Load()
	}
	info, err := os.Stat(s.file.path)
	if err != nil {
		return s.keyring.Load()
	}
	now := stampOf(info)
	s.file.mu.Lock()
	defer s.file.mu.Unlock()
	if now == s.file.seen {
		return s.keyring.Load()
	}
	if keys, err := readKeys(s.file.path); err == nil {
		if r, err := newKeyring(keys); err == nil {
			s.keyring.Store(r)
		}
	}
	s.file.seen = now
	return s.keyring.Load()
}
