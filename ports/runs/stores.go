package runs

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
)

// Store stores run records. Writes update the counters, the search index and the labels.
type Store interface {
	// Insert stores a new run and sets its Seq. A step whose (parent, name, attempt) or a shard whose (parent, index)
	// exists is RunStateChanged. Insert sorts the objects and removes duplicates. A run without objects gets those of
	// ObjectsOf.
	Insert(ctx context.Context, r *Run) error
	// ByID returns one complete run, or RunNotFound.
	ByID(ctx context.Context, id string) (*Run, error)
	// Lock returns one complete run and locks its row until the unit ends, so that two endings of its children roll
	// up one after the other.
	Lock(ctx context.Context, id string) (*Run, error)
	// List returns a page of the runs that f.Scope may read, without variables, outputs, environments, graphs and
	// objects. Records are shared between lists and must not be changed.
	List(ctx context.Context, f Filter) (*List, error)
	// Children returns a parent's children without their variables: shards by index, steps by creation.
	Children(ctx context.Context, parentID string) ([]*Run, error)
	// Move changes a run's state from m.From to m.To with the rest of m, appends its status event and returns the new
	// record without variables. The event of an end may be stored at the end of the unit. It returns RunStateChanged
	// if the run is in another state, and LeaseLost if m.Lease is set and no longer valid.
	Move(ctx context.Context, m Move) (*Run, error)
	// Amend changes members other than the state. It returns RunNotFound for an unknown run.
	Amend(ctx context.Context, id string, a Amendment) error
	// Counts returns the number of runs by status and queue, from counters.
	Counts(ctx context.Context) ([]Count, error)
}

// Move is a conditional transition. Zero members do not change the record.
type Move struct {
	ID       string
	From, To Status
	At       time.Time
	Lease    *Lease // the lease that must be valid
	// DropLease ends the lease of a run that continues: of a divided split, or of a released run.
	DropLease bool
	ExitCode  *int
	Error     string
	Warnings  []Warning // added to those there are
	Outputs   Vars
	Commit    string
	// ToolVersion is the version of the tool that executed the run; empty leaves it as it is.
	ToolVersion string
	Counts      HostCounts
	Touched     int
	LogBytes    int64
	Omitted     int64
	LogSHA256   string
	Decision    *Decision
	Approvals   *Approvals // replace the stored ones
	Canceled    *Cancellation
	StartedAt   time.Time
	Isolation   Isolation
	// AcceptedHostKeys replace the stored ones, unless there are none.
	AcceptedHostKeys []HostKey
}

// Amendment is a change of members other than the state. Nil members do not change the record.
type Amendment struct {
	CancelRequested *bool
	Canceled        *Cancellation
	Graph           *Graph
	Warnings        []Warning // added
	Hidden          []string  // added to what the run hides later; filters do not find the run by it any more
	ShardCount      *int
	Approvals       *Approvals // replace the stored ones
	Decision        *Decision  // replaces the stored one
	Risk            *Risk      // replaces the stored one
	Lease           *Lease     // the lease that must be valid, nil for none
	DropLease       bool       // the run keeps its state and loses its holder
}

// Count is the number of runs in a state and a queue. Top counts those without a parent.
type Count struct {
	Status Status
	Queue  string
	Runs   int64
	Top    int64
	Oldest time.Time // queue time of the oldest pending run; zero for other states
}

// FacetStore counts the runs of a list by their values.
type FacetStore interface {
	// Facets counts the runs that fit f and that f.Scope may read, whatever order and page f asks for. Each facet leaves
	// out the filter of its own member. It reads a bounded number of runs, the newest of those that an index finds.
	Facets(ctx context.Context, f Filter) (*Facets, error)
}

// ObjectStore returns the objects that decide who may read a run.
type ObjectStore interface {
	// Objects returns a run's objects. It is faster than a read of the record. It returns RunNotFound for an unknown
	// run.
	Objects(ctx context.Context, id string) ([]string, error)
	// Unfinished returns at most limit unfinished runs that name an object, the oldest first, and their total number.
	// It returns parents and not their children.
	Unfinished(ctx context.Context, object string, limit int) (list []string, total int, err error)
}

