package lifecycle

import (
	"context"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/parent"
	"github.com/writ-automation/writ/ports/runs"
)

// Settle derives the progress of a parent from its children, and starts the next steps of a pipeline or ends the
// parent. It may be called at any time and changes nothing if nothing is due.
func (m *Machine) Settle(ctx context.Context, parentID string) error {
	p, err := m.Store.Lock(ctx, parentID)
	if err != nil {
		return err
	}
	if p.Status != runs.Pending && p.Status != runs.Running {
		return nil
	}
	children, err := m.Store.Children(ctx, p.ID)
	if err != nil {
		return err
	}
	return m.settle(ctx, p, children)
}

func (m *Machine) settle(ctx context.Context, p *runs.Run, children []*runs.Run) error {
	if p.Kind == runs.Pipeline {
		return m.settlePipeline(ctx, p, children)
	}
	return m.settleSplit(ctx, p, children)
}

func (m *Machine) settleSplit(ctx context.Context, p *runs.Run, children []*runs.Run) error {
	if len(children) == 0 {
		return nil
	}
	for _, k := range children {
		if !k.Status.Terminal() {
			return nil
		}
	}
	mv := parent.MergeShards(children)
	mv.ID, mv.From = p.ID, p.Status
	mv.Warnings = unknown(p.Warnings, mv.Warnings)
	return m.rollUp(ctx, mv, p, children)
}

func unknown(known, more []runs.Warning) []runs.Warning {
	var out []runs.Warning
next:
	for _, w := range more {
		for _, k := range known {
			if k == w {
				continue next
			}
		}
		out = append(out, w)
	}
	return out
}

func (m *Machine) settlePipeline(ctx context.Context, p *runs.Run, children []*runs.Run) error {
	plan := parent.Advance(p.Graph, children, p.CancelRequested)
	latest := parent.LatestAttempts(children)
	for _, s := range plan.Starts {
		step := &plan.Graph.Steps[s.Step]
		r := m.step(p, step, s)
		if step.RequireApproval {
			if err := m.hold(ctx, r, p, latest[step.Name]); err != nil {
				return err
			}
		}
		if err := m.enterStep(ctx, r); err != nil {
			return err
		}
		step.Status, step.RunID, step.Attempt = r.Status, r.ID, r.Attempt
	}
	if plan.Changed || len(plan.Warnings) > 0 {
		if err := m.Store.Amend(ctx, p.ID, runs.Amendment{Graph: plan.Graph, Warnings: plan.Warnings}); err != nil {
			return err
		}
		p.Graph, p.Warnings = plan.Graph, slices.Concat(p.Warnings, plan.Warnings)
		if err := m.Touch(ctx, p.ID); err != nil {
			return err
		}
	}
	if !plan.Done {
		return nil
	}
	return m.endPipeline(ctx, p, children, &plan)
}

func (m *Machine) endPipeline(ctx context.Context, p *runs.Run, children []*runs.Run, plan *parent.Plan) error {
	hosts, err := Hosts(ctx, m.Summaries, Counted(p, children))
	if err != nil {
		return err
	}
	mv := runs.Move{ID: p.ID, From: p.Status, To: plan.Status, Error: plan.Error, Outputs: plan.Outputs,
		Counts: runs.HostCounts{}, Touched: len(hosts)}
	for _, h := range hosts {
		mv.Counts[h.Worst]++
	}
	return m.rollUp(ctx, mv, p, children)
}

// Binder returns what a run would execute now.
type Binder interface {
	Bind(ctx context.Context, r *runs.Run) (runs.Parts, error)
}

// hold holds the run of a step, unless it repeats one that was approved. The targets of the pipeline are notified. The
// step has the risk of the pipeline, which was graded with it.
func (m *Machine) hold(ctx context.Context, r, p, before *runs.Run) error {
	if before != nil {
		r.Approvals = before.Approvals.Binding()
		return nil
	}
	if r.Approvals == nil {
		r.Approvals = &runs.Approvals{}
	}
	r.Approvals.Holds = []runs.Hold{{Name: runs.RequestedApproval, Needed: 1}}
	r.Status, r.QueuedAt, r.Spec.Notifications = runs.PendingApproval, time.Time{}, p.Spec.Notifications
	r.Risk = p.Risk
	// What was approved of the pipeline is not refreshed.
	if m.Inventories != nil && r.Spec.InventoryID != "" && r.Approvals.Binding() == nil {
		fresh, err := m.Inventories.RefreshesOnLaunch(ctx, r.Spec.InventoryID)
		if err != nil {
			return err
		}
		if fresh {
			r.Approvals.Refreshing = &runs.Refreshing{Since: r.CreatedAt, Due: r.CreatedAt}
			return nil
		}
	}
	if m.Binder == nil {
		return nil
	}
	var err error
	r.Approvals.Parts, err = m.Binder.Bind(ctx, r)
	return err
}

// enterStep stores the run of a step, and tells of one that is held.
func (m *Machine) enterStep(ctx context.Context, r *runs.Run) error {
	err := m.Enter(ctx, r)
	switch {
	case runs.RunStateChanged.Is(err):
		return ErrAgain
	case err != nil || r.Status != runs.PendingApproval:
		return err
	}
	if err := m.NoteHolds(ctx, r, system()); err != nil {
		return err
	}
	return m.Publisher.Publish(ctx, runs.HeldBy(r))
}

// step returns the run of one attempt at a step. Settings that the step lacks come from the pipeline.
func (m *Machine) step(p *runs.Run, s *runs.StepState, start parent.Start) *runs.Run {
	r := m.child(p, runs.Step)
	r.Name, r.StepName, r.Attempt, r.Vars = s.Name, s.Name, start.Attempt, start.Vars
	r.Lineage = p.Lineage + "/" + s.Name
	r.Spec = s.Of(&p.Spec)
	if r.Spec.ProjectID != p.Spec.ProjectID {
		r.Commit = s.Commit
	}
	r.Spec.Templated = start.Templated
	return r
}
