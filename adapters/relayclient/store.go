package relayclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

const (
	claimEnding = ".json"
	badEnding   = ".bad"  // of a file that is not a valid claim
	claimPart   = ".part" // of an incomplete file
	maxClaim    = 16 << 10
	maxClaims   = 10_000 // files that are read
)

// store is the directory with a file for each claim, by its run. The content of a file allows its reader to report as
// the holder of that run.
type store struct{ dir string }

// record is the content of a file.
type record struct {
	RunID      string    `json:"run_id"`
	Epoch      int64     `json:"epoch"`
	Worker     string    `json:"worker"`
	Capability string    `json:"capability"`
	Kind       runs.Kind `json:"kind,omitempty"`
	Project    string    `json:"project,omitempty"`
	Inventory  string    `json:"inventory,omitempty"`
	Commit     string    `json:"commit,omitempty"`
}

// open makes the directory, private, and removes incomplete files of a killed process.
func (s *store) open() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(s.dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", s.dir)
	}
	if err := os.Chmod(s.dir, 0o700); err != nil { //nolint:gosec // a directory is searched with x
		return err
	}
	parts, err := filepath.Glob(filepath.Join(escape(s.dir), "*"+claimPart))
	for _, path := range parts {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// escape quotes the special characters of a glob pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (s *store) file(run string) string { return filepath.Join(s.dir, run+claimEnding) }

// write stores a claim so that it survives a crash of this process and of the machine.
func (s *store) write(k *claim) error {
	b, err := json.Marshal(record{
		RunID: k.run, Epoch: k.epoch, Worker: k.worker, Capability: k.capability.Reveal(), Kind: k.kind,
		Project: k.project, Inventory: k.inventory, Commit: k.commit,
	})
	if err != nil {
		return err
	}
	part := filepath.Join(s.dir, k.run+claimPart)
	if err := writeThrough(part, b); err != nil {
		return errors.Join(err, gone(os.Remove(part)))
	}
	if err := os.Rename(part, s.file(k.run)); err != nil {
		return errors.Join(err, gone(os.Remove(part)))
	}
	return syncDir(s.dir)
}

func writeThrough(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// remove deletes the file of a run. If a crash of the machine restores the file, it does no harm: the client asks the
// server about each claim.
func (s *store) remove(run string) error { return gone(os.Remove(s.file(run))) }

// gone returns err, or nil if err reports a missing file.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// read returns the claims of all files. It renames and logs a file that cannot be read, so that the others still load.
func (s *store) read(log *slog.Logger) ([]claim, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var out []claim
	for _, e := range entries {
		run, ok := strings.CutSuffix(e.Name(), claimEnding)
		if !ok {
			continue
		}
		if len(out) == maxClaims {
			log.Error("there are more claims than can be settled; the next start settles more", "dir", s.dir, "settled",
				maxClaims)
			break
		}
		k, err := s.load(run)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err == nil:
			out = append(out, k)
		default:
			log.Error("a file of a claim cannot be read and is set aside", "file", e.Name(), "error", err)
			path := filepath.Join(s.dir, e.Name())
			if err := gone(os.Rename(path, path+badEnding)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// load reads the file of a run. Its errors omit the content.
func (s *store) load(run string) (claim, error) {
	info, err := os.Lstat(s.file(run))
	if err != nil {
		return claim{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxClaim {
		return claim{}, errors.New("it is no small file")
	}
	f, err := os.Open(s.file(run))
	if err != nil {
		return claim{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxClaim+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return claim{}, err
	}
	var r record
	if json.Unmarshal(b, &r) != nil {
		return claim{}, errors.New("it is no JSON of a claim")
	}
	k := claim{
		run: r.RunID, epoch: r.Epoch, worker: r.Worker, capability: secret.Text(r.Capability), kind: r.Kind,
		project: r.Project, inventory: r.Inventory, commit: r.Commit,
	}
	if k.run != run {
		return claim{}, errors.New("it is of another run than its name says")
	}
	return k, k.check()
}

// maxID is the longest id of a run.
const maxID = 128

// check returns why a claim is invalid: its run becomes a file name and a part of an address, its capability a header.
func (k *claim) check() error {
	plain := k.run != "" && len(k.run) <= maxID &&
		strings.Trim(k.run, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
	switch {
	case !plain:
		return errors.New("its run has no id that can be one")
	case k.epoch < 1:
		return errors.New("its epoch is none")
	case !visible(k.capability.Reveal()):
		return errors.New("its capability is none")
	}
	return nil
}
