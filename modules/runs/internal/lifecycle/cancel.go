package lifecycle

import (
	"context"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// Cancel ends a run that is not executing, and asks the holder of a running one to end it. It handles the children of
// a parent first. Cancel returns RunNotCancelable for a run that has ended.
func (m *Machine) Cancel(ctx context.Context, id string) error {
	r, err := m.Store.ByID(ctx, id)
	if err != nil {
		return err
	}
	if !r.Kind.Parent() {
		if err := m.cancelOne(ctx, id, requested); err != nil {
			return err
		}
		if r.ParentID != "" {
			return m.Settle(ctx, r.ParentID)
		}
		return nil
	}
	return m.cancelTree(ctx, r)
}

// requested marks a run whose cancellation was requested, unlike a child that is cancelled with its parent.
const requested = true

func (m *Machine) cancelOne(ctx context.Context, id string, asked bool) error {
	r, err := m.Store.Lock(ctx, id)
	if err != nil {
		return err
	}
	if r.Status.Terminal() {
		return ended(r)
	}
	if asked {
		if err := m.noteCancel(ctx, r); err != nil {
			return err
		}
	}
	if r.Status == runs.Running {
		return m.ask(ctx, r)
	}
	_, err = m.MoveAlone(ctx, runs.Move{ID: r.ID, From: r.Status, To: runs.Canceled, Canceled: m.cancellation(ctx)})
	return err
}

// cancellation is the request of the actor of the context.
func (m *Machine) cancellation(ctx context.Context) *runs.Cancellation {
	by := actor.From(ctx)
	return &runs.Cancellation{By: actor.Actor{Type: by.Type, ID: by.ID, Name: by.Name}, At: m.Now()}
}

// ended refuses to cancel a run that has ended.
func ended(r *runs.Run) error {
	return runs.WithReasons(runs.RunNotCancelable.New("the run is %s already", r.Status), runs.StateReason(r))
}

// noteCancel records a request to cancel a run, including a repeated one.
func (m *Machine) noteCancel(ctx context.Context, r *runs.Run) error {
	return m.Note(ctx, audit.RunCancel, r, map[string]any{"status": string(r.Status)}, "")
}

// ask stores the request to cancel, which the run's holder reads.
func (m *Machine) ask(ctx context.Context, r *runs.Run) error {
	if r.CancelRequested {
		return nil
	}
	yes := true
	if err := m.Store.Amend(ctx, r.ID, runs.Amendment{CancelRequested: &yes, Canceled: m.cancellation(ctx)}); err != nil {
		return err
	}
	r.CancelRequested = true
	if err := m.Signals.Signal(ctx, events.TopicCancel, r.ID); err != nil {
		return err
	}
	return m.Touch(ctx, r.ID)
}

// cancelTree cancels a parent that was read without its lock. The entry of the request precedes the entries of the
// children that end with it. If the parent has changed when it is locked, the unit starts again.
func (m *Machine) cancelTree(ctx context.Context, was *runs.Run) error {
	id := was.ID
	if err := m.noteCancel(ctx, was); err != nil {
		return err
	}
	children, err := m.Store.Children(ctx, id)
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(children))
	for _, k := range children {
		seen[k.ID] = true
		if k.Status.Terminal() {
			continue
		}
		// A child that has ended since is settled already.
		if err := m.cancelOne(ctx, k.ID, !requested); err != nil && !runs.RunNotCancelable.Is(err) {
			return err
		}
	}
	p, err := m.Store.Lock(ctx, id)
	if err != nil {
		return err
	}
	if p.Status.Terminal() {
		return ended(p)
	}
	if p.Status != was.Status {
		return ErrAgain
	}
	if children, err = m.Store.Children(ctx, id); err != nil {
		return err
	}
	for _, k := range children {
		if !seen[k.ID] {
			return ErrAgain
		}
	}
	return m.cancelParent(ctx, p, children)
}

func (m *Machine) cancelParent(ctx context.Context, p *runs.Run, children []*runs.Run) error {
	if p.Status != runs.Running && len(children) == 0 {
		_, err := m.MoveAlone(ctx, runs.Move{ID: p.ID, From: p.Status, To: runs.Canceled, Canceled: m.cancellation(ctx)})
		return err
	}
	if err := m.ask(ctx, p); err != nil {
		return err
	}
	return m.settle(ctx, p, children)
}
