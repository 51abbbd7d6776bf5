package runs

import (
	"context"
	"time"
)

// Lease is a holder's claim on a run: every write under it is a compare-and-set on run, worker and epoch, and
// LeaseLost once another epoch or state rules.
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

// ClaimRequest asks for the next run of the given queues: highest priority first, oldest within one.
type ClaimRequest struct {
	Worker string
	Queues []string
}

// Assignment is a claimed run with its variables.
type Assignment struct {
	Run   *Run
	Lease Lease
	// NextSeq is the sequence number of the next event that the holder writes; it alone writes under the lease.
	NextSeq int64
}

// Beat is the answer to a heartbeat for one lease.
type Beat struct {
	RunID           string
	Lost            bool
	CancelRequested bool
}

// Ending is how an executed run ended, together with what was not written before: the last of its log and
// events, so that a short run ends in one unit of work.
type Ending struct {
	Status   Status // succeeded, failed, canceled or interrupted
	ExitCode *int
	Error    string
	Warnings []Warning
	Outputs  Vars
	Commit   string
	Touched  int
	Counts   HostCounts
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
}

// Worklist hands runs to executors and takes them back.
type Worklist interface {
	// Claim leases the next run, or returns nil where none waits.
	Claim(ctx context.Context, r ClaimRequest) (*Assignment, error)
	// Begin records that a process is about to be started. It must be durable before it is: a run that began
	// and lost its holder is interrupted, never started again.
	Begin(ctx context.Context, l Lease) error
	// Beat renews leases and tells which are lost and which runs somebody wants cancelled.
	Beat(ctx context.Context, worker string, leases []Lease) ([]Beat, error)
	// Release gives a run back that never began; it is pending again.
	Release(ctx context.Context, l Lease) error
	// Divide turns a claimed split into shards over the given hosts and ends the claim.
	Divide(ctx context.Context, l Lease, hosts []string, warnings []Warning) error
	// Finish ends a run. It is idempotent on the lease: the same ending again is not an error. Where the end cannot be
	// recorded nothing of it is stored, which is Unavailable; its holder tries again.
	Finish(ctx context.Context, l Lease, e Ending) error
	// Leased lists what the named worker holds: after a restart, what its earlier life left.
	Leased(ctx context.Context, worker string) ([]*Run, error)
}

// Journal takes what an executor reports of the run that it holds. Every method is LeaseLost for a stale lease
// and stores nothing then.
type Journal interface {
	// AppendLog stores output at its offset; bytes already held are ignored. It returns the next offset.
	AppendLog(ctx context.Context, l Lease, c LogChunk) (next int64, err error)
	// AppendEvents stores events that carry their sequence numbers; those already held are ignored, a gap is
	// SequenceGap. It returns the next sequence number; an empty list asks for it.
	AppendEvents(ctx context.Context, l Lease, events []Event) (next int64, err error)
	SaveHosts(ctx context.Context, l Lease, hosts []HostSummary) error
	SaveTasks(ctx context.Context, l Lease, tasks []TaskSummary) error
	SaveFacts(ctx context.Context, l Lease, facts []HostFacts) error
}

// Live shows output to those who watch before it is stored. It never blocks and keeps nothing.
type Live interface {
	ShowLog(runID string, c LogChunk)
}