// Queue leases pending runs. Leases expire by the store's own clock.
type Queue interface {
	// Claim moves the next claimable run of the queues from pending to running under a new epoch. It returns the
	// complete run with the number of the next event, or none. Of many concurrent callers exactly one gets a run. A
	// pending parent of the claimed run starts running with it. A run takes a slot of each of its keys with its first
	// claim, and is no longer claimable while it has to wait for them.
	Claim(ctx context.Context, r ClaimRequest, ttl time.Duration, at time.Time) (ClaimResult, error)
	// Begin marks that a process may exist from now on. It returns LeaseLost for an invalid lease. It returns the
	// run's id, kind, name and parent, or nil if the run was marked before, so that only one call for a run returns a
	// record.
	Begin(ctx context.Context, l Lease, at time.Time) (*Run, error)
	// Beat renews the leases that are still valid, in one statement.
	Beat(ctx context.Context, worker string, leases []Lease, ttl time.Duration) ([]Beat, error)
	// Expired lists at most limit runs with an expired lease, without variables.
	Expired(ctx context.Context, limit int) ([]*Run, error)
	// Held lists at most limit runs that wait for approval and were created before t, children too, the oldest first,
	// without variables.
	Held(ctx context.Context, t time.Time, limit int) ([]*Run, error)
	// Refreshing lists at most limit held runs whose Approvals wait for inventories, the oldest first, without variables.
	Refreshing(ctx context.Context, limit int) ([]*Run, error)
	// Leased lists the runs that a worker holds, without variables.
	Leased(ctx context.Context, worker string) ([]*Run, error)
	// SetQueue moves a pending run to another queue, with the warnings that it then has. Its objects name the new queue
	// instead of the old one. It returns the queues in which runs became claimable, RunStateChanged for a run that is not
	// pending, and RunNotMovable for one that is not executed itself or has a parent. Of it and a claim one wins.
	SetQueue(ctx context.Context, id, queue string, warnings []Warning) (opened []string, err error)
}

// LogStore stores output in compressed chunks.
type LogStore interface {
	// AppendLog stores a chunk at its offset under the lease and advances the run's log length. It ignores bytes that
	// are stored already. A chunk beyond the next offset leaves a hole, which counts as omitted, since the holder
	// dropped it.
	AppendLog(ctx context.Context, l Lease, c LogChunk) (LogState, error)
	// TrimLog deletes the stored part of [from, to) and counts it as omitted. It keeps a chunk that extends beyond
	// to.
	TrimLog(ctx context.Context, l Lease, from, to int64) (LogState, error)
	// ReadLog calls yield with the stored chunks that overlap [from, to), in order, cut to that range.
	ReadLog(ctx context.Context, runID string, from, to int64, yield func(LogChunk) error) error
}

// LogState holds the next offset of a run's output and the number of omitted bytes. Stored is how many bytes of the
// appended chunk were new.
type LogState struct {
	Next    int64
	Omitted int64
	Stored  int64
}

// EventStore stores structured events.
type EventStore interface {
	// AppendEvents stores events under the lease and advances the run's event count. It ignores stored events. A gap
	// is SequenceGap.
	AppendEvents(ctx context.Context, l Lease, events []Event) (next int64, err error)
	// Events returns at most limit events after seq, in order.
	Events(ctx context.Context, runID string, after int64, limit int) ([]Event, error)
}

// SummaryStore stores the results of a run on each host and in each task.
type SummaryStore interface {
	SaveHosts(ctx context.Context, runID string, hosts []HostSummary) error
	SaveTasks(ctx context.Context, runID string, tasks []TaskSummary) error
	SaveFacts(ctx context.Context, runID string, facts []HostFacts) error
	Hosts(ctx context.Context, runID string) ([]HostSummary, error)
	Tasks(ctx context.Context, runID string) ([]TaskSummary, error)
	// HostMeans returns the mean duration of each host over the recent runs of a lineage; hosts without history
	// are absent.
	HostMeans(ctx context.Context, lineage string, hosts []string) (map[string]time.Duration, error)
	// Previous returns the id of the newest ended run of the lineage that was created before the given run and that
	// the scope may read, or "" if there is none.
	Previous(ctx context.Context, r *Run, s access.Scope) (string, error)
}

// KeyStore stores idempotency keys.
type KeyStore interface {
	// Remember stores the key of an actor with the run that it made. If the key exists and is younger than since, it
	// stores nothing and returns the stored one.
	Remember(ctx context.Context, actorID string, k Idempotency, runID string, at, since time.Time) (*Remembered, error)
}

// Remembered is a stored idempotency key.
type Remembered struct {
	RunID  string
	Digest [32]byte
}

// TicketStore stores stream tickets by the SHA-256 of their secret.
type TicketStore interface {
	SaveTicket(ctx context.Context, hash [32]byte, runID string, h TicketOwner, ttl time.Duration) error
	// TakeTicket deletes and returns an unexpired ticket, or returns BadTicket.
	TakeTicket(ctx context.Context, hash [32]byte) (runID string, h TicketOwner, err error)
}

// Purger deletes data that is past its retention, in bounded batches.
type Purger interface {
	// PurgeRuns deletes at most limit ended top-level runs created before t, with all their data.
	PurgeRuns(ctx context.Context, t time.Time, limit int) (int, error)
	// PurgeEvents deletes the events of at most limit ended runs that ended before t; records, logs and
	// summaries stay.
	PurgeEvents(ctx context.Context, t time.Time, limit int) (int, error)
	// PurgeKeys deletes expired idempotency keys and tickets.
	PurgeKeys(ctx context.Context, before time.Time) error
}
