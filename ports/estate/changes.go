package estate

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// MaxScanned is how many runs a list of changes reads, and how many of one change. MaxTouched is how many hosts a
// change names.
const (
	MaxScanned = 10_000
	MaxTouched = 1000
)

// ChangeOutcome is the outcome of a change.
type ChangeOutcome string

// The outcomes. A run that another run of the change repeats (a retry, a rerun or a relaunch) does not count.
const (
	ChangeFailed     ChangeOutcome = "failed"      // a run of it failed
	ChangeInProgress ChangeOutcome = "in_progress" // none failed, and one is not over
	ChangePartial    ChangeOutcome = "partial"     // all are over, and one was canceled, interrupted or rejected
	ChangeSucceeded  ChangeOutcome = "succeeded"
)

// Change is all runs with one value of the label change, as one thing. It is made of the runs that the caller may read.
type Change struct {
	Change  string
	Outcome ChangeOutcome
	Runs    int
	// FirstAt is when the first run was submitted, LastAt when the last one ended, or was submitted.
	FirstAt, LastAt time.Time
	Actors          []string // who submitted, approved, rejected or canceled, by name
	Hosts           int      // that the runs touched
}

// ChangeList is a page of changes, newest first.
type ChangeList struct {
	Changes []Change
	Total   int
	Scanned int
	// Partial means that older runs were not read: changes all of whose runs are older are not listed, and of others those
	// runs do not count.
	Partial bool
}

// ChangeDetail is a change with a page of its runs, the oldest first.
type ChangeDetail struct {
	Change
	Members  []*runs.Run
	Touched  []string // the hosts by name, at most MaxTouched
	Withheld int      // runs that the caller may not read
	// Partial means that the change has older runs than the MaxScanned that were read. Members has them too.
	Partial bool
}

// Changes answers what was changed, from the runs that name a change. A run that hides its change, since that holds a
// secret, belongs to none.
type Changes interface {
	List(ctx context.Context, w page.Window) (ChangeList, error)
	// Get returns one change. Errors: ChangeNotFound, also if the caller may read none of its runs.
	Get(ctx context.Context, change string, members page.Window) (ChangeDetail, error)
}

// ChangeRun is a run of a change, as a list reads it.
type ChangeRun struct {
	Seq                int64
	ID                 string
	Change             string // empty if the run hides it
	Status             runs.Status
	RetryOf, RerunOf   string
	Actors             []string
	CreatedAt, EndedAt time.Time
}

// ChangeStore reads the runs that name a change, and no children of runs.
type ChangeStore interface {
	// ChangeRuns returns the newest runs of a change, or of any for an empty one, that the reader may read, at most limit.
	ChangeRuns(ctx context.Context, change string, limit int, reader access.Scope) ([]ChangeRun, error)
	// Touched counts the hosts that runs and their children touched, of each list of runs.
	Touched(ctx context.Context, lists [][]int64) ([]int, error)
	// TouchedHosts names the same hosts of one list in their order.
	TouchedHosts(ctx context.Context, list []int64) ([]string, error)
	// Withheld counts the runs of a change that the reader may not read.
	Withheld(ctx context.Context, change string, reader access.Scope) (int, error)
}
