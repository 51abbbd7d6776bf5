package runs

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/secret"
)

// Lease is a holder's claim on a run. Every write under it is a compare-and-set on run, worker and epoch, and returns
// LeaseLost if the run has another epoch or state.
type Lease struct {
	RunID  string
	Worker string
	Epoch  int64
}

// Lease times: how long a claim lasts without a beat, and how often its holder beats.
const (
	LeaseTTL  = 30 * time.Second
	BeatEvery = 10 * time.Second
)

// ClaimRequest requests the next run of the given queues: the highest priority first, and the oldest within a
// priority.
type ClaimRequest struct {
	Worker string
	Queues []string
	// Hosts are those of runs with exclusive hosts, by the id of the run without a parent. Nil means that they are not
	// known before it is executed. Only the application sets them.
	Hosts map[string][]string
	// Then is called in the unit of a claim, whose error undoes the claim. It may be nil.
	Then func(ctx context.Context, a *Assignment) error
}

// ClaimResult is what one search in the queues found.
type ClaimResult struct {
	*Assignment // nil for none
	// Again asks for another search: this one ended early. Contended means that another unit changes the slots that it
	// needs; a unit by itself (tx.Alone) waits for that. HostsOf is the run whose hosts the search needs.
	Again     bool
	Contended bool
	HostsOf   *Run
	// Opened are the queues in which more runs became claimable.
	Opened []string
}

// Assignment is a claimed run with its variables.
type Assignment struct {
	Run   *Run
	Lease Lease
	// NextSeq is the sequence number of the next event. Only the holder writes events.
	NextSeq int64
	// Last reports that no other run waited in the queues. False may also mean that this is unknown.
	Last bool
}

// Beat is the answer to a heartbeat for one lease.
type Beat struct {
	RunID           string
	Lost            bool
	CancelRequested bool
}

// Ending is the end of an executed run, together with the data that was not written before: the rest of its log and
// events. A short run therefore ends in one unit of work.
type Ending struct {
	Status   Status // succeeded, failed, canceled or interrupted
	ExitCode *int
	Error    string
	Warnings []Warning
	Outputs  Vars
	Commit   string
	// ToolVersion is the version of the tool, empty for an unknown one.
	ToolVersion string
	Touched     int
	Counts      HostCounts
	// Log is the rest of the output at its offset, and LogBytes, LogOmitted and LogSHA256 seal the whole of it.
	Log        LogChunk
	LogBytes   int64
	LogOmitted int64
	LogSHA256  string
	Events     []Event
	Hosts      []HostSummary
	Tasks      []TaskSummary
	StartedAt  time.Time // when the process started, by the holder's clock
	EndedAt    time.Time
	Isolation  Isolation // that the process had
	// AcceptedHostKeys are the keys of hosts that the run accepted on its first contact, at most MaxHostKeys.
	AcceptedHostKeys []HostKey
}

// Worklist assigns runs to executors and takes them back.
type Worklist interface {
	// Claim leases the next run, or returns nil if none waits.
	Claim(ctx context.Context, r ClaimRequest) (*Assignment, error)
	// Begin records that a process is about to be started. The record must be durable before the start, since a run
	// that began and lost its holder is interrupted and never started again.
	Begin(ctx context.Context, l Lease) error
	// Beat renews leases. It returns which leases are lost and for which runs a cancel was requested.
	Beat(ctx context.Context, worker string, leases []Lease) ([]Beat, error)
	// Release makes a run that never began pending again.
	Release(ctx context.Context, l Lease) error
	// Divide turns a claimed split into shards over the given hosts and ends the claim.
	Divide(ctx context.Context, l Lease, hosts []string, warnings []Warning) error
	// Finish ends a run. It is idempotent on the lease: a repeated ending is no error. If the end cannot be recorded,
	// it stores nothing and returns Unavailable; the holder then retries.
	Finish(ctx context.Context, l Lease, e Ending) error
	// Leased lists the runs that the named worker holds, for example from before a restart.
	Leased(ctx context.Context, worker string) ([]*Run, error)
}

// Journal stores the reports of an executor about the run that it holds. With an invalid lease every method returns
// LeaseLost and stores nothing.
type Journal interface {
	// AppendLog stores output at its offset and ignores bytes that are stored already. It returns the next offset.
	AppendLog(ctx context.Context, l Lease, c LogChunk) (next int64, err error)
	// AppendEvents stores events with their sequence numbers and ignores those that are stored already. A gap is
	// SequenceGap. It returns the next sequence number, also for an empty list.
	AppendEvents(ctx context.Context, l Lease, events []Event) (next int64, err error)
	SaveHosts(ctx context.Context, l Lease, hosts []HostSummary) error
	SaveTasks(ctx context.Context, l Lease, tasks []TaskSummary) error
	SaveFacts(ctx context.Context, l Lease, facts []HostFacts) error
}

// Redactor hides secrets of a run's credentials in its record.
type Redactor interface {
	// HideSecrets hides the texts of a run and of its parent that contain one of the secrets, in any form that is masked
	// in output. It is called with all secrets of a run before an executor gets them. RunNotFound.
	HideSecrets(ctx context.Context, runID string, secrets []secret.Text) error
}

// Live shows output to followers before it is stored. It never blocks and stores nothing.
type Live interface {
	ShowLog(runID string, c LogChunk)
}
