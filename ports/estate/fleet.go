package estate

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of windows and pages. MinHistory is the least that is kept of each host and each task.
const (
	DefaultWindow   = 10
	MaxWindow       = 100
	DefaultHostRuns = 10
	MaxHostRuns     = 500
	MinHistory      = 500
	DefaultHistory  = 1000
)

// FlakyFlips is how many flips between success and failure within the window make a host flaky.
const FlakyFlips = 2

// RunResult is the outcome of one run on a host.
type RunResult struct {
	RunID   string
	Outcome runs.Outcome
}

// HostRank is a host over its newest runs, at most as many as the window.
type HostRank struct {
	Host string
	// Failures counts runs that failed on the host or did not reach it, of Total.
	Failures, Total int
	LastOutcome     runs.Outcome
	LastRunAt       time.Time
	Flips           int
	Flaky           bool
	Recent          []RunResult // the newest first
}

// TaskTrend is the duration of a task over its newest runs, at most as many as the window.
type TaskTrend struct {
	Task      string
	Runs      int
	Mean, P95 time.Duration
	Last      time.Duration
	Trend     Trend
	Recent    []time.Duration // the newest first
}

// Trend compares the newer half of the runs of a task with the older half.
type Trend string

// Slower and Faster are differences of the mean of more than a fifth of that of the older half.
const (
	Slower Trend = "slower"
	Faster Trend = "faster"
	Steady Trend = "steady"
)

// FleetQuery selects a page of hosts or tasks.
type FleetQuery struct {
	Window int    // clamped to MaxWindow; 0 is DefaultWindow
	Search string // a part of the name, in any case
	Host   string // exactly this one, empty for any
	Limit  int
	Offset int
}

// MaxTasks is how many tasks are kept, those that were seen last.
const MaxTasks = 10_000

// FleetPage is a page of what a query selects. A row, and each number in it, knows only runs that the caller may read.
type FleetPage[T any] struct {
	Rows   []T
	Total  int
	Window int // that was used
}

// HostRun is the result of one run on a host. It stays when the run is deleted.
type HostRun struct {
	runs.HostSummary
	RunID      string
	Name       string
	Status     runs.Status
	Playbook   string
	TemplateID string
	// InventoryID is the stored inventory of the run, empty for none.
	InventoryID string
	DryRun      bool
	EndedAt     time.Time
}

// HostPage is everything about one host.
type HostPage struct {
	Rank    HostRank
	Window  int // of the rank
	Runs    []HostRun
	Reading *Reading // nil if nothing was gathered that the caller may read
	Drift   *HostDrift
}

// Fleet answers how hosts and tasks did in their recent runs.
type Fleet interface {
	// Hosts ranks hosts by their failures, then by their flips, then by name.
	Hosts(ctx context.Context, q FleetQuery) (FleetPage[HostRank], error)
	// Tasks lists tasks, those that took longest first.
	Tasks(ctx context.Context, q FleetQuery) (FleetPage[TaskTrend], error)
	// Runs returns the newest runs of a host, at most MaxHostRuns. Errors: HostNotFound.
	Runs(ctx context.Context, host string, limit int) ([]HostRun, error)
	// Host returns everything about a host. Errors: HostNotFound.
	Host(ctx context.Context, host string, window int) (HostPage, error)
}

// RunReport is what a run without children did on hosts, or a part of it.
type RunReport struct {
	Run *runs.Run
	// First is how many hosts the parts before had. Parts have the hosts always in the same order.
	First int
	Hosts []runs.HostSummary
	Tasks []runs.TaskSummary
}

// FleetStore keeps the recent results of hosts and tasks, in the order in which the runs ended.
type FleetStore interface {
	// Report stores a part of the results of an ended run. A part that is not the next one changes nothing.
	Report(ctx context.Context, r RunReport) error
	// Hosts and Tasks take the bounds of a query as they are.
	Hosts(ctx context.Context, q FleetQuery, reader access.Scope) (FleetPage[HostRank], error)
	Tasks(ctx context.Context, q FleetQuery, reader access.Scope) (FleetPage[TaskTrend], error)
	Runs(ctx context.Context, host string, limit int, reader access.Scope) ([]HostRun, error)
	// Names calls yield with the name of each host of which the reader may read a run.
	Names(ctx context.Context, reader access.Scope, yield func(host string) error) error
	// Trim deletes results beyond the newest keep of each host, and runs that nothing names any more, at most limit of
	// each. It returns how many results and runs it deleted.
	Trim(ctx context.Context, keep, limit int) (int, error)
	// Outcomes counts hosts by their last outcome, for metrics.
	Outcomes(ctx context.Context) (map[runs.Outcome]int64, error)
}
