package submit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// inherit sets the queue of the inventory on a run that names none, and returns the credentials that the inventory
// adds. An unknown inventory adds nothing; the check of references refuses it later.
func (s *Submitter) inherit(ctx context.Context, inventory string, queue *string) ([]string, error) {
	if s.refs == nil || !ids.Valid(ids.Inventory, inventory) {
		return nil, nil
	}
	name, credentials, err := s.refs.Defaults(ctx, inventory)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if *queue == "" {
		*queue = name
	}
	return credentials, err
}

// inheritSteps does the same for a pipeline and its steps. Steps inherit a queue only if the pipeline names none. The
// credentials are returned by inventory.
func (s *Submitter) inheritSteps(
	ctx context.Context, r *runs.Run, q *runs.PipelineSubmission,
) (map[string][]string, error) {
	inherited, queues := make(map[string][]string), make(map[string]string)
	ask := func(inventory string, queue *string) error {
		if _, asked := inherited[inventory]; !asked {
			name := ""
			list, err := s.inherit(ctx, inventory, &name)
			if err != nil {
				return err
			}
			inherited[inventory], queues[inventory] = list, name
		}
		if *queue == "" {
			*queue = queues[inventory]
		}
		return nil
	}
	if err := ask(q.InventoryID, &r.Spec.Queue); err != nil {
		return nil, err
	}
	for i := range q.Steps {
		x := &q.Steps[i]
		queue := x.Queue
		if err := ask(x.InventoryID, &queue); err != nil {
			return nil, err
		}
		if q.Queue == "" {
			x.Queue = queue
		}
	}
	return inherited, nil
}

// Governed returns a run with what its parent keeps for it: the labels, the change, the locks and whether a person
// approves it, so that a run that is made from a child is evaluated, and waits, as the parent was. The labels of the
// template that a step launches replace those of the pipeline. A run without a parent is returned itself.
func (s *Submitter) Governed(ctx context.Context, r *runs.Run) (*runs.Run, error) {
	if r.ParentID == "" {
		return r, nil
	}
	p, err := s.machine.Store.ByID(ctx, r.ParentID)
	if err != nil {
		return nil, err
	}
	out := *r
	out.Labels, out.Change = p.Labels, p.Change
	out.Spec.Locks, out.Spec.ExclusiveHosts = p.Spec.Locks, p.Spec.ExclusiveHosts
	out.Spec.RequireApproval = r.Spec.RequireApproval || p.Spec.RequireApproval
	if p.Graph == nil {
		out.Spec.FailOn = p.Spec.FailOn
		return &out, nil
	}
	if step := p.Graph.Step(r.StepName); step != nil && step.Preset != nil {
		out.Labels, out.Change = maps.Clone(p.Labels), cmp.Or(p.Change, step.Preset.Change)
		if out.Labels == nil {
			out.Labels = make(map[string]string, len(step.Preset.Labels))
		}
		maps.Copy(out.Labels, step.Preset.Labels)
	}
	marked := []runs.StepSpec{{Name: r.StepName}}
	all, err := s.heldAgain(ctx, p.Spec.TemplateID, out.Spec.RequireApproval, marked)
	out.Spec.RequireApproval = all || marked[0].RequireApproval
	return &out, err
}

// heldAgain holds a run that is made from another one as its template and those of its steps, if there are any, hold
// runs now. It reports whether the whole run is held, and marks the steps that are.
func (s *Submitter) heldAgain(ctx context.Context, template string, held bool, steps []runs.StepSpec) (bool, error) {
	if s.refs == nil {
		return held, nil
	}
	for i := range steps {
		if id := steps[i].TemplateID; id != "" {
			all, _, err := s.refs.Holds(ctx, id)
			if err != nil {
				return held, err
			}
			steps[i].RequireApproval = steps[i].RequireApproval || all
		}
	}
	if template == "" {
		return held, nil
	}
	all, names, err := s.refs.Holds(ctx, template)
	for i := range steps {
		steps[i].RequireApproval = steps[i].RequireApproval || slices.Contains(names, steps[i].Name)
	}
	return held || all, err
}

// pin fixes the commit that a run executes. A run that repeats a part of another one takes that one's commit; any
// other run takes the newest. Approval, shards and steps do not change it later.
func (s *Submitter) pin(ctx context.Context, r *runs.Run, project string, of *runs.Run) error {
	if project == "" {
		return nil
	}
	repeats := r.Origin.Source == runs.FromRetry || r.Origin.Source == runs.FromRelaunch
	if repeats && of != nil && of.Spec.ProjectID == project && of.Commit != "" {
		r.Commit = of.Commit
		return nil
	}
	// A push announces a commit that cannot have been fetched before. An older fetched commit is not the pushed one.
	pushed := r.Origin.Source == runs.FromTrigger
	commit, stale, err := s.refs.Pin(ctx, project, pushed)
	if err != nil {
		return err
	}
	if pushed && stale != "" {
		return catalog.SyncFailed.New("the pushed commit could not be fetched: %s", stale)
	}
	r.Commit = commit
	if stale != "" {
		r.Warnings = append(slices.Clone(r.Warnings), runs.Warning{Code: runs.WarnProjectStale, Message: stale})
	}
	return nil
}

// descend sets the lineage and the objects of a new run. A run that is made from another one keeps that one's lineage
// and has its objects too, so that only callers who may read the first may read the second.
func descend(r, of *runs.Run, steps []runs.StepSpec) {
	r.Objects = runs.ObjectsOf(r)
	if of != nil {
		r.Lineage = of.Lineage
		r.Objects = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Objects, of.Objects))))
	}
	if r.Lineage == "" {
		r.Lineage = lineage(r.Origin, &r.Spec, steps)
	}
}

// lineage groups the runs of one definition. A run belongs to its template, else to the saved object that made it,
// else to the content of its request.
func lineage(o runs.Origin, s *runs.Spec, steps []runs.StepSpec) string {
	if s.TemplateID != "" {
		return s.TemplateID
	}
	switch o.Source {
	case runs.FromTemplate, runs.FromSchedule, runs.FromTrigger:
		if o.SourceID != "" {
			return o.SourceID
		}
	}
	h := sha256.New()
	e := json.NewEncoder(h)
	// Writing to a hash and encoding strings cannot fail.
	_ = e.Encode([]string{s.Tool, s.Playbook, s.Command, s.InventoryID, s.Inventory, s.ProjectID})
	for i := range steps {
		x := &steps[i]
		if x.TemplateID != "" {
			_ = e.Encode([]string{x.Name, x.TemplateID})
			continue
		}
		_ = e.Encode([]string{x.Name, x.Tool, x.Playbook, x.Command, x.InventoryID})
	}
	return "def_" + hex.EncodeToString(h.Sum(nil)[:16])
}
