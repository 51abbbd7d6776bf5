package submit

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/pipeline"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a pipeline.
const (
	maxSteps   = 256
	maxRetries = 100
)

// SubmitPipeline implements runs.Submitter.
func (s *Submitter) SubmitPipeline(ctx context.Context, q runs.PipelineSubmission) (*runs.Run, bool, error) {
	return s.TakePipeline(ctx, q, nil)
}

// TakePipeline is SubmitPipeline for a request made of another pipeline, whose lineage it keeps. Nil is none.
func (s *Submitter) TakePipeline(ctx context.Context, q runs.PipelineSubmission, of *runs.Run) (*runs.Run, bool, error) {
	r := s.record(ctx, q.Origin)
	r.Kind, r.Name, r.Labels, r.Change, r.Vars = runs.Pipeline, q.Name, q.Labels, q.Change, q.ExtraVars
	r.Spec = runs.Spec{
		InventoryID: q.InventoryID, Inventory: q.Inventory, ProjectID: q.ProjectID, DryRun: q.DryRun,
		TimeoutSeconds: q.TimeoutSeconds, CredentialIDs: q.CredentialIDs, Queue: q.Queue,
		Notifications: q.Notifications, RequireApproval: q.RequireApproval,
	}
	normalise(&r.Spec)
	r.Spec.Tool = "" // each step has its own
	graph, err := s.judgePipeline(ctx, r, q.Steps, q.Idempotency)
	if err != nil {
		return nil, false, err
	}
	r.Graph = graph
	descend(r, of, q.Steps)
	return s.store(ctx, r, q.Idempotency)
}

func (s *Submitter) judgePipeline(ctx context.Context, r *runs.Run, steps []runs.StepSpec, key *runs.Idempotency) (*runs.Graph, error) {
	c := newChecks()
	c.runes("name", r.Name, maxName)
	c.labels(r.Labels, r.Change)
	c.vars("extra_vars", r.Vars)
	c.paths(&r.Spec)
	c.common(&r.Spec)
	c.key(key)
	refs := references("", r.Spec.InventoryID, r.Spec.ProjectID, r.Spec.Queue, r.Spec.CredentialIDs)
	switch {
	case len(steps) == 0:
		c.bad("steps", "must not be empty")
	case len(steps) > maxSteps:
		c.bad("steps", "has more than %d members", maxSteps)
		steps = nil
	}
	for i := range steps {
		x := &steps[i]
		at := fmt.Sprintf("steps[%d]", i)
		spec := pipeline.Spec(&r.Spec, x)
		if err := s.known(at+".tool", spec.Tool); err != nil {
			return nil, err
		}
		s.step(c.under(at), x, &spec)
		refs = append(refs, references(at+".", x.InventoryID, "", x.Queue, x.CredentialIDs)...)
	}
	if err := c.fault(); err != nil {
		return nil, err
	}
	graph, err := pipeline.New(steps, r.Vars)
	if err != nil {
		return nil, err
	}
	return graph, s.resolve(ctx, refs)
}

// step judges what a step says itself; what it has from the pipeline is judged there.
func (s *Submitter) step(c checks, x *runs.StepSpec, spec *runs.Spec) {
	if strings.TrimSpace(x.Name) == "" {
		c.bad("name", "must not be empty")
	}
	c.runes("name", x.Name, maxName)
	c.count("depends_on", len(x.DependsOn))
	if x.Retries < 0 || x.Retries > maxRetries {
		c.bad("retries", "must be from 0 to %d", maxRetries)
	}
	if x.TimeoutSeconds < 0 || x.TimeoutSeconds > maxSeconds {
		c.bad("timeout", "must be a number of seconds from 0 to %d", maxSeconds)
	}
	if x.Queue != "" && !queue.MatchString(x.Queue) {
		c.bad("queue", "is not the name of a queue")
	}
	c.tool(spec)
	c.argument("playbook", x.Playbook, maxPath)
	c.text("command", x.Command, maxCommand)
	c.controls(&spec.Controls)
	c.ids(x.InventoryID, "", x.CredentialIDs)
	c.vars("extra_vars", x.ExtraVars)
}
