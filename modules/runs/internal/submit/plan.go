package submit

import (
	"cmp"
	"context"

	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Applying asks for the run that applies the plan of a dry run. In the unit that stores the run, Before is called first
// and Then last. If Before returns the id of a run, that is the answer and no run is made.
type Applying struct {
	Of     *runs.Run
	Digest string
	Before func(ctx context.Context) (id string, err error)
	Then   func(ctx context.Context, r *runs.Run) error
}

// Apply makes a run with the settings of a dry run, which is held and bound to the digest of a plan. The settings were
// validated, and the rights checked, when the dry run was submitted; policies decide again.
func (s *Submitter) Apply(ctx context.Context, a Applying) (id string, err error) {
	of := a.Of
	r := s.record(ctx, runs.Origin{Source: runs.FromPlan, SourceID: of.ID})
	r.Name, r.Labels, r.Change, r.Vars, r.Commit = of.Name, of.Labels, of.Change, of.Vars, of.Commit
	r.Kind, r.Lineage, r.Objects, r.Spec = runs.Single, of.Lineage, of.Objects, of.Spec
	r.Spec.DryRun, r.Spec.RequireApproval, r.Spec.PlanDigest = false, true, a.Digest
	if err := s.hide(ctx, r, of); err != nil {
		return "", err
	}
	asked, err := detail(r)
	if err != nil {
		return "", err
	}
	if err := s.warnUnserved(ctx, r); err != nil {
		return "", err
	}
	sealed, err := s.targets.Seal(ctx, r.Spec.Notifications)
	if err != nil {
		return "", err
	}
	var hosts []policy.Targets
	if s.policies != nil {
		if hosts, err = s.binder.Hosts(ctx, r); err != nil {
			return "", err
		}
	}
	err = s.evaluated(ctx, r, func(ctx context.Context, b *bound) error {
		var err error
		if id, err = a.Before(ctx); err != nil || id != "" {
			return err
		}
		if err := s.evaluate(ctx, r, hosts, b); err != nil {
			return err
		}
		if len(r.Risk.Reasons) > 0 {
			asked["risk"] = risk(r.Risk)
		}
		if err := s.note(ctx, r, asked); err != nil {
			return err
		}
		if err := s.enter(ctx, r, sealed); err != nil {
			return err
		}
		id = r.ID
		return a.Then(ctx, r)
	})
	if err != nil {
		return "", s.refused(ctx, r, asked, err)
	}
	return id, nil
}

// keepPlan gives a run that is made from one with a plan the same plan, if it applies it.
func (s *Submitter) keepPlan(ctx context.Context, r, of *runs.Run) error {
	if r.Spec.PlanDigest == "" || s.plans == nil {
		return nil
	}
	p, err := s.plans.PlanOf(ctx, of.ID)
	if err != nil {
		return err
	}
	p.RunID, p.PlannedBy, p.ApplyID = r.ID, cmp.Or(p.PlannedBy, of.ID), r.ID
	return s.plans.PutPlan(ctx, p)
}
