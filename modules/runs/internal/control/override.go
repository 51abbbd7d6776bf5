package control

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/windows"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// approvals is how often an approval is tried while windows keep changing.
const approvals = 5

// Approve asks the windows about a run before the unit that releases it.
func (c *Controller) Approve(ctx context.Context, id string, in runs.DecisionInput) (*runs.Run, error) {
	if p, known := identity.From(ctx); in.OverrideWindows && !(known && p.IsAdmin()) {
		return nil, runs.WithReasons(access.NotAllowed.New("administrators alone let a run pass its windows"),
			runs.Reason{Object: id, Next: "an administrator does, or somebody decides without override_windows"})
	}
	for n := 1; ; n++ {
		r, err := c.store.ByID(ctx, id)
		if err != nil {
			return nil, err
		}
		if in.OverrideWindows && r.Status == runs.Pending {
			return c.override(ctx, r, in)
		}
		var t policy.Timing
		if r.Status == runs.PendingApproval && r.ParentID == "" {
			if t, err = c.windows.Ask(ctx, r); err != nil {
				return nil, err
			}
		}
		r, err = c.approve(ctx, id, in, t)
		if n >= approvals || !policy.PoliciesChanged.Is(err) {
			return r, err
		}
	}
}

// bind stores what the windows say about a run that was just released.
func (c *Controller) bind(ctx context.Context, r *runs.Run, t policy.Timing, over bool) error {
	if r.ParentID != "" {
		return nil
	}
	if err := c.windows.Recheck(ctx, t); err != nil {
		return err
	}
	wait := windows.Wait(t, c.machine.Now())
	if wait == nil {
		return nil
	}
	wait.Overridden = over && wait.Closed()
	r.Gated = true
	_, err := c.machine.Waits.PutWait(ctx, r.ID, wait)
	return err
}

// override lets a run that waits for a window pass it. The row of the wait is locked before the run, as PutWait asks.
func (c *Controller) override(ctx context.Context, r *runs.Run, in runs.DecisionInput) (*runs.Run, error) {
	err := c.machine.Do(ctx, func(ctx context.Context) error {
		wait, err := c.machine.Waits.WaitOf(ctx, r.ID)
		if err != nil {
			return err
		}
		if !wait.Closed() || r.ParentID != "" {
			return runs.WithReasons(runs.RunNotHeld.New("the run is not held, and no window keeps it from starting"),
				runs.StateReason(r))
		}
		wait.Overridden = true
		opened, err := c.machine.Waits.PutWait(ctx, r.ID, wait)
		if err != nil {
			return err
		}
		now, err := c.store.Lock(ctx, r.ID)
		if err != nil {
			return err
		}
		if now.Status != runs.Pending {
			return runs.WithReasons(runs.RunNotHeld.New("the run is %s, not held", now.Status), runs.StateReason(now))
		}
		detail := map[string]any{"status": string(now.Status), "window": wait.Window, "override_windows": true}
		if err := c.machine.Note(ctx, audit.RunApprove, now, detail, in.Reason); err != nil {
			return err
		}
		if err := c.store.Amend(ctx, r.ID, runs.Amendment{Decision: &runs.Decision{By: actor.From(ctx),
			At: c.machine.Now(), Verdict: runs.Approved, Reason: in.Reason}}); err != nil {
			return err
		}
		if err := c.machine.SignalQueues(ctx, opened); err != nil {
			return err
		}
		return c.machine.Touch(ctx, r.ID)
	})
	if err != nil {
		return nil, err
	}
	return c.show(ctx, r.ID)
}
