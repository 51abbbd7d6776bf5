package sealer

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stamp identifies one version of a file.
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

// path returns the file of the keys, or "" if they are in no file.
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

// keys returns the current keys. It reads a replaced file again, so that a new key needs no restart; a file that cannot
// be read or holds no keys changes nothing. One caller at a time reads the file and stores its keys, and the others
// wait, so that an older reading never replaces a newer one and no caller uses keys that are known to be old.
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
