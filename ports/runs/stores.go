package runs

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
)

// Store keeps run records. Writes keep the counters, the search index and the labels in step.
type Store interface {
	// Insert stores a new run and sets its Seq. A step whose (parent, name, attempt) or a shard whose
	// (parent, index) exists is RunStateChanged. Objects come to be sorted and unique; a run without any gets those of
	// ObjectsOf.
	Insert(ctx context.Context, r *Run) error
	// ByID returns one run whole. RunNotFound.
	ByID(ctx context.Context, id string) (*Run, error)
	// Lock returns one run whole and holds its row until the unit ends, so that two endings of its children
	// roll up one after the other.
	Lock(ctx context.Context, id string) (*Run, error)
	// List returns a page without variables, outputs, environments, graphs and objects, of what f.Scope may read.
	List(ctx context.Context, f Filter) (*List, error)
	// Children returns a parent's children whole but for their variables, shards by index, steps by creation.
	Children(ctx context.Context, parentID string) ([]*Run, error)
	// Move changes a run's state from m.From to m.To with the rest of m, appends its status event and returns the
	// new record without variables. RunStateChanged where the run is in another state, LeaseLost where m.Lease is
	// set and rules no more.
	Move(ctx context.Context, m Move) (*Run, error)
	// Amend changes what is not the state. RunNotFound.
	Amend(ctx context.Context, id string, a Amendment) error
	// Counts returns how many runs there are by status and queue, from counters.
	Counts(ctx context.Context) ([]Count, error)
}

// Move is a conditional transition. Zero members leave the record as it is.
type Move struct {
	ID       string
	From, To Status
	At       time.Time
	Lease    *Lease // the holder that must rule
	// Drop ends the lease without ending the run's state: a divided split, a release.
	DropLease bool
	ExitCode  *int
	Error     string
	Warnings  []Warning // added to those there are
	Outputs   Vars
	Commit    string
	Counts    HostCounts
	Touched   int
	LogBytes  int64
	Omitted   int64
	LogSHA256 string
	Decision  *Decision
	StartedAt time.Time
	Isolation Isolation
}

// Amendment is a change beside the state. Nil members leave the record as it is.
type Amendment struct {
	CancelRequested *bool
	Graph           *Graph
	Warnings        []Warning // added
	ShardCount      *int
	Lease           *Lease // the holder that must rule, nil for none
	DropLease       bool   // the run keeps its state and has no holder any more
}

// Count is how many runs are in a state, by queue. Top counts those that are nobody's children.
type Count struct {
	Status Status
	Queue  string
	Runs   int64
	Top    int64
	Oldest time.Time // queue time of the oldest pending run; zero for other states
}

// ObjectStore tells what decides who may read a run.
type ObjectStore interface {
	// Objects returns a run's objects, for less than its record. RunNotFound.
	Objects(ctx context.Context, id string) ([]string, error)
	// Unfinished returns runs that have not ended and name an object, the oldest first, at most limit of them, and how
	// many there are. Of parents and their children it tells the parents.
	Unfinished(ctx context.Context, object string, limit int) (list []string, total int, err error)
}

// Queue leases pending runs. Lease ages are judged by the store's own clock.
type Queue interface {
	// Claim moves the next claimable run of the queues from pending to running under a new epoch and returns it
	// whole with the next event sequence, or nil. Of many concurrent callers each run goes to exactly one. A
	// pending parent of the claimed run starts running with it.
	Claim(ctx context.Context, r ClaimRequest, ttl time.Duration, at time.Time) (*Assignment, error)
	// Begin marks that a process may exist from now on, LeaseLost otherwise. It returns the run's id, kind, name and
	// parent, or nil where it was marked before: of all calls for a run one returns a record.
	Begin(ctx context.Context, l Lease, at time.Time) (*Run, error)
	// Beat renews the leases that still rule, in one statement.
	Beat(ctx context.Context, worker string, leases []Lease, ttl time.Duration) ([]Beat, error)
	// Expired lists runs whose lease has run out, without variables, at most limit.
	Expired(ctx context.Context, limit int) ([]*Run, error)
	// Leased lists the runs that a worker holds, without variables.
	Leased(ctx context.Context, worker string) ([]*Run, error)
}

