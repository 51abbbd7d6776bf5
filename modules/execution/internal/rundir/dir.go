package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

const (
	stateFile   = "state.jsonl"
	varsFile    = "vars.json"
	filesDir    = "files"
	outDir      = "out"
	outputsFile = "outputs.json"
	workDir     = "work"
	tmpDir      = "tmp"
	projectDir  = "project"
	inventory   = "inventory."
	lostDir     = "lost"
	secretsDir  = "secrets"
	loginDir    = "login"
	agentDir    = "agent"
)

// MaxLost is how many directories of lost runs are kept as evidence; the oldest are removed first.
const MaxLost = 50

// Root holds the parents of the runs' directories. Runs is best on a file system in memory, since each run makes and
// removes a few small files there; Spool is on a disk, for data that may grow: output that waits to be stored, and the
// evidence of lost runs. Both may be one directory.
type Root struct{ Runs, Spool string }

// Dir is the directory of one run.
type Dir struct {
	root  Root
	name  string
	owner Owner
}

// state is one line of the state file; a later line adds to those before. One growing file costs a run far less than
// one file per entry.
type state struct {
	RunID  string       `json:"run_id,omitempty"`
	Epoch  int64        `json:"epoch,omitempty"`
	Worker string       `json:"worker,omitempty"`
	Begun  bool         `json:"begun,omitempty"`
	Secret bool         `json:"secret,omitempty"`
	Ending *runs.Ending `json:"ending,omitempty"`
}

// Of returns the directory of a lease without creating it. It returns an error for a run id that is not a plain file
// name.
func Of(root Root, l runs.Lease) (Dir, error) {
	if l.RunID == "" || l.RunID[0] == '.' || strings.ContainsAny(l.RunID, "/\\\x00") {
		return Dir{}, fmt.Errorf("the run id %q names no directory", l.RunID)
	}
	return Dir{root: root, name: l.RunID + "." + strconv.FormatInt(l.Epoch, 10)}, nil
}

// Create makes the directory of a lease with the run's variables in it, for an owner.
func Create(root Root, l runs.Lease, vars runs.Vars, owner Owner) (Dir, error) {
	d, err := Of(root, l)
	if err != nil {
		return Dir{}, err
	}
	d.owner = owner
	if err := d.fill(l, vars); err != nil {
		return Dir{}, errors.Join(fmt.Errorf("make the run's directory: %w", err), d.Remove())
	}
	return d, nil
}

func (d Dir) fill(l runs.Lease, vars runs.Vars) error {
	err := d.makeOpen(d.Path(), 0o711)
	if errors.Is(err, fs.ErrExist) { // left by an earlier process that could not remove it
		if err = os.RemoveAll(d.Path()); err == nil {
			err = d.makeOpen(d.Path(), 0o711)
		}
	}
	if err != nil {
		return err
	}
	if err := d.makeOpen(d.Files(), 0o755); err != nil {
		return err
	}
	for _, name := range []string{workDir, tmpDir, outDir} {
		if err := d.makeOwn(d.file(name)); err != nil {
			return err
		}
	}
	b, err := json.Marshal(state{RunID: l.RunID, Epoch: l.Epoch, Worker: l.Worker})
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	if err := os.WriteFile(d.stateFile(), b, 0o600); err != nil {
		return err
	}
	return d.writeVars(vars)
}

func (d Dir) writeVars(vars runs.Vars) error {
	if vars == nil {
		vars = runs.Vars{}
	}
	b, err := json.Marshal(vars)
	if err != nil {
		return fmt.Errorf("encode the variables: %w", err)
	}
	return d.write(d.Vars(), b)
}

// write writes a file of the run.
func (d Dir) write(path string, content []byte) error {
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return d.give(path)
}

func (d Dir) stateFile() string { return filepath.Join(d.Path(), stateFile) }

func (d Dir) file(name string) string { return filepath.Join(d.Files(), name) }

// Path returns the path of the directory.
func (d Dir) Path() string { return filepath.Join(d.root.Runs, d.name) }

// Files returns the path of what the run sees.
func (d Dir) Files() string { return filepath.Join(d.Path(), filesDir) }

// Work returns the tool's directory.
func (d Dir) Work() string { return d.file(workDir) }

// Project returns the path of the run's checkout, if it has one.
func (d Dir) Project() string { return d.file(projectDir) }

// WriteInventory writes the run's inventory, with its format as the file extension, and returns its path. Only the
// tool reads the file.
func (d Dir) WriteInventory(format string, content []byte) (string, error) {
	path := d.file(inventory + format)
	if err := d.write(path, content); err != nil {
		return "", fmt.Errorf("write the inventory: %w", err)
	}
	return path, nil
}

// Vars returns the path of the run's variables.
func (d Dir) Vars() string { return d.file(varsFile) }

// Outputs returns the path of the file that the run may write.
func (d Dir) Outputs() string { return filepath.Join(d.file(outDir), outputsFile) }

// LogSpool returns the path of the output that is not stored yet.
func (d Dir) LogSpool() string { return filepath.Join(d.root.Spool, d.name+".log") }

// EventSpool returns the path of the events that are not stored yet.
func (d Dir) EventSpool() string { return filepath.Join(d.root.Spool, d.name+".events") }

// MarkBegun records that a process of the run may exist from now on.
func (d Dir) MarkBegun() error { return d.note(state{Begun: true}) }

