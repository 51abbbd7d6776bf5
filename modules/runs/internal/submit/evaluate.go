package submit

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// errUnbound ends a unit that would hold a run before it is known what the run would execute.
var errUnbound = errors.New("what the held run would execute is not read yet")

// evaluations is how often a request is evaluated while policies keep changing.
const evaluations = 5

// evaluated runs a unit that evaluates a request: again if the policies change before it commits, and again with what
// the run would execute if it is held.
func (s *Submitter) evaluated(
	ctx context.Context, r *runs.Run, unit func(ctx context.Context, bound runs.Parts) error,
) error {
	var bound runs.Parts
	for n := 1; ; n++ {
		err := s.machine.Do(ctx, func(ctx context.Context) error { return unit(ctx, bound) })
		switch {
		case errors.Is(err, errUnbound):
			if bound, err = s.binder.Bind(ctx, r); err != nil {
				return err
			}
		case n >= evaluations || !policy.PoliciesChanged.Is(err):
			return err
		}
	}
}

// evaluate grades a run, and holds it if a policy or the request says so. It returns Denied if a policy denies it, and
// errUnbound for a run to hold without bound.
func (s *Submitter) evaluate(ctx context.Context, r *runs.Run, hosts []policy.Targets, bound runs.Parts) error {
	var v policy.Verdict
	if s.policies != nil {
		var err error
		if v, err = s.policies.Evaluate(ctx, r, hosts); err != nil {
			return err
		}
	}
	if v.Denied != nil {
		return denied(*v.Denied)
	}
	holds := v.Holds
	if r.Spec.RequireApproval {
		holds = append(holds, runs.Hold{Name: runs.RequestedApproval, Needed: 1})
	}
	r.Risk, r.Status, r.QueuedAt, r.Approvals = v.Risk, runs.Pending, r.CreatedAt, nil
	switch {
	case len(holds) == 0:
	case bound == nil:
		return errUnbound
	default:
		r.Status, r.QueuedAt = runs.PendingApproval, time.Time{}
		r.Approvals = &runs.Approvals{Holds: holds, Parts: bound, Current: bound}
	}
	return nil
}

func denied(p policy.Rule) error {
	f := policy.Denied.New("the policy %q denies the run", p.Name)
	if p.Message != "" {
		f.Message += ": " + p.Message
	}
	return f.With("policy_id", p.ID).With("policy", p.Name)
}

// refused records a request that a policy denied, in a unit of its own, since no run was made.
func (s *Submitter) refused(ctx context.Context, r *runs.Run, asked map[string]any, err error) error {
	if !policy.Denied.Is(err) {
		return err
	}
	var f *fault.Error
	errors.As(err, &f)
	detail := maps.Clone(asked)
	detail["reason"], detail["policy"] = policy.Denied.Name, f.Detail["policy"]
	f.Recorded = true
	return audit.Refuse(ctx, s.machine.Unit, s.machine.Recorder, audit.Entry{Action: action(r.Origin.Source),
		Object: audit.Object{Kind: "policy", ID: f.Detail["policy_id"].(string)}, Detail: detail}, f)
}
