package runs

import (
	"context"
	"time"
)

// Wait is what the windows say about a pending run without a parent that was never claimed. A run to which no window
// applies has none.
type Wait struct {
	// WindowID and Window name the window that keeps the run from starting. They are empty for a run that may start.
	WindowID, Window string
	// Since is when a window first kept it from starting, Opens when it may start, zero if that is not known.
	Since, Opens time.Time
	// Again is until when this holds. Zero is for ever.
	Again time.Time
	// Version is the one of the windows that were asked.
	Version int64
	// Overridden lets the run start whatever windows say.
	Overridden bool
}

// Closed reports whether a window keeps the run from starting. A nil Wait is open.
func (w *Wait) Closed() bool { return w != nil && w.WindowID != "" && !w.Overridden }

// Waiting is a run that has to be asked about, with its place in the order of creation.
type Waiting struct {
	ID        string
	Seq       int64
	CreatedAt time.Time
}

// WaitStore stores what the windows say about runs. Store.Insert stores the Wait of a new run. Queue.Claim starts no
// run whose Wait is closed or no longer holds; such a run is not claimable until PutWait opens it. Whether it holds is
// decided by the time of the caller. The Wait of a run ends with its first claim.
type WaitStore interface {
	// PutWait replaces the Wait of a run, nil with none, and returns the queues in which runs became claimable. A run
	// that is not pending or was claimed loses its Wait. One that is overridden keeps it. Since stays while a run stays
	// closed. It may wait for units that change the run; a unit calls it before it locks the run, or after it made the
	// run pending.
	PutWait(ctx context.Context, id string, w *Wait) (opened []string, err error)
	// WaitOf returns the Wait of a run or, for a child, that of its parent; nil for none.
	WaitOf(ctx context.Context, id string) (*Wait, error)
	// DueWaits returns the runs after a seq, at most limit, whose Wait holds no longer at a time or is of another version.
	DueWaits(ctx context.Context, version int64, at time.Time, after int64, limit int) ([]Waiting, error)
	// NextWait returns the earliest time after which a Wait no longer holds, zero for none.
	NextWait(ctx context.Context) (time.Time, error)
	// Unasked returns pending runs without a Wait that were never claimed, at most limit, in the order of creation
	// after a run; the zero value is before all.
	Unasked(ctx context.Context, after Waiting, limit int) ([]Waiting, error)
	// Asked returns the version of the windows up to which all runs without a Wait were asked about.
	Asked(ctx context.Context) (version int64, err error)
	// SetAsked raises that version.
	SetAsked(ctx context.Context, version int64) error
}
