package lifecycle

import (
	"context"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/runs"
)

// RejectHeld rejects a run on behalf of a part of the application, unless it is no longer held.
func (m *Machine) RejectHeld(ctx context.Context, id, by, reason string) error {
	who := actor.Actor{Type: actor.System, Name: by}
	ctx = actor.With(ctx, who)
	r, err := m.Store.Lock(ctx, id)
	if err != nil || r.Status != runs.PendingApproval {
		return err
	}
	if err := m.Note(ctx, audit.RunReject, r, map[string]any{"status": string(r.Status)}, reason); err != nil {
		return err
	}
	now := m.Now()
	_, err = m.Move(ctx, runs.Move{ID: id, From: runs.PendingApproval, To: runs.Rejected, At: now,
		Decision: &runs.Decision{By: who, At: now, Verdict: runs.RejectedByRule, Reason: reason}})
	return err
}

// Decidable returns RunNotHeld for a run that is not held, and RunRefreshing for one that is not bound yet.
func Decidable(r *runs.Run) error {
	switch {
	case r.Status != runs.PendingApproval:
		return runs.WithReasons(runs.RunNotHeld.New("the run is %s, not held", r.Status), runs.StateReason(r))
	case r.Approvals.Awaiting():
		return runs.WithReasons(runs.RunRefreshing.New("the inventory of the run is being refreshed; try again soon"),
			runs.RefreshReason(r))
	}
	return nil
}
