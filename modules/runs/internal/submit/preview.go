package submit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Preview makes a dry run of a held run, over exactly the parts that the held run would execute now, and links it. It
// returns the linked one, and true, while that has not ended. The settings were validated, and the rights checked, when
// the held run was submitted.
func (s *Submitter) Preview(ctx context.Context, of *runs.Run, parts runs.Parts) (*runs.Run, bool, error) {
	whole, err := s.Governed(ctx, of)
	if err != nil {
		return nil, false, err
	}
	r := s.dryRun(ctx, whole)
	if err := s.hide(ctx, r, of); err != nil {
		return nil, false, err
	}
	asked, err := detail(r)
	if err != nil {
		return nil, false, err
	}
	if err := s.warnUnserved(ctx, r); err != nil {
		return nil, false, err
	}
	pinned(r, parts)
	var hosts []policy.Targets
	if s.policies != nil {
		if hosts, err = s.binder.Hosts(ctx, r); err != nil {
			return nil, false, err
		}
	}
	var before *runs.Run
	err = s.evaluated(ctx, r, func(ctx context.Context, own *bound) error {
		held, err := s.machine.Store.Lock(ctx, of.ID)
		if err != nil {
			return err
		}
		if err := lifecycle.Decidable(held); err != nil {
			return err
		}
		if before, err = s.unended(ctx, held); err != nil || before != nil {
			return err
		}
		if err := s.evaluate(ctx, r, hosts, own); err != nil {
			return err
		}
		pinned(r, parts)
		if len(r.Risk.Reasons) > 0 {
			asked["risk"] = risk(r.Risk)
		}
		if err := s.note(ctx, r, asked); err != nil {
			return err
		}
		if err := s.enter(ctx, r, notify.SealedTargets{}); err != nil {
			return err
		}
		return s.link(ctx, held, runs.PreviewOf{RunID: r.ID, Digest: parts.Digest()})
	})
	switch {
	case err != nil:
		return nil, false, s.refused(ctx, r, asked, err)
	case before != nil:
		return record.Redact(before), true, nil
	}
	return record.Redact(r), false, nil
}

// dryRun returns a new run with the settings of a held one. It takes no locks, since it changes nothing, and notifies
// nobody. The request of the held run for approval is not one for the dry run.
func (s *Submitter) dryRun(ctx context.Context, of *runs.Run) *runs.Run {
	r := s.record(ctx, runs.Origin{Source: runs.FromRerun, RerunOf: of.ID})
	r.Name, r.Labels, r.Change, r.Vars, r.Commit = of.Name, of.Labels, of.Change, of.Vars, of.Commit
	r.Kind, r.ShardCount, r.ShardHosts = of.Kind, of.ShardCount, of.ShardHosts
	if r.Kind == runs.Step {
		r.Kind = runs.Single
	}
	r.Lineage, r.Objects = of.Lineage, of.Objects
	r.Spec = of.Spec
	r.Spec.DryRun, r.Spec.RequireApproval, r.Spec.Notifications = true, false, nil
	r.Spec.Locks, r.Spec.ExclusiveHosts, r.Spec.PlanDigest = nil, false, ""
	if of.Graph == nil {
		return r
	}
	graph := *of.Graph
	graph.Steps = slices.Clone(of.Graph.Steps)
	for i := range graph.Steps {
		graph.Steps[i] = runs.StepState{StepSpec: graph.Steps[i].StepSpec}
		graph.Steps[i].RequireApproval = false
	}
	r.Graph = &graph
	return r
}

// pinned binds a run to parts of another one: it executes them, or fails.
func pinned(r *runs.Run, parts runs.Parts) {
	if r.Approvals == nil {
		r.Approvals = &runs.Approvals{}
	}
	r.Approvals.Approved = maps.Clone(parts)
}

// unended returns the preview of a held run if it has not ended, else nil.
func (s *Submitter) unended(ctx context.Context, held *runs.Run) (*runs.Run, error) {
	if held.Approvals == nil || held.Approvals.Preview == nil {
		return nil, nil
	}
	r, err := s.machine.Store.ByID(ctx, held.Approvals.Preview.RunID)
	if fault.Is(err, fault.NotFound) || err == nil && r.Status.Terminal() {
		return nil, nil
	}
	return r, err
}

// link names the preview of a held run in its record.
func (s *Submitter) link(ctx context.Context, held *runs.Run, p runs.PreviewOf) error {
	if held.Approvals == nil {
		held.Approvals = &runs.Approvals{Holds: []runs.Hold{{Name: runs.RequestedApproval, Needed: 1}}}
	}
	held.Approvals.Preview = &p
	if err := s.machine.Store.Amend(ctx, held.ID, runs.Amendment{Approvals: held.Approvals}); err != nil {
		return err
	}
	return s.machine.Touch(ctx, held.ID)
}

// Applying asks for the run that applies the plan of a dry run. In the unit that stores the run, Before is called first
// and Then last. If Before returns the id of a run, that is the answer and no run is made.
type Applying struct {
	Of     *runs.Run
	Digest string
	Before func(ctx context.Context) (id string, err error)
	Then   func(ctx context.Context, r *runs.Run) error
}

// Apply makes a run with the settings of a dry run, which is held and bound to the digest of a plan. The settings were
// validated, and the rights checked, when the dry run was submitted; policies decide again. If there is no run, note
// records that a policy or a window denied it, in the unit of its context; it is nil if none did.
func (s *Submitter) Apply(
	ctx context.Context, a Applying,
) (id string, note func(ctx context.Context) error, err error) {
	of, err := s.Governed(ctx, a.Of)
	if err != nil {
		return "", nil, err
	}
	r := s.record(ctx, runs.Origin{Source: runs.FromPlan, SourceID: of.ID, Owner: of.Origin.Owner})
	r.Name, r.Labels, r.Change, r.Vars, r.Commit = of.Name, of.Labels, of.Change, of.Vars, of.Commit
	r.Kind, r.Lineage, r.Objects, r.Spec = runs.Single, of.Lineage, of.Objects, of.Spec
	r.Spec.DryRun, r.Spec.RequireApproval, r.Spec.PlanDigest = false, true, a.Digest
	if err := s.hide(ctx, r, of); err != nil {
		return "", nil, err
	}
	asked, err := detail(r)
	if err != nil {
		return "", nil, err
	}
	if err := s.warnUnserved(ctx, r); err != nil {
		return "", nil, err
	}
	sealed, err := s.targets.Seal(ctx, r.Spec.Notifications)
	if err != nil {
		return "", nil, err
	}
	var hosts []policy.Targets
	if s.policies != nil {
		if hosts, err = s.binder.Hosts(ctx, r); err != nil {
			return "", nil, err
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
		return "", s.denial(r, asked, err), err
	}
	return id, nil, nil
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
