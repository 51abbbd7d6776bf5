package control

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/runs"
)

func (c *Controller) Approve(ctx context.Context, id, reason string) (*runs.Run, error) {
	return c.decide(ctx, id, runs.Pending, runs.Approved, reason)
}

func (c *Controller) Reject(ctx context.Context, id, reason string) (*runs.Run, error) {
	return c.decide(ctx, id, runs.Rejected, runs.RejectedByRule, reason)
}

func (c *Controller) decide(ctx context.Context, id string, to runs.Status, verdict, reason string) (*runs.Run, error) {
	if err := guard.CheckReason(reason); err != nil {
		return nil, err
	}
	err := c.machine.Do(ctx, func(ctx context.Context) error {
		r, err := c.store.Lock(ctx, id)
		if err != nil {
			return err
		}
		if r.Status != runs.PendingApproval {
			return runs.RunNotHeld.New("the run is %s, not held", r.Status)
		}
		if err := c.machine.Note(ctx, action(to), r, map[string]any{"status": string(r.Status)}, reason); err != nil {
			return err
		}
		now := c.machine.Now()
		_, err = c.machine.Move(ctx, runs.Move{ID: id, From: runs.PendingApproval, To: to, At: now,
			Decision: &runs.Decision{By: actor.From(ctx), At: now, Verdict: verdict, Reason: reason}})
		if err != nil || to != runs.Pending {
			return err
		}
		r.Status = runs.Pending
		return c.machine.Open(ctx, r)
	})
	if err != nil {
		return nil, err
	}
	return c.show(ctx, id)
}

func action(to runs.Status) audit.Action {
	if to == runs.Pending {
		return audit.RunApprove
	}
	return audit.RunReject
}
