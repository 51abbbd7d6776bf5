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

// ReadOutputs returns the content of the run's outputs file, nil if it is missing or empty.
func (d Dir) ReadOutputs() (runs.Vars, error) {
	b, err := d.read("the outputs file", filepath.Join(outDir, outputsFile), MaxOutputs+1)
	if err != nil {
		return nil, err
	}
	return ParseOutputs(b)
}

// read returns the beginning of a file that the run may have written, nil if it is missing. The file must be a regular
// one, so that a run cannot make the executor block or read another file. Nothing of the run executes any more, and no
// link leads out of its directory.
func (d Dir) read(what, name string, most int64) ([]byte, error) {
	dir, err := os.OpenRoot(d.Files())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	defer func() { _ = dir.Close() }()
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", what)
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	return b, nil
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
