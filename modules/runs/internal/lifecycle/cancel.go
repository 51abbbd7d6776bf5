package lifecycle

import (
	"context"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/runs"
)

// Cancel ends a run that nothing executes and asks the holder of any other to end it; the children of a parent first. It is
// RunNotCancelable for a run that has ended.
func (m *Machine) Cancel(ctx context.Context, id string) error {
	r, err := m.Store.ByID(ctx, id)
	if err != nil {
		return err
	}
	if !r.Kind.Parent() {
		if err := m.cancelOne(ctx, id); err != nil {
			return err
		}
		if r.ParentID != "" {
			return m.Settle(ctx, r.ParentID)
		}
		return nil
	}
	return m.cancelTree(ctx, id)
}

func (m *Machine) cancelOne(ctx context.Context, id string) error {
	r, err := m.Store.Lock(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case r.Status.Terminal():
		return runs.RunNotCancelable.New("the run is %s already", r.Status)
	case r.Status == runs.Running:
		return m.ask(ctx, r)
	default:
		_, err := m.MoveAlone(ctx, runs.Move{ID: r.ID, From: r.Status, To: runs.Canceled})
		return err
	}
}

// ask leaves the wish to cancel on a run for its holder to find.
func (m *Machine) ask(ctx context.Context, r *runs.Run) error {
	if r.CancelRequested {
		return nil
	}
	yes := true
	if err := m.Store.Amend(ctx, r.ID, runs.Amendment{CancelRequested: &yes}); err != nil {
		return err
	}
	r.CancelRequested = true
	if err := m.Signals.Signal(ctx, events.TopicCancel, r.ID); err != nil {
		return err
	}
	return m.Touch(ctx, r.ID)
}

func (m *Machine) cancelTree(ctx context.Context, id string) error {
	kids, err := m.Store.Children(ctx, id)
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(kids))
	for _, k := range kids {
		seen[k.ID] = true
		if k.Status.Terminal() {
			continue
		}
		// A child that ended since it was listed is settled already.
		if err := m.cancelOne(ctx, k.ID); err != nil && !runs.RunNotCancelable.Is(err) {
			return err
		}
	}
	p, err := m.Store.Lock(ctx, id)
	if err != nil {
		return err
	}
	if p.Status.Terminal() {
		return runs.RunNotCancelable.New("the run is %s already", p.Status)
	}
	if kids, err = m.Store.Children(ctx, id); err != nil {
		return err
	}
	for _, k := range kids {
		if !seen[k.ID] {
			return ErrAgain
		}
	}
	return m.cancelParent(ctx, p, kids)
}

func (m *Machine) cancelParent(ctx context.Context, p *runs.Run, kids []*runs.Run) error {
	if p.Status != runs.Running && len(kids) == 0 {
		_, err := m.MoveAlone(ctx, runs.Move{ID: p.ID, From: p.Status, To: runs.Canceled})
		return err
	}
	if err := m.ask(ctx, p); err != nil {
		return err
	}
	return m.settle(ctx, p, kids)
}
