package plans

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/modules/runs/internal/submit"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Subscriber is the name of the subscriber that makes the runs for plans of processes that make none.
const Subscriber = "plans"

// Plans takes plans and shows them. It implements runs.Planner, runs.PlanTargets and runs.Plans.
type Plans struct {
	machine   *lifecycle.Machine
	store     runs.PlanStore
	submitter *submit.Submitter
}

var (
	_ runs.Planner     = (*Plans)(nil)
	_ runs.PlanTargets = (*Plans)(nil)
	_ runs.Plans       = (*Plans)(nil)
)

// New returns the plans of a process. If s is nil, it only stores them, and a server makes the runs.
func New(m *lifecycle.Machine, store runs.PlanStore, s *submit.Submitter) *Plans {
	return &Plans{machine: m, store: store, submitter: s}
}

// Subscription returns the subscription to stored plans.
func (p *Plans) Subscription() events.Subscription {
	return events.On(Subscriber, func(ctx context.Context, _ string, e runs.Planned) error {
		err := background.Retry(ctx, func(ctx context.Context) error {
			_, err := p.apply(ctx, e.RunID)
			return err
		})
		if err != nil {
			return fmt.Errorf("apply the plan of run %s: %w", e.RunID, err)
		}
		return nil
	})
}

// PlanTarget returns the digest of the settings that choose what the tool works on.
func (p *Plans) PlanTarget(r *runs.Run) (string, error) { return record.PlanTarget(r) }

func (p *Plans) Plan(ctx context.Context, runID string) (*runs.StoredPlan, error) {
	if _, err := p.machine.Store.ByID(ctx, runID); err != nil {
		return nil, err
	}
	return p.store.PlanOf(ctx, runID)
}

func (p *Plans) ProposeApply(ctx context.Context, l runs.Lease, plan runs.Plan) (string, error) {
	if err := plan.Check(); err != nil {
		return "", err
	}
	err := p.machine.Do(ctx, func(ctx context.Context) error { return p.put(ctx, l, plan) })
	if err != nil || p.submitter == nil {
		return "", err
	}
	return p.apply(ctx, l.RunID)
}

// put stores the plan of a leased dry run, unless it is stored already.
func (p *Plans) put(ctx context.Context, l runs.Lease, plan runs.Plan) error {
	dry, err := p.machine.Store.Lock(ctx, l.RunID)
	if fault.Is(err, fault.NotFound) {
		return runs.LeaseLost.New("the run %s is gone", l.RunID)
	}
	if err != nil {
		return err
	}
	if err := p.machine.Store.Amend(ctx, l.RunID, runs.Amendment{Lease: &l}); err != nil {
		return err
	}
	if !dry.Spec.DryRun {
		return runs.RunNotPlanned.New("the run is no dry run; only dry runs have plans")
	}
	switch was, err := p.store.PlanOf(ctx, l.RunID); {
	case err == nil && was.Digest != plan.Digest:
		return runs.PlanConflict.New("the run has a plan with another digest already")
	case err == nil:
		return nil
	case !runs.PlanNotFound.Is(err):
		return err
	}
	target, err := p.PlanTarget(dry)
	if err != nil {
		return err
	}
	now := p.machine.Now()
	stored := &runs.StoredPlan{Plan: plan, RunID: l.RunID, Target: target, At: now}
	if err := p.store.PutPlan(ctx, stored); err != nil {
		return err
	}
	return p.machine.Publisher.Publish(ctx, runs.Planned{RunID: l.RunID, At: now})
}

// apply makes the run that applies the plan of a dry run, and returns its id. It may be repeated.
func (p *Plans) apply(ctx context.Context, runID string) (string, error) {
	plan, err := p.store.PlanOf(ctx, runID)
	switch {
	case runs.PlanNotFound.Is(err):
		return "", nil // deleted since
	case err != nil || plan.ApplyID != "":
		return idOf(plan), err
	}
	dry, err := p.machine.Store.ByID(ctx, runID)
	if err != nil || runs.HasWarning(dry.Warnings, runs.WarnPlanNotHeld) {
		return "", err
	}
	if dry.Origin.RerunOf != "" {
		of, err := p.machine.Store.ByID(ctx, dry.Origin.RerunOf)
		switch {
		case err == nil && !of.Spec.DryRun:
			return "", p.previewed(ctx, plan, of)
		case err != nil && !fault.Is(err, fault.NotFound):
			return "", err
		}
	}
	if len(plan.Findings) == 0 {
		return "", p.machine.Do(ctx, func(ctx context.Context) error { return p.nothing(ctx, plan) })
	}
	var others []runs.StoredPlan
	ctx = actor.With(ctx, dry.Actor)
	id, note, err := p.submitter.Apply(ctx, submit.Applying{
		Of: dry, Digest: plan.Digest,
		Before: func(ctx context.Context) (id string, err error) {
			id, others, err = p.held(ctx, plan)
			return id, err
		},
		Then: func(ctx context.Context, r *runs.Run) error { return p.made(ctx, plan, r, others) },
	})
	if err != nil && final(err) {
		return "", p.refused(ctx, runID, err, note)
	}
	return id, err
}

