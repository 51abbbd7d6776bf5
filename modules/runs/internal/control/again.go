package control

import (
	"context"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/parent"
	"github.com/writ-automation/writ/modules/runs/internal/submit"
	"github.com/writ-automation/writ/ports/runs"
)

// Retry runs the failed and interrupted shards again, over their own hosts. A run that required approval requires it
// again.
func (c *Controller) Retry(ctx context.Context, id string) (*runs.Run, error) {
	r, err := c.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Kind != runs.Split || !r.Status.Terminal() {
		return nil, runs.WithReasons(runs.RunNotRetryable.New("only a split that has ended can be retried"),
			runs.StateReason(r))
	}
	shards, err := c.store.Children(ctx, id)
	if err != nil {
		return nil, err
	}
	hosts := parent.FailedShards(shards)
	if len(hosts) == 0 {
		return nil, runs.RunNotRetryable.New("no shard of the run failed")
	}
	q, err := c.copy(ctx, r, runs.Origin{Source: runs.FromRetry, RetryOf: id})
	if err != nil {
		return nil, err
	}
	q.ShardHosts = hosts
	q.Spec.Shards = len(hosts)
	made, _, err := c.submitter.Take(ctx, q)
	return made, err
}

// RelaunchFailed makes a run that is not split and is limited to the failed hosts.
func (c *Controller) RelaunchFailed(ctx context.Context, id string) (*runs.Run, error) {
	r, err := c.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Kind == runs.Pipeline || r.Spec.Tool != runs.Ansible || !r.Status.Terminal() {
		return nil, runs.WithReasons(runs.RunNotRelaunchable.New("only an ansible run that has ended can be relaunched"),
			runs.StateReason(r))
	}
	hosts, err := c.failedHosts(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		return nil, runs.NoFailedHosts.New("no host of the run failed or was unreachable")
	}
	q, err := c.copy(ctx, r, runs.Origin{Source: runs.FromRelaunch, RetryOf: id})
	if err != nil {
		return nil, err
	}
	q.Spec.Shards, q.Spec.LimitHosts = 0, hosts
	made, _, err := c.submitter.Take(ctx, q)
	return made, err
}

// failedHosts returns the names of the hosts that failed or were unreachable, sorted. Rescued and ignored failures do
// not count. A run that was cut short may have no result for some hosts; they do not count either.
func (c *Controller) failedHosts(ctx context.Context, r *runs.Run) ([]string, error) {
	var children []*runs.Run
	var err error
	if r.Kind.Parent() {
		if children, err = c.store.Children(ctx, r.ID); err != nil {
			return nil, err
		}
	}
	list, err := lifecycle.Hosts(ctx, c.summaries, lifecycle.Counted(r, children))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, h := range list {
		if h.Failed > 0 || h.Unreachable > 0 || h.Worst == runs.HostFailed || h.Worst == runs.HostUnreachable {
			out = append(out, h.Host)
		}
	}
	return out, nil
}

// Rerun accepts any run, including one that has not ended.
func (c *Controller) Rerun(ctx context.Context, id string) (*runs.Run, error) {
	r, err := c.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	o := runs.Origin{Source: runs.FromRerun, RerunOf: id}
	if r.Kind == runs.Pipeline {
		made, _, err := c.submitter.TakePipeline(ctx, pipelineOf(r, o), r)
		return made, err
	}
	q, err := c.copy(ctx, r, o)
	if err != nil {
		return nil, err
	}
	q.ShardHosts = r.ShardHosts
	made, _, err := c.submitter.Take(ctx, q)
	return made, err
}

// Reconcile repeats a dry run for real on one host.
func (c *Controller) Reconcile(ctx context.Context, id string, o runs.Reconciliation) (*runs.Run, error) {
	r, err := c.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	q, err := c.copy(ctx, r, runs.Origin{Source: runs.FromReconcile, SourceID: o.SourceID, RerunOf: id})
	if err != nil {
		return nil, err
	}
	q.Spec.DryRun, q.Spec.RequireApproval = false, true
	if q.Spec.PlanDigest = o.PlanDigest; o.PlanDigest == "" {
		q.Spec.Shards, q.Spec.LimitHosts = 0, []string{o.Host}
	}
	q.Repairs, q.Then = o.Findings, o.Then
	made, _, err := c.submitter.Take(ctx, q)
	return made, err
}

func (c *Controller) copy(ctx context.Context, r *runs.Run, o runs.Origin) (submit.Request, error) {
	r, err := c.submitter.Governed(ctx, r)
	if err != nil {
		return submit.Request{}, err
	}
	return submit.Request{Of: r, Submission: runs.Submission{
		Spec: r.Spec, Name: r.Name, Labels: r.Labels, Change: r.Change, ExtraVars: r.Vars, Origin: o,
	}}, nil
}

func pipelineOf(r *runs.Run, o runs.Origin) runs.PipelineSubmission {
	s := &r.Spec
	q := runs.PipelineSubmission{
		Name: r.Name, InventoryID: s.InventoryID, Inventory: s.Inventory, ProjectID: s.ProjectID, TemplateID: s.TemplateID,
		Templated: r.Graph.Templated,
		ExtraVars: r.Graph.Vars, CredentialIDs: s.CredentialIDs, Labels: r.Labels, Change: r.Change, Queue: s.Queue,
		RequireApproval: s.RequireApproval, DryRun: s.DryRun, DryRunExecutes: s.DryRunExecutes,
		TimeoutSeconds:   s.TimeoutSeconds,
		IsolationProfile: s.IsolationProfile, FailOn: s.FailOn,
		Locks: s.Locks, ExclusiveHosts: s.ExclusiveHosts, Notifications: s.Notifications, Origin: o,
	}
	for i := range r.Graph.Steps {
		q.Steps = append(q.Steps, r.Graph.Steps[i].StepSpec)
	}
	return q
}
