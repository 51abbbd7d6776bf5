package scheduling

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Record is what schedules and triggers have alike. Names are unique per kind within an organization, on one line and
// at most 200 characters long.
type Record struct {
	ID        string
	Name      string
	Org       string // empty: none
	CreatedBy string // the account's id, or the name of an actor without one
	// Owner is the account with whose rights it fires: who changed it last. Empty is the application itself, with every
	// right.
	Owner     string
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64 // counts the changes that a caller asked for; the ETag
}

// Filter narrows a list; empty members do not.
type Filter struct {
	Name       string // exactly
	Org        string
	TemplateID string
}

// Target is what a schedule fires: exactly one member is set. The tags are those of the stored document.
type Target struct {
	TemplateID string                   `json:"template_id,omitempty"`
	Answers    map[string]any           `json:"answers,omitempty"` // of the template's survey; numbers are json.Number
	Run        *runs.Submission         `json:"run,omitempty"`     // a split where it has shards
	Pipeline   *runs.PipelineSubmission `json:"pipeline,omitempty"`
}

// Schedule fires its target by the clock.
type Schedule struct {
	Record
	Cron     string
	Timezone string // IANA zone, empty for the server's local time
	Enabled  bool
	Target   Target

	NextRunAt time.Time // zero where it fires no more
	LastRunAt time.Time // the slot that fired last
	LastRunID string
	LastError string // why the last slot made no run; empty where it did
}

// Schedules keeps schedules. One is read by whoever may read all that its target names, and kept by whoever may keep
// objects of its organization. ScheduleNotFound, NotAllowed.
type Schedules interface {
	// Create stores a schedule. Its target is judged as a submission of the caller would be: Invalid faults name cron,
	// timezone, answers.<var>, run.<member>, pipeline.<member>; NotFound and UseRequired faults name what may not be
	// used. NameTaken.
	Create(ctx context.Context, s Schedule) (Schedule, error)
	Get(ctx context.Context, id string) (Schedule, error)
	// List returns schedules by name and how many there are.
	List(ctx context.Context, f Filter, w page.Window) ([]Schedule, int, error)
	// Update replaces what a caller may set, who is its owner from then on. RevisionChanged where the revision is not 0
	// and not the stored one.
	Update(ctx context.Context, id string, revision int64, s Schedule) (Schedule, error)
	// Compare lists the members that an update would change, of those that hold secrets: answers, run and pipeline. It
	// takes the right to change the schedule.
	Compare(ctx context.Context, id string, s Schedule) ([]string, error)
	Delete(ctx context.Context, id string, revision int64) error
}

// Firing is a slot of a schedule that is to make a run. Slot is the time at which it fires, so that schedule and slot
// name it for ever; whoever holds it makes the run under the idempotency key that Key returns, so that a slot which
// two servers hold one after the other makes one run.
type Firing struct {
	Schedule Schedule
	Slot     time.Time
}

// Key is the idempotency key of the firing's run.
func (f *Firing) Key() string { return f.Schedule.ID + "@" + f.Slot.UTC().Format(time.RFC3339) }

// ScheduleStore keeps schedules and their slots. Its time is the store's own, so that servers whose clocks differ
// agree. Writes join the unit of ctx.
type ScheduleStore interface {
	// InsertSchedule stores a schedule with its next slot. NameTaken.
	InsertSchedule(ctx context.Context, s Schedule) error
	ScheduleByID(ctx context.Context, id string) (Schedule, error)
	// ListSchedules lists those of whose targets the scope may read everything.
	ListSchedules(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Schedule, int, error)
	// UpdateSchedule stores what a caller may set and the next slot, counts the revision up and returns it.
	// RevisionChanged, NameTaken, ScheduleNotFound.
	UpdateSchedule(ctx context.Context, s Schedule, revision int64) (Schedule, error)
	DeleteSchedule(ctx context.Context, id string, revision int64) error
}

// SlotStore hands slots to servers. Every method is one unit of its own or joins that of ctx.
type SlotStore interface {
	// Due returns enabled schedules whose next slot has come, the oldest first, and the store's time; with none due,
	// next is when the first one is, zero where none ever is.
	Due(ctx context.Context, limit int) (due []Schedule, now, next time.Time, err error)
	// Advance books a slot: it moves the schedule's next slot from was to next (zero: it fires no more) and, where slot
	// is not zero, makes that slot exist, held until the hold is over. ok is false where the schedule's next slot is
	// another one by now, or the slot exists.
	Advance(ctx context.Context, id string, was, next, slot time.Time, leaseTime time.Duration) (ok bool, err error)
	// Skip is Advance without a slot, with the reason for last_error.
	Skip(ctx context.Context, id string, was, next time.Time, reason string) (ok bool, err error)
	// Abandoned returns slots whose hold is over and that have neither a run nor a reason, and holds them anew. Those of
	// schedules that are gone are dropped.
	Abandoned(ctx context.Context, leaseTime time.Duration, limit int) ([]Firing, error)
	// Settle notes what became of a slot: a run, or the reason why there is none. It sets the schedule's last_* members
	// where no later slot has.
	Settle(ctx context.Context, id string, slot time.Time, runID, reason string) error
	// ForgetSlots drops slots that were settled longer than an age ago.
	ForgetSlots(ctx context.Context, age time.Duration) error
}

// Owners lets what fires by itself act with the rights of an account.
type Owners interface {
	// As returns ctx with the account as its caller, without a token. NotFound where the account is gone.
	As(ctx context.Context, userID string) (context.Context, error)
}
