package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/writ-automation/writ/ports/runs"
)

// MaxOutputs bounds the outputs of a run, in bytes of JSON.
const MaxOutputs = 1 << 20

// ReadOutputs returns the content of the run's outputs file, nil if it is missing or empty. The file must be a regular
// one, so that a run cannot make the executor block or read another file. Nothing of the run executes any more, and no
// link leads out of its directory.
func (d Dir) ReadOutputs() (runs.Vars, error) {
	dir, err := os.OpenRoot(d.Files())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the outputs file cannot be read: %w", err)
	}
	defer func() { _ = dir.Close() }()
	name := filepath.Join(outDir, outputsFile)
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the outputs file cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("the outputs file is no regular file")
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("the outputs file cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, MaxOutputs+1))
	if err != nil {
		return nil, fmt.Errorf("the outputs file cannot be read: %w", err)
	}
	return ParseOutputs(b)
}

// ParseOutputs reads outputs: one JSON object of at most MaxOutputs bytes.
func ParseOutputs(b []byte) (runs.Vars, error) {
	if len(b) > MaxOutputs {
		return nil, fmt.Errorf("the outputs are larger than %d bytes", MaxOutputs)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, nil
	}
	var v runs.Vars
	if err := json.Unmarshal(b, &v); err != nil || v == nil {
		return nil, errors.New("the outputs are not one JSON object")
	}
	return v, nil
}
