package submit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/runs"
)

// note records a request for a run, and then what holds the run.
func (s *Submitter) note(ctx context.Context, r *runs.Run, asked map[string]any) error {
	if err := s.machine.Note(ctx, action(r.Origin.Source), r, asked, ""); err != nil || r.Approvals == nil {
		return err
	}
	return s.machine.NoteHolds(ctx, r, nil)
}

func action(s runs.Source) audit.Action {
	switch s {
	case runs.FromRetry:
		return audit.RunRetry
	case runs.FromRelaunch:
		return audit.RunRelaunch
	case runs.FromRerun:
		return audit.RunRerun
	case runs.FromReconcile:
		return audit.RunReconcile
	case runs.FromPlan:
		return audit.RunPlan
	default:
		return audit.RunSubmit
	}
}

// detail returns the recorded part of a request: the ids that it names, and a digest of the rest. It contains no
// secrets.
func detail(r *runs.Run) (map[string]any, error) {
	inputs, err := record.InputsDigest(r)
	if err != nil {
		return nil, err
	}
	s := &r.Spec
	d := map[string]any{"kind": string(r.Kind), "queue": s.Queue, "inputs": inputs, "dry_run": s.DryRun}
	for k, v := range map[string]string{
		"tool": s.Tool, "source": string(r.Origin.Source), "source_id": r.Origin.SourceID, "retry_of": r.Origin.RetryOf,
		"rerun_of": r.Origin.RerunOf, "project_id": s.ProjectID, "template_id": s.TemplateID, "commit": r.Commit,
		"isolation_profile": s.IsolationProfile, "plan_digest": s.PlanDigest,
	} {
		if v != "" {
			d[k] = v
		}
	}
	if s.DryRunExecutes {
		d["dry_run_executes"] = true
	}
	if s.RequireApproval {
		d["require_approval"] = true
	}
	if r.Kind == runs.Split && r.ShardCount > 0 {
		d["shards"] = int64(r.ShardCount)
	}
	inventories, credentials := []string{s.InventoryID}, slices.Clone(s.CredentialIDs)
	if r.Graph != nil {
		d["steps"] = int64(len(r.Graph.Steps))
		for i := range r.Graph.Steps {
			x := &r.Graph.Steps[i]
			inventories = append(inventories, x.InventoryID)
			credentials = append(credentials, x.CredentialIDs...)
		}
	}
	put(d, "inventory_ids", inventories)
	put(d, "credential_ids", credentials)
	return d, nil
}

// put adds a list of ids, each once, unless it is empty.
func put(d map[string]any, key string, ids []string) {
	slices.Sort(ids)
	var list []any
	for _, id := range slices.Compact(ids) {
		if id != "" {
			list = append(list, id)
		}
	}
	if list != nil {
		d[key] = list
	}
}

// risk is what a run was graded as, as a part of its entry.
func risk(r runs.Risk) map[string]any {
	reasons := make([]any, len(r.Reasons))
	for i, text := range r.Reasons {
		reasons[i] = text
	}
	return map[string]any{"level": string(r.Level), "reasons": reasons}
}

// warnUnserved adds a warning for each queue of the run or of its steps that no executor serves now.
func (s *Submitter) warnUnserved(ctx context.Context, r *runs.Run) error {
	names := []string{r.Spec.Queue}
	steps := map[string][]string{}
	if r.Graph != nil {
		names = nil
		for i := range r.Graph.Steps {
			x := &r.Graph.Steps[i]
			queue := x.Of(&r.Spec).Queue
			names, steps[queue] = append(names, queue), append(steps[queue], x.Name)
		}
	}
	slices.Sort(names)
	for _, queue := range slices.Compact(names) {
		ok, err := s.served.Serve(ctx, queue)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		of := ""
		if list := steps[queue]; len(list) > 3 {
			of = fmt.Sprintf(" of %d steps", len(list))
		} else if list != nil {
			of = map[bool]string{true: " of the step ", false: " of the steps "}[len(list) == 1] + strings.Join(list, ", ")
		}
		r.Warnings = append(slices.Clone(r.Warnings), runs.Warning{Code: runs.WarnQueueUnserved, Message: fmt.Sprintf(
			"No executor serves the queue %q%s. Start a worker with --queue %s, or choose another queue.", queue, of, queue)})
	}
	return nil
}
