package runs

import (
	"context"
	"time"
)

// Insight answers what people ask while they look at a run. Every method returns RunNotFound for an unknown run and
// for one that the caller may not read.
type Insight interface {
	// Matrix returns the hosts of a run against its tasks.
	Matrix(ctx context.Context, id string, q MatrixQuery) (*Matrix, error)
	// Failures folds the run's failures, or those of a parent's children, into groups that are alike: failed and
	// unreachable ones, then rescued, then ignored ones, the largest first.
	Failures(ctx context.Context, id string) ([]FailureGroup, error)
	// Find searches what is kept of a run's log, line by line. A pattern that does not compile is an Invalid fault
	// that names "q".
	Find(ctx context.Context, id string, q LogQuery) (*LogHits, error)
	// Why tells what a run waits for, or why it ended as it did.
	Why(ctx context.Context, id string) (*Explanation, error)
}

// Cell is what a task did on a host.
type Cell byte

// The cells of a matrix. The numbers are the wire form.
const (
	CellNone        Cell = 0
	CellOK          Cell = 1
	CellChanged     Cell = 2
	CellSkipped     Cell = 3
	CellFailed      Cell = 4
	CellUnreachable Cell = 5
	CellRescued     Cell = 6
	CellIgnored     Cell = 7
	CellRunning     Cell = 8
	// CellSame is a cell of a MatrixDelta that stays as it is.
	CellSame Cell = 255
)

// MatrixQuery asks for a window of hosts. Count zero means all from From on; AfterRev is the revision that the
// asker holds already.
type MatrixQuery struct {
	From     int
	Count    int
	AfterRev int64
}

// MatrixTask is a column.
type MatrixTask struct {
	ID   string
	Name string
	Play string
}

// Matrix is a window of a run's hosts against all of its tasks; a split's are those of its shards, a pipeline's those
// of its steps. Hosts stand in the order in which they first had a
// result, tasks in the order in which they started.
type Matrix struct {
	Tasks []MatrixTask
	// Hosts is how many hosts the whole matrix has, Names are those of the window that starts at From.
	Hosts int
	From  int
	Names []string
	// Rev grows with every event that the matrix knows of. Where it is not above AfterRev, Same is set and Cells
	// and Names are empty.
	Rev  int64
	Same bool
	// Cells holds the window column by column, run-length coded: a cell's byte, then how often it repeats as an
	// unsigned varint. Runs go across columns.
	Cells []byte
}

// MatrixDelta is what became of a whole matrix between two revisions. Its cells are absolute, so that applying it to a
// matrix newer than Since does no harm.
type MatrixDelta struct {
	Since, Rev int64
	// Order names the order of hosts and tasks. That of a run without children follows from its events; the children of
	// a parent are read in any order, and whoever holds another one is told the whole matrix, since 0.
	Order int64
	// Tasks are those from the column TasksFrom on, Names those from the row NamesFrom on: all that came since.
	Tasks     []MatrixTask
	TasksFrom int
	Names     []string
	NamesFrom int
	// Hosts is how many hosts the matrix has now.
	Hosts int
	// Cells are coded like those of Matrix, over all hosts, with CellSame for what stays; what follows the last of
	// them stays too.
	Cells []byte
	// Reload says that too much has changed to be told: the matrix has to be asked for. Nothing else is set then but
	// Since and Rev.
	Reload bool
}

// FailureGroup is a failure that several hosts share: messages are alike when they differ in host names, digits and
// paths alone. Outcome is failed, unreachable, rescued or ignored; a failure counts as rescued once its host's recap
// says so.
type FailureGroup struct {
	Task    string
	Message string // the first one's, as it was reported
	Outcome Outcome
	Count   int
	Hosts   []string // the first twenty
}

// LogQuery is a search in a log. Limit zero means 100; at most 1,000 hits are returned.
type LogQuery struct {
	Text  string
	Case  bool // letters match in their own case alone
	Regex bool // Text is an RE2 expression
	Limit int
}

// LogHits are the lines found. Total counts those that Limit left out as well.
type LogHits struct {
	Total int
	Hits  []LogHit
}

// LogHit is one line. Line counts from 1 over what is kept, Offset is where the line begins in all that was
// printed, and Text is cut to 1 KiB.
type LogHit struct {
	Line   int64
	Offset int64
	Text   string
}

// Explanation says why a run is in its state.
type Explanation struct {
	State   Status
	Reasons []Reason
}

// Reason is one part of an explanation. Object names what it is about: a queue, a policy, a worker or a step.
type Reason struct {
	Code   string
	Text   string
	Object string
	Since  time.Time
	Next   string // what has to happen next; empty for a run that has ended
}