// LogStore keeps output in compressed chunks.
type LogStore interface {
	// AppendLog stores a chunk at its offset under the lease and advances the run's log length; bytes already
	// held are ignored. A chunk beyond the next offset leaves a hole, which counts as omitted: the holder dropped
	// it.
	AppendLog(ctx context.Context, l Lease, c LogChunk) (LogState, error)
	// TrimLog drops what is stored of [from, to) and counts it as omitted. A chunk that goes beyond to is kept whole.
	TrimLog(ctx context.Context, l Lease, from, to int64) (LogState, error)
	// ReadLog calls yield with the stored chunks that touch [from, to), in order, cut to that stretch.
	ReadLog(ctx context.Context, runID string, from, to int64, yield func(LogChunk) error) error
}

// LogState is how much a run has printed, and how much of it is not kept. Stored is how many bytes of an appended
// chunk were stored now, zero for those held already.
type LogState struct {
	Next    int64
	Omitted int64
	Stored  int64
}

// EventStore keeps structured events.
type EventStore interface {
	// AppendEvents stores events under the lease and advances the run's event count. Events already held are
	// ignored, a gap is SequenceGap.
	AppendEvents(ctx context.Context, l Lease, events []Event) (next int64, err error)
	// Events returns at most limit events after seq, in order.
	Events(ctx context.Context, runID string, after int64, limit int) ([]Event, error)
}

// SummaryStore keeps what a run did on each host and in each task.
type SummaryStore interface {
	SaveHosts(ctx context.Context, runID string, hosts []HostSummary) error
	SaveTasks(ctx context.Context, runID string, tasks []TaskSummary) error
	SaveFacts(ctx context.Context, runID string, facts []HostFacts) error
	Hosts(ctx context.Context, runID string) ([]HostSummary, error)
	Tasks(ctx context.Context, runID string) ([]TaskSummary, error)
	// HostMeans returns the mean duration of each host over the recent runs of a lineage; hosts without history
	// are absent.
	HostMeans(ctx context.Context, lineage string, hosts []string) (map[string]time.Duration, error)
	// Previous returns the id of the newest ended run of the lineage created before the given run that the scope may
	// read, empty where there is none.
	Previous(ctx context.Context, r *Run, s access.Scope) (string, error)
}

// KeyStore remembers idempotency keys.
type KeyStore interface {
	// Remember stores the key of an actor with the run that it made. Where the key exists and is younger than
	// since, it stores nothing and returns what is remembered.
	Remember(ctx context.Context, actorID string, k Idempotency, runID string, at, since time.Time) (*Remembered, error)
}

// Remembered is an idempotency key seen before.
type Remembered struct {
	RunID  string
	Digest [32]byte
}

// TicketStore keeps stream tickets by the SHA-256 of their secret.
type TicketStore interface {
	SaveTicket(ctx context.Context, hash [32]byte, runID string, h TicketOwner, ttl time.Duration) error
	// TakeTicket deletes and returns a ticket that has not expired. BadTicket otherwise.
	TakeTicket(ctx context.Context, hash [32]byte) (runID string, h TicketOwner, err error)
}

// Purger drops what retention no longer wants, in bounded batches.
type Purger interface {
	// PurgeRuns deletes at most limit ended top-level runs created before t, with all that belongs to them.
	PurgeRuns(ctx context.Context, t time.Time, limit int) (int, error)
	// PurgeEvents deletes the events of at most limit ended runs that ended before t; records, logs and
	// summaries stay.
	PurgeEvents(ctx context.Context, t time.Time, limit int) (int, error)
	// PurgeKeys deletes idempotency keys and tickets that are over.
	PurgeKeys(ctx context.Context, before time.Time) error
}
