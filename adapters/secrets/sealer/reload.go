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

// changed reports whether the file is another one than at the last call, and remembers it. A file that cannot be read has not changed:
// what is known of it goes on to hold.
func (w *watched) changed() bool {
	if w == nil {
		return false
	}
	info, err := os.Stat(w.path)
	if err != nil {
		return false
	}
	now := stampOf(info)
	w.mu.Lock()
	defer w.mu.Unlock()
	if now == w.seen {
		return false
	}
	w.seen = now
	return true
}

// keys returns the keys that are at hand now. A file of keys that was replaced is read anew, so that another key needs no restart; one that
// holds no keys any more changes nothing.
func (s *Sealer) keys() *ring {
	if s.file.changed() {
		if keys, err := readKeys(s.file.path); err == nil {
			if r, err := newRing(keys); err == nil {
				s.ring.Store(r)
			}
		}
	}
	return s.ring.Load()
}
