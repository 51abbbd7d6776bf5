package runs

import "context"

// Insight answers questions about the progress and the result of a run. Every method returns RunNotFound for an
// unknown run and for one that the caller may not read.
type Insight interface {
	// Matrix returns the hosts of a run against its tasks.
	Matrix(ctx context.Context, id string, q MatrixQuery) (*Matrix, error)
	// Failures groups similar failures of the run, or of a parent's children: failed and unreachable ones, then
	// rescued, then ignored ones, and the largest group first.
	Failures(ctx context.Context, id string) ([]FailureGroup, error)
	// Find searches the stored log of a run line by line. A pattern that does not compile is an Invalid fault that
	// names "q".
	Find(ctx context.Context, id string, q LogQuery) (*LogHits, error)
	// Why explains what a run waits for, or why it ended in its state.
	Why(ctx context.Context, id string) (*Explanation, error)
}

// Cell is the result of a task on a host.
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
	// CellSame is a cell of a MatrixDelta that is unchanged.
	CellSame Cell = 255
)

// MatrixQuery selects a window of hosts. A Count of zero means all from From on. AfterRev is the revision that the
// caller already has.
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

// Matrix is a window of a run's hosts against all of its tasks. A split has those of its shards, a pipeline those of
// its steps. Hosts are in the order of their first result, tasks in the order in which they started.
type Matrix struct {
	Tasks []MatrixTask
	// Hosts is the number of hosts in the whole matrix. Names are the hosts of the window that starts at From.
	Hosts int
	From  int
	Names []string
	// Rev grows with every event in the matrix. If it is not above AfterRev, Same is set, and Cells and Names are
	// empty.
	Rev  int64
	Same bool
	// Cells holds the window column by column in run-length encoding: the byte of a cell, then the number of
	// repetitions as an unsigned varint. A repetition may span columns.
	Cells []byte
}

// MatrixDelta holds the changes of a whole matrix between two revisions. Its cells are absolute, so that it can also
// be applied to a matrix newer than Since.
type MatrixDelta struct {
	Since, Rev int64
	// Order identifies the order of hosts and tasks. For a run without children it follows from the events. The
	// children of a parent are read in any order, so that a follower with another Order gets the whole matrix, with a
	// Since of 0.
	Order int64
	// Tasks are the new tasks, from the column TasksFrom on. Names are the new hosts, from the row NamesFrom on.
	Tasks     []MatrixTask
	TasksFrom int
	Names     []string
	NamesFrom int
	// Hosts is the current number of hosts in the matrix.
	Hosts int
	// Cells are encoded like those of Matrix, over all hosts, with CellSame for unchanged cells. Cells after the last
	// one are unchanged too.
	Cells []byte
	// Reload means that there are too many changes for a delta, so that the follower has to request the matrix. Only
	// Since and Rev are set then.
	Reload bool
}

// FailureGroup is a failure that several hosts share: their messages differ only in host names, digits and paths.
// Outcome is failed, unreachable, rescued or ignored. A failure counts as rescued when the recap of its host says so.
type FailureGroup struct {
	Task    string
	Message string // the first one's, as it was reported
	Outcome Outcome
	Count   int
	Hosts   []string // the first twenty
}

// LogQuery is a search in a log. A Limit of zero means 100. At most 1,000 hits are returned.
type LogQuery struct {
	Text  string
	Case  bool // case-sensitive
	Regex bool // Text is an RE2 expression
	Limit int
}

// LogHits are the lines found. Total also counts the lines beyond Limit.
type LogHits struct {
	Total int
	Hits  []LogHit
}

// LogHit is one line. Line counts the stored lines from 1. Offset is the position of the line in the whole output.
// Text is cut to 1 KiB.
type LogHit struct {
	Line   int64
	Offset int64
	Text   string
}
