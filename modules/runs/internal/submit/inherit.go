package submit

import (
	"context"
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

// heldAgain holds a run that is made from another one as its template, if it has one, holds runs now. It reports
// whether the whole run is held, and marks the steps that are.
func (s *Submitter) heldAgain(ctx context.Context, template string, held bool, steps []runs.StepSpec) (bool, error) {
	if template == "" || s.refs == nil {
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
