package anchor

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

type headFile struct {
	path string
	mu   sync.Mutex
}

var _ audit.HeadFile = (*headFile)(nil)

// NewHeadFile returns the head file at a path, whose folder has to exist. Only the owner can read and write the file.
// It is safe for concurrent use; if several processes save at once, the last one wins.
//
// Load returns an Unavailable fault for a file that cannot be read, is not regular or has more than 64 KiB. Save
// returns audit.AnchorFailed; then the file has its old contents, or the new note if only the sync of the folder
// failed.
func NewHeadFile(path string) audit.HeadFile { return &headFile{path: path} }

func (h *headFile) Load() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	note, err := readNote(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "the head file cannot be read")
	}
	return note, nil
}

func (h *headFile) Save(note string) error {
	if note == "" || len(note) > maxHead {
		return audit.AnchorFailed.New("a head file holds 1 to %d bytes", maxHead)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := replaceNote(h.path, note); err != nil {
		return audit.AnchorFailed.New("the head file cannot be written").Because(err)
	}
	return nil
}
