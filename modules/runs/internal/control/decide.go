package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// approve adds the consent of the caller. t is what the windows say about the run.
func (c *Controller) approve(
	ctx context.Context, id string, in runs.DecisionInput, t policy.Timing,
) (*runs.Run, error) {
	return c.decide(ctx, id, audit.RunApprove, in, func(ctx context.Context, r *runs.Run, holds []int) error {
		digest := r.Approvals.Current.Digest()
		given := r.Approvals.Of(digest)
		who := actor.From(ctx)
		mine := slices.IndexFunc(given, func(a runs.Approval) bool { return same(a.By, who) })
		if mine >= 0 {
			return runs.WithReasons(runs.AlreadyApproved.New("you have approved the run already"), runs.Reason{Object: r.ID,
				Since: given[mine].At, Next: fmt.Sprintf("somebody else approves it; %d are needed", r.Approvals.Needed())})
		}
		now := c.machine.Now()
		r.Approvals.Given = append(given, runs.Approval{By: who, At: now, Reason: in.Reason, Holds: holds,
			Digest: digest})
		if !r.Approvals.Complete() {
			if err := c.store.Amend(ctx, id, runs.Amendment{Approvals: r.Approvals}); err != nil {
				return err
			}
			return c.machine.Touch(ctx, id)
		}
		r.Approvals.Approve()
		moved, err := c.machine.Move(ctx, runs.Move{ID: id, From: runs.PendingApproval, To: runs.Pending, At: now,
			Approvals: r.Approvals,
			Decision:  &runs.Decision{By: who, At: now, Verdict: runs.Approved, Reason: in.Reason}})
		if err != nil {
			return err
		}
		r.Status, r.Gated = runs.Pending, moved.Gated
		if err := c.bind(ctx, r, t, in.OverrideWindows); err != nil {
			return err
		}
		if err := c.machine.Open(ctx, r); err != nil || r.ParentID == "" {
			return err
		}
		return c.machine.Settle(ctx, r.ParentID)
	})
}

func (c *Controller) Reject(ctx context.Context, id string, in runs.DecisionInput) (*runs.Run, error) {
	return c.decide(ctx, id, audit.RunReject, in, func(ctx context.Context, _ *runs.Run, _ []int) error {
		now := c.machine.Now()
		_, err := c.machine.Move(ctx, runs.Move{ID: id, From: runs.PendingApproval, To: runs.Rejected, At: now,
			Decision: &runs.Decision{By: actor.From(ctx), At: now, Verdict: runs.RejectedByRule, Reason: in.Reason}})
		return err
	})
}

// decide does what a decision changes, in a unit with its entry, if the run is held, the caller may decide and has seen
// what the run would execute. If that changes before the unit commits, an approved run fails when it is executed.
func (c *Controller) decide(
	ctx context.Context, id string, action audit.Action, in runs.DecisionInput,
	do func(context.Context, *runs.Run, []int) error,
) (*runs.Run, error) {
	if err := guard.CheckReason(in.Reason); err != nil {
		return nil, err
	}
	r, err := c.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	var current runs.Parts
	if lifecycle.Decidable(r) == nil {
		if current, err = c.binder.Bind(ctx, r); err != nil {
			return nil, err
		}
	}
	err = c.machine.Do(ctx, func(ctx context.Context) error {
		r, err := c.store.Lock(ctx, id)
		if err != nil {
			return err
		}
		holds, err := c.mayDecide(ctx, r)
		if err != nil {
			return err
		}
		if err := lifecycle.Decidable(r); err != nil {
			return err
		}
		if current == nil { // it was not held, or refreshing, when it was read
			return runs.WithReasons(runs.RunStateChanged.New("the run changed meanwhile; try again"), runs.StateReason(r))
		}
		if err := c.seen(r, current, in.Digest); err != nil {
			return err
		}
		detail := map[string]any{"status": string(r.Status), "digest": current.Digest()}
		if in.OverrideWindows {
			detail["override_windows"] = true
		}
		if err := c.machine.Note(ctx, action, r, detail, in.Reason); err != nil {
			return err
		}
		return do(ctx, r, holds)
	})
	if err != nil {
		return nil, err
	}
	return c.show(ctx, id)
}

