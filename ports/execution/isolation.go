package execution

import (
	"context"

	"github.com/writ-automation/writ/ports/runs"
)

// WorkerIsolation is what an executor gives to its runs.
type WorkerIsolation struct {
	runs.Isolation
	// LandlockABI is the version of landlock of the executor's kernel; 0 is none.
	LandlockABI int `json:"landlock_abi"`
	// Limits are the names of what is limited for each run: memory, processes.
	Limits []string `json:"limits"`
	// Reason says why the level is not a stronger one and what can be done about it, empty for the strongest.
	Reason string `json:"reason"`
}

// Boundary keeps the processes of runs apart.
type Boundary interface {
	// Isolation describes what runs get.
	Isolation() WorkerIsolation
	// Choose returns the boundary with the isolation profile of a run: the named one if the run's queue allows it, the one
	// of the queue for an empty name. ProfileRefused says what the executor does not have, allow or give.
	Choose(queue, profile string) (Boundary, error)
	// Enter prepares the boundary of one run. The caller closes it when no process of the run is left and its files are
	// removed. Scope names what the run belongs to: only runs of one scope share caches. An error says what is missing.
	Enter(scope string) (Enclosure, error)
}

// Enclosure is the boundary of one run.
type Enclosure interface {
	// Isolation is what the run really has.
	Isolation() runs.Isolation
	// Exceeded returns a sentence about a limit at which the kernel ended the run, by the kernel's own count. It is empty
	// while there was none.
	Exceeded() string
	// Owner is the account that executes the run, which must own the files that it may write; ok is false if that is the
	// executor's own.
	Owner() (uid, gid int, ok bool)
	// Inside returns the context for the calls of tools. What they start executes inside, and sees the directory with the
	// run's files and the shown paths. Files has the directories work and tmp.
	Inside(ctx context.Context, files string, show ...string) context.Context
	// Close gives back what belongs to the run alone.
	Close() error
}
