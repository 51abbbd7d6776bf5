package runs

import (
	"context"
	"io"
	"time"

	"github.com/writ-automation/writ/ports/access"
)

// Filter restricts a run list. Children of splits and pipelines are never in it; Shards and Steps list those.
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
	Templates []string // ids of templates, whatever launched them
	Queue     string
	Oldest    bool // oldest first; newest first otherwise
	Limit     int
	Offset    int
	Cursor    string // keyset; takes precedence over Offset
	SkipTotal bool
	// Scope holds the rights of the reader. Runs that name an object which the reader may not read are left out.
	Scope access.Scope
}

// Filtered reports whether the filter restricts the list, besides order and paging.
func (f *Filter) Filtered() bool {
	return len(f.Statuses)+len(f.Terms)+len(f.Sources)+len(f.Labels)+len(f.Templates) > 0 || f.Tool != "" ||
		f.Task != "" || !f.After.IsZero() || !f.Before.IsZero() || f.Actor != "" || f.Host != "" || f.Change != "" ||
		f.Queue != ""
}

// TotalCap is the maximum of an exact total, for a list that is filtered or hides runs from its reader.
const TotalCap = 10_000

// List is a page of runs without their variables, outputs, environment and graphs.
type List struct {
	Runs        []*Run
	Total       int
	TotalCapped bool
	HasMore     bool
	NextCursor  string // empty on the last page
	// FirstCursor is the position of the first run: a list in the opposite order from there has the runs before it.
	FirstCursor string
}

// EventPage is a page of a run's events. End means that the run has ended and no event follows.
type EventPage struct {
	Events    []Event
	NextAfter int64
	End       bool
}

// LogRange selects a part of a log. A positive Tail selects that many bytes at the end. Otherwise From and To select
// the range [From, To) of the whole output; a To of zero means the end. A positive Line selects that many Lines from
// that line on instead, at most 4 MiB. Lines are numbered from 1, without those that were dropped.
type LogRange struct {
	Tail        int64
	From, To    int64
	Line, Lines int64
}

// LogView is an open part of a log. Bytes that were dropped from the middle are counted, not replaced. For a
// requested range it is the first part without such a gap, which is empty if no byte of the range is stored.
type LogView struct {
	Total     int64 // all that the run printed
	From, To  int64 // the range that Copy writes
	Omitted   int64 // bytes dropped at the cap of the log, plus those before From that Tail cut
	Truncated bool
	Sealed    bool // the run has ended, so that nothing is added
	// Line is the number of the first line if lines were asked for: the one after the last if the log has fewer. Lines is
	// how many the log has, or 0 if that was not counted yet.
	Line, Lines int64
	Copy        func(ctx context.Context, w io.Writer) error
}

// Reader answers questions about runs. Every method returns RunNotFound for an unknown run and for one that the
// caller may not read.
type Reader interface {
	Get(ctx context.Context, id string) (*Run, error)
	// List returns a page of the runs that the caller may read. It ignores f.Scope. Records are shared between lists
	// and must not be changed.
	List(ctx context.Context, f Filter) (*List, error)
	// Children lists the shards of a split or the existing step runs of a pipeline, in order.
	Children(ctx context.Context, id string) ([]*Run, error)
	Events(ctx context.Context, id string, after int64, limit int) (*EventPage, error)
	Log(ctx context.Context, id string, r LogRange) (*LogView, error)
	Hosts(ctx context.Context, id string) ([]HostSummary, error)
	Tasks(ctx context.Context, id string) ([]TaskSummary, error)
	// Compare compares a run with a baseline: a run's id, or "prev" for the previous run of the same lineage. It
	// returns NoBaseline if there is none that the caller may read.
	Compare(ctx context.Context, id, with string) (*Comparison, error)
}

// Facets are the numbers of runs of a list by status and by tool.
type Facets struct {
	Status map[Status]int
	Tool   map[string]int
	// StatusAbout and ToolAbout mean that a facet counts only the newest of the runs that had to be looked at.
	StatusAbout, ToolAbout bool
}

// FacetReader counts the runs that the caller may read by their values. It ignores f.Scope.
type FacetReader interface {
	Facets(ctx context.Context, f Filter) (*Facets, error)
}

// Verdict is the change of a host between two runs.
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

// Comparison is the comparison of a run with its baseline.
type Comparison struct {
	Run, Baseline *Run
	Before, After time.Duration
	Hosts         []HostChange
	// Outside is how many hosts of one run the limit of the other one leaves out. They are neither added nor gone, and
	// not in Hosts.
	Outside       int
	Tasks         []TaskChange
	ChangedFields []string
}

// Update is one update of a live stream. Exactly one member before Text is set.
type Update struct {
	Run   *Run
	Event *Event
	// Log is a piece of the log that ends between two characters, unless the log itself ends or has a hole there.
	Log *LogChunk
	// Matrix holds changes of the run's matrix, at most ten times a second.
	Matrix *MatrixDelta
	Beat   bool // no update for a while
	End    bool // the run has ended and all updates were sent
	// Text is the encoded update, which the first reader makes for all that get the same one, or nil.
	Text *Encoded
	// More says that another update follows at once.
	More bool
}

// Streamer follows a run while it runs.
type Streamer interface {
	// Follow calls emit with the run's record, then with everything after the given event and log offset, in order
	// and without a gap, until the run has ended (a last Update with End) or ctx or emit ends it. It ends with
	// RunNotFound at most 15 seconds after the caller has lost the right to read the run.
	Follow(ctx context.Context, id string, after, logOffset int64, emit func(Update) error) error
}

// TicketTTL is how long a stream ticket may be used.
const TicketTTL = 30 * time.Second

// TicketOwner is the account that minted a ticket, and the token that it used. The ticket gives no more rights than
// that token.
type TicketOwner struct{ Account, Token string }

// Tickets mints and redeems single-use tickets for the live stream of one run.
type Tickets interface {
	// Mint makes a ticket for the actor of ctx, for a run or for FeedTicket. It returns RunNotFound for an unknown run.
	Mint(ctx context.Context, runID string) (ticket string, err error)
	// Redeem consumes a ticket and returns its owner. It returns BadTicket for one that is unknown, used, expired or
	// for another run. Of many concurrent calls exactly one succeeds.
	Redeem(ctx context.Context, ticket, runID string) (TicketOwner, error)
}
