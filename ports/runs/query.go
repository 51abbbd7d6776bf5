package runs

import (
	"context"
	"io"
	"time"

	"github.com/writ-automation/writ/ports/access"
)

// Filter narrows a run list. Children of splits and pipelines are never in it; Shards and Steps list those.
type Filter struct {
	Statuses  []Status
	Tool      string
	Task      string    // runs in which a task of this name ran
	After     time.Time // created at or after
	Before    time.Time // created before
	Terms     []string  // every word must begin some word of the run's text
	Sources   []Source
	Actor     string // name or id
	Host      string
	Labels    map[string]string
	Change    string
	Template  string // template id, whatever launched it
	Queue     string
	Oldest    bool // oldest first; newest first otherwise
	Limit     int
	Offset    int
	Cursor    string // keyset; beats Offset
	SkipTotal bool
	// Scope is who reads: runs that name an object which it may not read are left out.
	Scope access.Scope
}

// Filtered reports whether anything but order and paging narrows the list.
func (f *Filter) Filtered() bool {
	return len(f.Statuses)+len(f.Terms)+len(f.Sources)+len(f.Labels) > 0 || f.Tool != "" || f.Task != "" ||
		!f.After.IsZero() || !f.Before.IsZero() || f.Actor != "" || f.Host != "" || f.Change != "" || f.Template != "" ||
		f.Queue != ""
}

// TotalCap is how far the total of a list is counted exactly that is filtered or hides runs from its reader.
const TotalCap = 10_000

// List is a page of runs without their variables, outputs, environment and graphs.
type List struct {
	Runs        []*Run
	Total       int
	TotalCapped bool
	HasMore     bool
	NextCursor  string // empty on the last page
}

// EventPage is a stretch of a run's events. End says that the run has ended and no event follows.
type EventPage struct {
	Events    []Event
	NextAfter int64
	End       bool
}

// LogRange asks for a part of a log. Tail, where positive, asks for that many bytes at the end; else From and To
// bound a stretch [From, To) of all that was printed, To zero meaning the end.
type LogRange struct {
	Tail     int64
	From, To int64
}

// LogView is a part of a log, opened. Bytes that were dropped from the middle are counted, not replaced; of a stretch
// that was asked for by its bounds it is the first part without such a gap, which is empty where nothing of it is kept.
type LogView struct {
	Total     int64 // all that the run printed
	From, To  int64 // the stretch that Copy writes
	Omitted   int64 // bytes dropped when the log outgrew its cap, plus those before From where Tail cut
	Truncated bool
	Sealed    bool // the run has ended; nothing is added any more
	Copy      func(ctx context.Context, w io.Writer) error
}

// Reader answers questions about runs. Every method returns RunNotFound for an unknown run, which is also what a run is
// that the caller may not read.
type Reader interface {
	Get(ctx context.Context, id string) (*Run, error)
	// List returns a page of what the caller may read, whatever f.Scope says.
	List(ctx context.Context, f Filter) (*List, error)
	// Children lists the shards of a split or the step runs of a pipeline that exist, in order.
	Children(ctx context.Context, id string) ([]*Run, error)
	Events(ctx context.Context, id string, after int64, limit int) (*EventPage, error)
	Log(ctx context.Context, id string, r LogRange) (*LogView, error)
	Hosts(ctx context.Context, id string) ([]HostSummary, error)
	Tasks(ctx context.Context, id string) ([]TaskSummary, error)
	// Compare holds a run against a baseline: a run's id, or "prev" for the previous run of the same lineage,
	// NoBaseline where there is none, or none that the caller may read.
	Compare(ctx context.Context, id, with string) (*Comparison, error)
}

// Verdict tells how a host changed between two runs.
type Verdict string

// The verdicts of a comparison.
const (
	Broke        Verdict = "broke"
	Recovered    Verdict = "recovered"
	StillFailing Verdict = "still_failing"
	Same         Verdict = "same"
	Added        Verdict = "added"
	Gone         Verdict = "gone"
)

// HostChange is one host in two runs; a side where the host is absent is empty.
type HostChange struct {
	Host    string
	Before  Outcome
	After   Outcome
	Verdict Verdict
}

// TaskChange is one task's time in two runs.
type TaskChange struct {
	Task          string
	Before, After time.Duration
}

// Comparison is a run beside its baseline.
type Comparison struct {
	Run, Baseline *Run
	Before, After time.Duration
	Hosts         []HostChange
	Tasks         []TaskChange
	ChangedFields []string
}

// Update is one thing that a live stream tells. Exactly one member is set.
type Update struct {
	Run   *Run
	Event *Event
	// Log is a piece of the log that no character continues, unless the log itself ends or has a hole there.
	Log *LogChunk
	// Matrix is what became of the run's matrix, at most ten times a second.
	Matrix *MatrixDelta
	Beat   bool // nothing happened for a while; the connection lives
	End    bool // the run has ended and everything before was told
}

// Streamer follows a run while it happens.
type Streamer interface {
	// Follow calls emit with the run's record, then with everything after the given event and log offset, in
	// order and without a gap, until the run has ended (a last Update with End) or ctx or emit ends it. A caller who may
	// not read the run any more is told nothing 15 seconds later: RunNotFound.
	Follow(ctx context.Context, id string, after, logOffset int64, emit func(Update) error) error
}

// TicketTTL is how long a stream ticket may be used.
const TicketTTL = 30 * time.Second

// TicketOwner is who minted a ticket: an account, by one of its tokens. The ticket is worth no more than that token.
type TicketOwner struct{ Account, Token string }

// Tickets are single-use keys to the live stream of one run.
type Tickets interface {
	// Mint makes a ticket for the actor of ctx. RunNotFound for an unknown run.
	Mint(ctx context.Context, runID string) (ticket string, err error)
	// Redeem consumes a ticket. BadTicket for one that is unknown, used, expired or another run's; of many
	// concurrent calls exactly one succeeds. It returns who minted it.
	Redeem(ctx context.Context, ticket, runID string) (TicketOwner, error)
}