// seen returns ApprovalStale unless the approver has seen what the run would execute now.
func (c *Controller) seen(r *runs.Run, current runs.Parts, digest string) error {
	a := r.Approvals
	a.See(current)
	changed := a.Parts.Changed(current)
	if digest == current.Digest() || digest == "" && len(changed) == 0 {
		return nil
	}
	what := "what the run would execute is not what was looked at"
	if len(changed) > 0 {
		what = "what the run would execute has changed since it was held (" + strings.Join(changed, ", ") + ")"
	}
	f := runs.ApprovalStale.New("%s; look at it again and decide with its approval_digest", what)
	return runs.WithReasons(f.With("changed", changed), runs.Reason{Text: what, Object: r.ID, Since: r.CreatedAt,
		Next: "look at it again and decide with its approval_digest"})
}

// mayDecide returns the indexes of the holds about which the caller may decide. If there are none, it returns
// NotAllowed, or DistinctApprover if the caller may not because it asked for the run.
func (c *Controller) mayDecide(ctx context.Context, r *runs.Run) ([]int, error) {
	if r.Approvals == nil {
		r.Approvals = &runs.Approvals{Holds: []runs.Hold{{Name: runs.RequestedApproval, Needed: 1}}}
	}
	teams, err := c.teamsOf(ctx, r.Approvals.Holds)
	if err != nil {
		return nil, err
	}
	p, known := identity.From(ctx)
	admin := known && p.IsAdmin()
	var out []int
	own := false
	for i, h := range r.Approvals.Holds {
		member := slices.ContainsFunc(h.Teams, func(id string) bool { return teams[id] })
		switch {
		case len(h.Teams) > 0 && !member, len(h.Teams) == 0 && !admin:
		case h.Distinct && same(r.Requester(), actor.From(ctx)):
			own = true
		default:
			out = append(out, i)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case own:
		text := "you asked for this run"
		if r.Origin.Owner != "" {
			text = fmt.Sprintf("%q, which acts for you, asked for this run", r.Actor.Shown())
		}
		return nil, runs.WithReasons(runs.DistinctApprover.New("%s; somebody else must decide", text),
			runs.Reason{Object: r.ID, Since: r.CreatedAt, Next: "somebody else decides: " + deciders(r.Approvals.Holds)})
	default:
		who := deciders(r.Approvals.Holds)
		return nil, runs.WithReasons(access.NotAllowed.New("you may not decide about this run: %s", who),
			runs.Reason{Object: r.ID, Since: r.CreatedAt, Next: "somebody else decides: " + who})
	}
}

// teamsOf returns the teams of the caller, if a hold asks for teams.
func (c *Controller) teamsOf(ctx context.Context, holds []runs.Hold) (map[string]bool, error) {
	asked := slices.ContainsFunc(holds, func(h runs.Hold) bool { return len(h.Teams) > 0 })
	p, known := identity.From(ctx)
	if !asked || !known || c.teams == nil {
		return nil, nil
	}
	list, err := c.teams.TeamsOf(ctx, p.User.ID)
	out := make(map[string]bool, len(list))
	for _, t := range list {
		out[t.ID] = true
	}
	return out, err
}

func deciders(holds []runs.Hold) string {
	if slices.ContainsFunc(holds, func(h runs.Hold) bool { return len(h.Teams) == 0 }) {
		return "administrators do"
	}
	return "the members of its approver teams do"
}

// same reports whether two actors are one account.
func same(a, b actor.Actor) bool {
	if a.ID != "" || b.ID != "" {
		return a.ID == b.ID
	}
	return a.Type == b.Type && a.Name == b.Name
}