// SaveEnding stores how the run ended; the last complete one applies. It survives the end of this process.
func (d Dir) SaveEnding(e *runs.Ending) error { return d.note(state{Ending: e}) }

// note adds a line to the state file. The line break comes first, so that an incomplete line damages no other.
func (d Dir) note(s state) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the state of a run: %w", err)
	}
	f, err := os.OpenFile(d.stateFile(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("note the state of a run: %w", err)
	}
	_, err = f.Write(append([]byte{'\n'}, b...))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note the state of a run: %w", err)
	}
	return nil
}

// State is the recorded state of a directory's run.
type State struct {
	RunID  string
	Worker string       // empty if it cannot be read
	Begun  bool         // a process of the run may have existed
	Secret bool         // credentials wrote something into the directory
	Ending *runs.Ending // nil if none was stored
}

// State reads the recorded state and ignores unreadable entries.
func (d Dir) State() State {
	out := State{}
	out.RunID, _, _ = cutLast(d.name)
	b, err := os.ReadFile(d.stateFile())
	if err != nil {
		return out
	}
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		var s state
		if len(line) == 0 || json.Unmarshal(line, &s) != nil {
			continue
		}
		if s.Worker != "" {
			out.RunID, out.Worker = s.RunID, s.Worker
		}
		out.Begun, out.Secret = out.Begun || s.Begun, out.Secret || s.Secret
		if s.Ending != nil {
			out.Ending = s.Ending
		}
	}
	return out
}

// Strip removes everything except the state: the files of credentials, the variables, and the tool's files. Afterwards
// the directory contains no secrets, however long it has to remain.
func (d Dir) Strip() error {
	entries, err := os.ReadDir(d.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.Name() != stateFile {
			err = errors.Join(err, removeTree(filepath.Join(d.Path(), e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("strip the run's directory: %w", err)
	}
	return nil
}

// Unsent reports whether the directory contains data that may not be stored.
func (d Dir) Unsent() bool {
	for _, path := range []string{d.LogSpool(), d.EventSpool()} {
		if info, err := os.Lstat(path); err == nil && info.Size() > 0 {
			return true
		}
	}
	return d.State().Ending != nil
}

// Remove deletes the directory with its content, and the run's spools.
func (d Dir) Remove() error {
	if err := errors.Join(removeTree(d.Path()), remove(d.LogSpool()), remove(d.EventSpool())); err != nil {
		return fmt.Errorf("remove the run's directory: %w", err)
	}
	return nil
}

func removeTree(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	// A run may have removed the permissions of its own directories.
	_ = filepath.WalkDir(path, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}

// MoveToLost moves data that was not stored to the evidence of lost runs, and removes the tool's files and its
// variables. It also removes the oldest evidence beyond MaxLost.
func (d Dir) MoveToLost() error {
	lost := filepath.Join(d.root.Spool, lostDir)
	target := filepath.Join(lost, d.name)
	part := filepath.Join(d.root.Spool, "."+d.name) // evidence is complete or absent
	err := errors.Join(os.RemoveAll(target), os.RemoveAll(part), os.MkdirAll(lost, 0o700), os.Mkdir(part, 0o700))
	if err == nil {
		err = errors.Join(copyFile(d.stateFile(), filepath.Join(part, stateFile)),
			move(d.LogSpool(), filepath.Join(part, "log")), move(d.EventSpool(), filepath.Join(part, "events")))
	}
	if err == nil {
		err = os.Rename(part, target)
	}
	if err = errors.Join(err, removeTree(d.Path())); err != nil {
		return fmt.Errorf("keep a lost run: %w", err)
	}
	return prune(lost)
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

func move(from, to string) error {
	if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func prune(lost string) error {
	entries, err := os.ReadDir(lost)
	if err != nil || len(entries) <= MaxLost {
		return err
	}
	age := func(e fs.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return int(min(1, max(-1, age(a)-age(b)))) })
	for _, e := range entries[:len(entries)-MaxLost] {
		err = errors.Join(err, os.RemoveAll(filepath.Join(lost, e.Name())))
	}
	return err
}

// Leftovers lists the directories under root that name a run, except the evidence of lost runs.
func Leftovers(root Root) ([]Dir, error) {
	entries, err := os.ReadDir(root.Runs)
	if err != nil {
		return nil, fmt.Errorf("list the runs' directories: %w", err)
	}
	var out []Dir
	for _, e := range entries {
		if _, epoch, ok := cutLast(e.Name()); ok && e.IsDir() {
			if _, err := strconv.ParseInt(epoch, 10, 64); err == nil {
				out = append(out, Dir{root: root, name: e.Name()})
			}
		}
	}
	return out, nil
}

// DropOrphans removes the spools of runs whose directories do not exist, as after a restart of the machine.
func DropOrphans(root Root) error {
	entries, err := os.ReadDir(root.Spool)
	if err != nil {
		return fmt.Errorf("list the spools: %w", err)
	}
	for _, e := range entries {
		name, kind, _ := cutLast(e.Name())
		if e.IsDir() || kind != "log" && kind != "events" {
			continue
		}
		d := Dir{root: root, name: name}
		if _, gone := os.Lstat(d.Path()); errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, remove(filepath.Join(root.Spool, e.Name())))
		}
	}
	return err
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 1 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}
