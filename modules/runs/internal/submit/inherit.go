package submit

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// inherit gives a run that names no queue the one of its inventory, and returns the credentials that the inventory
// adds. An inventory that does not exist adds nothing: it is refused where references are.
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

// inheritSteps does the same for the pipeline and its steps, where the pipeline itself names no queue. What it
// returns is by inventory.
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

// pin fixes the commit that a run executes. What repeats a part of another run executes what that one did; whatever
// else is made of one takes the newest. Approval, shards and steps later change nothing about it.
func (s *Submitter) pin(ctx context.Context, r *runs.Run, project string, of *runs.Run) error {
	if project == "" {
		return nil
	}
	repeats := r.Origin.Source == runs.FromRetry || r.Origin.Source == runs.FromRelaunch
	if repeats && of != nil && of.Spec.ProjectID == project && of.Commit != "" {
		r.Commit = of.Commit
		return nil
	}
	// A push tells of a commit that nobody can have fetched before. What was there before it is not what somebody pushed.
	pushed := r.Origin.Source == runs.FromTrigger
	commit, stale, err := s.refs.Pin(ctx, project, pushed)
	if err != nil {
		return err
	}
	if pushed && stale != "" {
		return catalog.SyncFailed.New("what was pushed could not be fetched: %s", stale)
	}
	r.Commit = commit
	if stale != "" {
		r.Warnings = append(slices.Clone(r.Warnings), runs.Warning{Code: runs.WarnProjectStale, Message: stale})
	}
	return nil
}
