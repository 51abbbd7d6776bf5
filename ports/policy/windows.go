package policy

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// The bounds of windows: their number, and how long an occurrence of one lasts.
const (
	MaxWindows        = 1000
	MinWindowDuration = time.Minute
	MaxWindowDuration = 366 * 24 * time.Hour
)

// WindowMode says whether runs start inside or outside of a window.
type WindowMode string

// A run to which allow windows apply starts inside of one of them. Inside of a deny window that applies it does not
// start.
const (
	AllowWindow WindowMode = "allow"
	DenyWindow  WindowMode = "deny"
)

// Outside is what happens to a request for a run that may not start now.
type Outside string

// OutsideWait lets the run wait until it may start, OutsideDeny refuses the request. If windows differ, it is refused.
const (
	OutsideWait Outside = "wait"
	OutsideDeny Outside = "deny"
)

// Window says when runs may start. Either Cron and Duration are set, or From and To. It belongs to no organization.
type Window struct {
	object.Record
	Mode    WindowMode
	Enabled bool
	Match   Match
	// Cron has the times at which an occurrence begins, and Duration how much time it lasts, in seconds. Occurrences that
	// overlap or touch are one.
	Cron     string
	Duration int64
	// From is the begin of the only occurrence, To its end, which is no part of it. Each is an instant (RFC 3339), or a
	// local time of the zone without an offset.
	From, To string
	// Timezone is the name of an IANA zone, empty for the server's local time.
	Timezone string
	Outside  Outside
}

// Windows manages windows. Everybody who is signed in may read them, without the ids of objects that the caller may not
// read; administrators write them. They need no licence. Errors: WindowNotFound, NotAllowed.
type Windows interface {
	// Create stores a window. Errors: Invalid faults name the field; NameTaken; TooManyWindows.
	Create(ctx context.Context, w Window) (Window, error)
	Get(ctx context.Context, id string) (Window, error)
	List(ctx context.Context, f Filter, w page.Window) ([]Window, int, error)
	// Update replaces a window. Revision 0 replaces any, another one returns RevisionChanged if the window has changed.
	// Further errors are those of Create. Runs that wait are bound by what the window says now.
	Update(ctx context.Context, id string, revision int64, w Window) (Window, error)
	Delete(ctx context.Context, id string, revision int64) error
}

// WindowStore stores windows. Writes join the unit of ctx and increment the version of policies and that of windows; a
// unit that writes excludes others that do, and writers of policies, until it ends.
type WindowStore interface {
	// Insert stores a window. Errors: NameTaken.
	Insert(ctx context.Context, w Window) error
	ByID(ctx context.Context, id string) (Window, error)
	// List returns a page by name, and the number of all.
	List(ctx context.Context, f Filter, w page.Window) ([]Window, int, error)
	// Update replaces a window at a revision. Errors: WindowNotFound, NameTaken, RevisionChanged.
	Update(ctx context.Context, w Window, revision int64) (Window, error)
	// Delete removes a window at a revision; 0 is any. Errors: WindowNotFound, RevisionChanged.
	Delete(ctx context.Context, id string, revision int64) error
	// Version counts the committed changes of all windows, and those of the unit of ctx.
	Version(ctx context.Context) (int64, error)
	// Enabled returns the enabled windows by name, and their version. If a change commits during the call, they may be
	// newer than the version, never older.
	Enabled(ctx context.Context) ([]Window, int64, error)
}

// Times returns the first occurrence after an instant, false if there is none.
type Times func(after time.Time) (time.Time, bool)

// Calendar reads the times of windows by the rules of schedules.
type Calendar interface {
	// Times parses a cron expression of a zone. Errors: Invalid faults name cron or timezone.
	Times(cron, timezone string) (Times, error)
	// Instant returns the first instant at which the clock of a zone shows or has passed a reading, which is given as the
	// time of that reading in UTC. Errors: an Invalid fault names timezone.
	Instant(reading time.Time, timezone string) (time.Time, error)
}

// Timing says when windows let a run start.
type Timing struct {
	// Closed is the window that keeps the run from starting now: of several the first by name, one that refuses before
	// one that lets wait. It is nil if the run may start.
	Closed *WindowRule
	// Opens is when the run may start, zero if it may start now, if it never will, or if that is too far away.
	Opens time.Time
	// Again is when it has to be asked again: until then the answer is the same. It is zero if that is so for ever.
	Again time.Time
	// Version is the one of the windows that were asked.
	Version int64
}

// WindowRule is what is said about a window that is closed for a run.
type WindowRule struct {
	ID, Name string
	Outside  Outside
}
