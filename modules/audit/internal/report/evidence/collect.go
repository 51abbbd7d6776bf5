package evidence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

func settings(r *runs.Run, now time.Time) Run {
	s := r.Spec
	return Run{
		ID: r.ID, Name: r.Name, Kind: r.Kind, Status: r.Status, Checked: r.Checked(),
		Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, InventoryID: s.InventoryID, Inventory: s.Inventory,
		ProjectID: s.ProjectID,
		ExtraVars: names(r.Vars), Env: names(s.Env), Shards: s.Shards, Limit: s.Limit, LimitHosts: s.LimitHosts, Tags: s.Tags,
		SkipTags: s.SkipTags,
		Forks:    s.Forks, DiffMode: s.DiffMode, DryRun: s.DryRun, DryRunExecutes: s.DryRunExecutes,
		Timeout: s.TimeoutSeconds, CredentialIDs: s.CredentialIDs,
		Queue: s.Queue, RequireApproval: s.RequireApproval, FailOn: s.FailOn,
		Locks: s.Locks, ExclusiveHosts: s.ExclusiveHosts, Labels: r.Labels, Change: r.Change,
		CreatedAt: r.CreatedAt, QueuedAt: r.QueuedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		DurationMS: max(r.Duration(now), 0).Milliseconds(),
		ExitCode:   r.ExitCode, Error: r.Error, Warnings: append([]runs.Warning{}, r.Warnings...),
		Source: r.Origin.Source, SourceID: r.Origin.SourceID, ParentID: r.ParentID, StepName: r.StepName, Attempt: r.Attempt,
		RetryOf: r.Origin.RetryOf, RerunOf: r.Origin.RerunOf, Worker: execution.ShownName(r.Worker),
		ToolVersion:      r.ToolVersion,
		IsolationProfile: s.IsolationProfile, Isolation: r.Isolation,
		Hosts: r.Hosts, HostsTouched: r.HostsTouched, EventCount: r.EventCount, LogBytes: r.LogBytes,
		LogOmitted: r.LogOmitted, HostKeys: r.AcceptedHostKeys,
	}
}

// names returns the names of the variables. A dossier is passed on to others, and any value may be a secret.
func names[V any](vars map[string]V) map[string]string {
	out := make(map[string]string, len(vars))
	for name := range vars {
		out[name] = runs.Redacted
	}
	return out
}

func who(a actor.Actor) Who {
	if a.Type == actor.Worker {
		a.Name = execution.ShownName(a.Name)
	}
	return Who{Type: string(a.Type), ID: a.ID, Name: a.Name}
}

// parts lists the children of a run.
func (e *Evidence) parts(ctx context.Context, r *runs.Run, d *Document) error {
	if !r.Kind.Parent() {
		return nil
	}
	children, err := e.p.Runs.Children(ctx, r.ID)
	if err != nil {
		return fmt.Errorf("the parts of run %s: %w", r.ID, err)
	}
	if len(children) > maxParts {
		d.problem("parts_omitted", fmt.Sprintf("%d parts of the run are not listed.", len(children)-maxParts))
		children = children[:maxParts]
	}
	for _, c := range children {
		d.Run.Parts = append(d.Run.Parts, Part{ID: c.ID, Name: cmp.Or(c.StepName, c.Name), Status: c.Status,
			StartedAt: c.StartedAt, EndedAt: c.EndedAt, ExitCode: c.ExitCode})
	}
	return nil
}

// results lists the hosts, the worst first, and the tasks in execution order.
func (e *Evidence) results(ctx context.Context, r *runs.Run, d *Document) error {
	hosts, err := e.p.Runs.Hosts(ctx, r.ID)
	if err != nil {
		return fmt.Errorf("the hosts of run %s: %w", r.ID, err)
	}
	hosts = slices.Clone(hosts)
	slices.SortFunc(hosts, func(a, b runs.HostSummary) int {
		return cmp.Or(rank(b.Worst)-rank(a.Worst), cmp.Compare(a.Host, b.Host))
	})
	hosts, d.HostsOmitted = first(hosts, MaxHosts)
	for _, h := range hosts {
		d.Hosts = append(d.Hosts, Host{
			Host: h.Host, Worst: h.Worst, OK: h.OK, Changed: h.Changed, Failed: h.Failed, Unreachable: h.Unreachable,
			Skipped: h.Skipped, Rescued: h.Rescued, Ignored: h.Ignored, DurationMS: h.Duration.Milliseconds(),
		})
	}
	tasks, err := e.p.Runs.Tasks(ctx, r.ID)
	if err != nil {
		return fmt.Errorf("the tasks of run %s: %w", r.ID, err)
	}
	tasks, d.TasksOmitted = first(tasks, MaxTasks)
	for _, t := range tasks {
		d.Tasks = append(d.Tasks, Task{
			Play: t.Play, Task: t.Task, Hosts: t.Hosts, OK: t.OK, Changed: t.Changed, Failed: t.Failed, Skipped: t.Skipped,
			DurationMS: t.Duration.Milliseconds(),
		})
	}
	return nil
}

func first[T any](list []T, most int) (kept []T, omitted int) {
	kept = list[:min(len(list), most)]
	return kept, len(list) - len(kept)
}

// rank orders outcomes, the worst has the highest rank.
func rank(o runs.Outcome) int {
	return slices.Index(runs.Outcomes(), o)
}
