package manage

import (
	"context"

	"github.com/writ-automation/writ/modules/policy/internal/check"
	"github.com/writ-automation/writ/modules/policy/internal/inforce"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/tx"
)

// windowKind is the name of windows in decisions. Only admins have rights to write them.
const windowKind = "window"

// Windows implements policy.Windows.
type Windows struct {
	object.Kernel
	permissions *object.Permissions
	store       policy.WindowStore
	set         *inforce.Set
	calendar    policy.Calendar
	signals     events.Signals
}

var _ policy.Windows = (*Windows)(nil)

// NewWindows returns the service for windows.
func NewWindows(
	k object.Kernel, p *object.Permissions, s policy.WindowStore, set *inforce.Set, c policy.Calendar, e events.Signals,
) *Windows {
	return &Windows{k, p, s, set, c, e}
}

// prepared refuses a caller who may not write windows, and one that is not valid.
func (s *Windows) prepared(ctx context.Context, w policy.Window) (policy.Window, error) {
	if err := s.admins(ctx); err != nil {
		return policy.Window{}, err
	}
	return check.Window(w, s.calendar)
}

func (s *Windows) admins(ctx context.Context) error {
	return s.permissions.CheckOrgs(ctx, windowKind, "")
}

// change makes a change in a unit, and wakes who looks at the runs that wait. Units of this process read the windows
// again after it.
func (s *Windows) change(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.Unit.Do(ctx, func(ctx context.Context) error {
		tx.OnCommit(ctx, s.set.Forget)
		if err := fn(ctx); err != nil {
			return err
		}
		return s.signals.Signal(ctx, events.TopicWindow, "")
	})
}

func (s *Windows) Create(ctx context.Context, w policy.Window) (policy.Window, error) {
	w, err := s.prepared(ctx, w)
	if err != nil {
		return policy.Window{}, err
	}
	s.Created(ctx, ids.Window, &w.Record)
	err = s.change(ctx, func(ctx context.Context) error {
		if err := s.store.Insert(ctx, w); err != nil {
			return err
		}
		_, all, err := s.store.List(ctx, policy.Filter{}, page.Window{Limit: 1})
		if err != nil {
			return err
		}
		if all > policy.MaxWindows {
			return policy.TooManyWindows.New("an install has at most %d windows", policy.MaxWindows)
		}
		return s.record(ctx, audit.WindowCreate, w)
	})
	if err != nil {
		return policy.Window{}, err
	}
	s.Logged(ctx, "window created", w.ID)
	return w, nil
}

func (s *Windows) Get(ctx context.Context, id string) (policy.Window, error) {
	w, err := s.store.ByID(ctx, id)
	if err != nil {
		return policy.Window{}, err
	}
	return s.shown(ctx, w)
}

func (s *Windows) shown(ctx context.Context, w policy.Window) (_ policy.Window, err error) {
	w.Match, err = readable(ctx, s.permissions, w.ID, w.Match)
	return w, err
}

func (s *Windows) List(ctx context.Context, f policy.Filter, w page.Window) ([]policy.Window, int, error) {
	list, n, err := s.store.List(ctx, f, w)
	if err == nil {
		list, err = object.Shown(ctx, list, s.shown)
	}
	return list, n, err
}

func (s *Windows) Update(
	ctx context.Context, id string, revision int64, w policy.Window,
) (out policy.Window, err error) {
	err = s.Retry(ctx, revision, func() error {
		out, err = s.update(ctx, id, revision, w)
		return err
	})
	if err != nil {
		return policy.Window{}, err
	}
	s.Logged(ctx, "window changed", id)
	return out, nil
}

func (s *Windows) update(
	ctx context.Context, id string, revision int64, w policy.Window,
) (out policy.Window, err error) {
	if w, err = s.prepared(ctx, w); err != nil {
		return out, err
	}
	was, err := s.store.ByID(ctx, id)
	if err == nil {
		err = object.CheckRevision(revision, was.Record)
	}
	if err != nil {
		return out, err
	}
	s.Updated(was.Record, &w.Record)
	err = s.change(ctx, func(ctx context.Context) error {
		if out, err = s.store.Update(ctx, w, was.Revision); err != nil {
			return err
		}
		return s.record(ctx, audit.WindowUpdate, out)
	})
	return out, err
}

func (s *Windows) Delete(ctx context.Context, id string, revision int64) error {
	if err := s.admins(ctx); err != nil {
		return err
	}
	err := s.change(ctx, func(ctx context.Context) error {
		was, err := s.store.ByID(ctx, id)
		if err != nil {
			return err
		}
		if err := s.store.Delete(ctx, id, revision); err != nil {
			return err
		}
		return s.Recorder.Record(ctx, object.Deleted(audit.WindowDelete, was.Record))
	})
	if err == nil {
		s.Logged(ctx, "window deleted", id)
	}
	return err
}

// record records what a window does, and the digest of everything that a caller may set.
func (s *Windows) record(ctx context.Context, a audit.Action, w policy.Window) error {
	content := w
	content.Record = object.Record{Name: w.Name}
	sum, err := digest(content)
	if err != nil {
		return err
	}
	d := object.Detail{"mode": string(w.Mode), "outside": string(w.Outside), "enabled": w.Enabled,
		"revision": int(w.Revision), "digest": sum}
	return s.Recorder.Record(ctx, object.Entry(a, w.Record, d))
}
