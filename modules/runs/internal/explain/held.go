package explain

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// held has a reason for each hold that lacks approvals, and one for what was changed since the run was held.
func (x *Explainer) held(ctx context.Context, r *runs.Run) ([]runs.Reason, error) {
	if err := x.Binder.Current(ctx, r); err != nil {
		return nil, err
	}
	a := r.Approvals
	if a == nil {
		a = &runs.Approvals{Holds: []runs.Hold{{Name: runs.RequestedApproval, Needed: 1}}}
	}
	var out []runs.Reason
	if a.Awaiting() {
		out = append(out, runs.RefreshReason(r))
	}
	for i := range a.Holds {
		h := &a.Holds[i]
		have := a.For(i)
		if have >= h.Needed {
			continue
		}
		text := fmt.Sprintf("the policy %q holds the run for approval", h.Name)
		if h.ID == "" {
			text = "the run was submitted with require_approval, which holds it for approval"
		}
		if h.Message != "" {
			text += ": " + h.Message
		}
		next, err := x.next(ctx, r, h, have)
		if err != nil {
			return nil, err
		}
		out = append(out, runs.Reason{Code: "held_for_approval", Object: cmp.Or(h.ID, h.Name), Text: text,
			Since: r.CreatedAt, Next: next})
	}
	if changed := a.Parts.Changed(a.Current); a.Current != nil && len(changed) > 0 {
		out = append(out, runs.Reason{Code: "changed_while_held", Object: r.ID, Since: r.CreatedAt,
			Text: "what the run would execute has changed since it was held: " + strings.Join(changed, ", "),
			Next: "the approvers look at it again and decide with its approval_digest"})
	}
	return out, nil
}

// next says who has to decide about a hold.
func (x *Explainer) next(ctx context.Context, r *runs.Run, h *runs.Hold, have int) (string, error) {
	one, many := "an administrator", "administrators"
	if len(h.Teams) > 0 {
		names, err := x.names(ctx, h.Teams)
		if err != nil {
			return "", err
		}
		one, many = "a member of "+names, "members of "+names
	}
	if h.Distinct {
		asked := cmp.Or(r.Actor.Name, "who asked for the run")
		if r.Origin.Owner != "" {
			asked = "the owner of " + r.Actor.Shown()
		}
		other := ", but not " + asked + ","
		one, many = one+other, many+other
	}
	if h.Needed == 1 {
		return one + " approves or rejects the run", nil
	}
	return fmt.Sprintf("%d %s approve the run, or one rejects it; %d of %d have approved", h.Needed, many, have,
		h.Needed), nil
}

// names returns the names of teams. A team that was deleted is named by its id.
func (x *Explainer) names(ctx context.Context, ids []string) (string, error) {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = "the deleted team " + id
		if x.Teams == nil {
			continue
		}
		switch t, err := x.Teams.TeamByID(ctx, id); {
		case err == nil:
			out[i] = "the team " + t.Name
		case !fault.Is(err, fault.NotFound):
			return "", err
		}
	}
	return strings.Join(out, " or "), nil
}
