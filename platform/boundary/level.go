package boundary

import (
	"fmt"
	"path/filepath"

	"github.com/writ-automation/writ/platform/cgroup"
)

// Level is how far processes are kept apart.
type Level string

// The levels, the strongest first.
const (
	// Namespaces gives a run processes, mounts and shared memory of its own, and an account of its own if the server is
	// root. It sees neither hidden directories nor other processes.
	Namespaces Level = "namespaces"
	// Users gives a run an account of its own. What it cannot reach is what the permissions of files say.
	Users Level = "users"
	// Landlock forbids a run to open files in hidden directories. It keeps the account of the server.
	Landlock Level = "landlock"
	// None keeps nothing apart.
	None Level = "none"
)

// Strength is 3 for the strongest level and 0 for None.
func (l Level) Strength() int {
	switch l {
	case Namespaces:
		return 3
	case Users:
		return 2
	case Landlock:
		return 1
	}
	return 0
}

// Mode is which levels are acceptable.
type Mode string

// The modes: the strongest level that works, a strong one or an error, none.
const (
	Auto     Mode = "auto"
	Required Mode = "required"
	Off      Mode = "none"
)

// Path is a directory or file that is shown inside. Its name inside is At, or its own if At is empty.
type Path struct {
	Name, At string
	Write    bool
}

// at returns its name inside.
func (p Path) at() string {
	if p.At != "" {
		return p.At
	}
	return p.Name
}

// Config says what to close. All paths are absolute.
type Config struct {
	Mode Mode
	// Only, if not empty, is the one level to try. Tests use it.
	Only Level
	// Hide are directories that no run may see into, Show what it sees nevertheless. A file of Hide is covered as long as
	// it is not replaced, so a directory is better.
	Hide []string
	Show []Path
	// Users are the accounts of runs, one for each at a time; the zero value is a range that the machine does not use.
	// A server that is not root has no choice.
	Users Range
	// Processes limits the processes of a run, where it has an account of its own. 0 is no limit.
	Processes int
	// Runs is the parent of the directories of runs, where containers are tried; empty is that of temporary files.
	Runs string
	// SharedMemory limits /dev/shm of a run, in bytes; 0 is 1 GiB.
	SharedMemory int64
	// Groups makes the control groups of programs that are not runs, each with the limit Memory in bytes. 0 is no limit.
	Groups *cgroup.Groups
	Memory int64
}

func (c *Config) validate() error {
	switch c.Mode {
	case Auto, Required, Off:
	default:
		return fmt.Errorf("isolation: expected auto, required or none, not %q", c.Mode)
	}
	for _, p := range c.Hide {
		if !filepath.IsAbs(p) {
			return fmt.Errorf("isolation-hide: expected an absolute path, not %q", p)
		}
	}
	for _, p := range c.Show {
		if !filepath.IsAbs(p.Name) {
			return fmt.Errorf("isolation-show: expected an absolute path, not %q", p.Name)
		}
	}
	return nil
}

// Status describes a boundary.
type Status struct {
	Level Level
	// LandlockABI is the version of landlock that the kernel offers; 0 is none.
	LandlockABI int
	// Accounts are the accounts of runs; the zero value is the server's own.
	Accounts Range
	// Reason says why the level is not a stronger one, with what to do about it; empty for the strongest.
	Reason string
	// Filtered reports whether system calls are filtered, and Scoped whether signals and abstract sockets stay inside.
	Filtered, Scoped bool
}
