package scheduling

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Record holds the common fields of schedules and triggers.
type Record struct {
	object.Record
	// Owner is the account with whose rights it fires: the author of the last change. Empty is the application itself,
	// which has every right.
	Owner string
}

// Filter narrows a list. Empty fields do not filter.
type Filter struct {
	Name       string   // exactly
	Names      []string // one of them; empty for any
	Org        string
	TemplateID string
}

// Target is what a schedule starts: exactly one of the template, the run and the pipeline is set. The tags are those of
// the stored document.
type Target struct {
	TemplateID string                   `json:"template_id,omitempty"`
	Answers    map[string]any           `json:"answers,omitempty"` // of the template's survey; numbers are json.Number
	Run        *runs.Submission         `json:"run,omitempty"`     // a split if it has shards
	Pipeline   *runs.PipelineSubmission `json:"pipeline,omitempty"`
	// RequireApproval holds the runs of the schedule, whatever the target says.
	RequireApproval bool `json:"require_approval,omitempty"`
	// DryRun makes dry runs of all runs of the schedule, whatever the target says.
	DryRun bool `json:"dry_run,omitempty"`
}

// Overlap is what a schedule does when it is due and its last run is unfinished, which a held run is too.
type Overlap string

// OverlapSkip is the usual one: the slot makes no run and counts as missed. With OverlapQueue the runs wait for each
// other, by a lock of the schedule. With OverlapAllow they execute beside each other.
const (
	OverlapSkip  Overlap = "skip"
	OverlapQueue Overlap = "queue"
	OverlapAllow Overlap = "allow"
)

// Schedule fires its target by the clock.
type Schedule struct {
	Record
	Cron     string
	Timezone string // IANA zone, empty for the server's local time
	Enabled  bool
	Overlap  Overlap
	Target   Target

	NextRunAt time.Time // zero if it fires no more
	LastRunAt time.Time // the last fired slot
	LastRunID string
	LastError string // why the last slot created no run; empty if it did
}

// Schedules manages schedules. Reading one needs read access to all objects of its target; writing one needs write
// access to its organization. Errors: ScheduleNotFound, NotAllowed.
type Schedules interface {
	// Create stores a schedule; an empty Overlap is OverlapSkip. Its target is checked like a submission of the caller.
	// Errors: Invalid faults naming cron, timezone, overlap, answers.<var>, run.<member>, pipeline.<member>; NotFound
	// and UseRequired faults naming an object that may not be used; NameTaken.
	Create(ctx context.Context, s Schedule) (Schedule, error)
	Get(ctx context.Context, id string) (Schedule, error)
	// List returns schedules by name and their total number.
	List(ctx context.Context, f Filter, w page.Window) ([]Schedule, int, error)
	// Update replaces the fields that a caller may set and makes the caller the owner. Errors: RevisionChanged if the
	// revision is neither 0 nor the stored one.
	Update(ctx context.Context, id string, revision int64, s Schedule) (Schedule, error)
	// Compare returns which of the secret fields answers, run and pipeline an update would change. It needs the right
	// to change the schedule.
	Compare(ctx context.Context, id string, s Schedule) ([]string, error)
	Delete(ctx context.Context, id string, revision int64) error
}

// Firing is a slot of a schedule that is to create a run. Slot is its time; schedule and slot identify it forever. The
// holder of the slot creates the run with the idempotency key Key, so two servers that hold the slot one after the
// other create one run.
type Firing struct {
	Schedule Schedule
	Slot     time.Time
}

// Key returns the idempotency key of the firing's run.
func (f *Firing) Key() string { return f.Schedule.ID + "@" + f.Slot.UTC().Format(time.RFC3339) }

// ScheduleStore stores schedules and their slots. It uses the store's clock, so that servers with different clocks
// agree. Writes join the unit of ctx.
type ScheduleStore interface {
	// InsertSchedule stores a schedule with its next slot. Errors: NameTaken.
	InsertSchedule(ctx context.Context, s Schedule) error
	ScheduleByID(ctx context.Context, id string) (Schedule, error)
	// ListSchedules lists the schedules whose target objects the scope may all read.
	ListSchedules(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Schedule, int, error)
	// UpdateSchedule stores the fields that a caller may set and the next slot, increments the revision and returns
	// the result. Errors: RevisionChanged, NameTaken, ScheduleNotFound.
	UpdateSchedule(ctx context.Context, s Schedule, revision int64) (Schedule, error)
	DeleteSchedule(ctx context.Context, id string, revision int64) error
}

// SlotStore assigns slots to servers. Each method is one unit of its own or joins that of ctx.
type SlotStore interface {
	// Due returns enabled schedules whose next slot has come, the oldest first, and the store's time. If none is due,
	// next is the time of the first one, zero for none.
	Due(ctx context.Context, limit int) (due []Schedule, now, next time.Time, err error)
	// Now returns the store's time, which decides what is due.
	Now(ctx context.Context) (time.Time, error)
	// Advance moves the schedule's next slot from was to next (zero: it fires no more). If slot is not zero, it also
	// creates that slot, leased for leaseTime. ok is false if the schedule's next slot has changed or the slot exists.
	Advance(ctx context.Context, id string, was, next, slot time.Time, leaseTime time.Duration) (ok bool, err error)
	// Unsettled returns the oldest slot of a schedule of which neither a run nor a reason is recorded, zero for none.
	Unsettled(ctx context.Context, id string) (time.Time, error)
	// Skip is Advance without a slot, with the reason for last_error.
	Skip(ctx context.Context, id string, was, next time.Time, reason string) (ok bool, err error)
	// Abandoned returns slots with an expired lease and neither a run nor a reason, and leases them again. It deletes
	// those of deleted schedules.
	Abandoned(ctx context.Context, leaseTime time.Duration, limit int) ([]Firing, error)
	// Settle records the result of a slot: a run, or the reason why there is none. It sets the schedule's last_*
	// fields unless a later slot has.
	Settle(ctx context.Context, id string, slot time.Time, runID, reason string) error
	// ForgetSlots deletes slots that were settled more than age ago.
	ForgetSlots(ctx context.Context, age time.Duration) error
}

// Owners lets schedules and triggers act with the rights of an account.
type Owners interface {
	// As returns ctx with the account as its caller, without a token. Errors: NotFound if the account was removed.
	As(ctx context.Context, userID string) (context.Context, error)
}