// previewed adds to the dry run of a held run that it found another plan than the one that the held run is bound to. It
// decides nothing: whoever looks at a held run neither replaces it nor asks for another one.
func (p *Plans) previewed(ctx context.Context, plan *runs.StoredPlan, of *runs.Run) error {
	if of.Spec.PlanDigest == "" || of.Spec.PlanDigest == plan.Digest {
		return nil
	}
	return p.refused(ctx, plan.RunID, fmt.Errorf("it is another one than the run %s is bound to, which fails if it is "+
		"approved; reject that run, and make a dry run anew", of.ID), nil)
}

// final reports whether a run for a plan will never be made.
func final(err error) bool {
	var outdated outdatedError
	return errors.As(err, &outdated) || fault.Is(err, fault.Forbidden) || fault.Is(err, fault.NotFound) ||
		fault.Is(err, fault.Invalid)
}

// idOf returns the run that applies a plan, empty for no plan.
func idOf(p *runs.StoredPlan) string {
	if p == nil {
		return ""
	}
	return p.ApplyID
}

// outdatedError says which held run applies a later plan of the target.
type outdatedError struct{ run string }

func (e outdatedError) Error() string {
	return "the run " + e.run + " applies a newer plan and is held"
}

// held returns the run that applies the plan already: one of another call, or a held one of another dry run. Otherwise
// it returns the held runs that apply other plans of the target.
func (p *Plans) held(ctx context.Context, plan *runs.StoredPlan) (string, []runs.StoredPlan, error) {
	list, err := p.store.HeldApplies(ctx, plan.Target)
	if err != nil {
		return "", nil, err
	}
	now, err := p.store.PlanOf(ctx, plan.RunID)
	if err != nil || now.ApplyID != "" {
		return idOf(now), nil, err
	}
	for i := range list {
		if list[i].Digest == plan.Digest {
			return list[i].RunID, nil, p.store.LinkPlan(ctx, plan.RunID, list[i].RunID)
		}
	}
	for i := range list {
		if list[i].At.After(plan.At) {
			return "", nil, outdatedError{list[i].RunID}
		}
	}
	return "", list, nil
}

// made links a new run to the plan, and rejects those that it replaces.
func (p *Plans) made(ctx context.Context, plan *runs.StoredPlan, r *runs.Run, others []runs.StoredPlan) error {
	copied := *plan
	copied.RunID, copied.PlannedBy, copied.ApplyID = r.ID, plan.RunID, r.ID
	if err := p.store.PutPlan(ctx, &copied); err != nil {
		return err
	}
	if err := p.store.LinkPlan(ctx, plan.RunID, r.ID); err != nil {
		return err
	}
	return p.supersede(ctx, others, fmt.Sprintf("superseded: the run %s applies a newer plan", r.ID))
}

// nothing rejects the held runs of a target that does not differ any more.
func (p *Plans) nothing(ctx context.Context, plan *runs.StoredPlan) error {
	list, err := p.store.HeldApplies(ctx, plan.Target)
	if err != nil {
		return err
	}
	older := list[:0]
	for i := range list {
		if !list[i].At.After(plan.At) {
			older = append(older, list[i])
		}
	}
	return p.supersede(ctx, older, fmt.Sprintf("superseded: the dry run %s found that nothing differs", plan.RunID))
}

func (p *Plans) supersede(ctx context.Context, list []runs.StoredPlan, reason string) error {
	for i := range list {
		if err := p.machine.RejectHeld(ctx, list[i].RunID, Subscriber, reason); err != nil {
			return err
		}
	}
	return nil
}

// refused adds to a dry run why no run applies its plan, and records a denial with it. It does so once, although the
// report of the plan and its event may try at the same time.
func (p *Plans) refused(ctx context.Context, runID string, why error, note func(ctx context.Context) error) error {
	w := runs.Warning{Code: runs.WarnPlanNotHeld, Message: "no run applies the plan: " + why.Error()}
	return p.machine.Do(ctx, func(ctx context.Context) error {
		dry, err := p.machine.Store.Lock(ctx, runID)
		if err != nil || runs.HasWarning(dry.Warnings, w.Code) {
			return err
		}
		if note != nil {
			if err := note(ctx); err != nil && !final(err) {
				return err
			}
		}
		if err := p.machine.Store.Amend(ctx, runID, runs.Amendment{Warnings: []runs.Warning{w}}); err != nil {
			return err
		}
		return p.machine.Touch(ctx, runID)
	})
}
