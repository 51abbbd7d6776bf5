package submit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/parent"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a pipeline.
const (
	maxSteps   = 256
	maxRetries = 100
)

func (s *Submitter) SubmitPipeline(ctx context.Context, q runs.PipelineSubmission) (*runs.Run, bool, error) {
	return s.TakePipeline(ctx, q, nil)
}

// TakePipeline is SubmitPipeline for a request that is made from another pipeline. The new pipeline keeps the lineage
// of of, which may be nil.
func (s *Submitter) TakePipeline(
	ctx context.Context, q runs.PipelineSubmission, of *runs.Run,
) (*runs.Run, bool, error) {
	r := s.record(ctx, q.Origin)
	if of != nil {
		var err error
		if q.RequireApproval, err = s.heldAgain(ctx, q.TemplateID, q.RequireApproval, q.Steps); err != nil {
			return nil, false, err
		}
	}
	if err := s.completePipeline(ctx, r, &q); err != nil {
		return nil, false, err
	}
	if err := s.pin(ctx, r, q.ProjectID, of); err != nil {
		return nil, false, err
	}
	descend(r, of, q.Steps)
	return s.store(ctx, r, of, q.Idempotency)
}

func (s *Submitter) CheckPipeline(ctx context.Context, q runs.PipelineSubmission) error {
	return s.completePipeline(ctx, &runs.Run{}, &q)
}

// completePipeline fills the record from a request and validates it.
func (s *Submitter) completePipeline(ctx context.Context, r *runs.Run, q *runs.PipelineSubmission) error {
	r.Kind, r.Name, r.Labels, r.Change, r.Vars = runs.Pipeline, q.Name, q.Labels, q.Change, q.ExtraVars
	r.Spec = runs.Spec{
		InventoryID: q.InventoryID, Inventory: q.Inventory, ProjectID: q.ProjectID, TemplateID: q.TemplateID,
		Templated: q.Templated, DryRun: q.DryRun,
		TimeoutSeconds: q.TimeoutSeconds, CredentialIDs: q.CredentialIDs, Queue: q.Queue,
		IsolationProfile: q.IsolationProfile, FailOn: q.FailOn,
		Notifications: q.Notifications, RequireApproval: q.RequireApproval,
	}
	q.Steps = slices.Clone(q.Steps)
	inherited, err := s.inheritSteps(ctx, r, q)
	if err != nil {
		return err
	}
	normalise(&r.Spec)
	r.Spec.Tool = "" // each step has its own
	r.Graph, err = s.validatePipeline(ctx, r, q, inherited)
	return err
}

// validatePipeline validates a pipeline together with the credentials that its inventories add, which inherited holds
// by inventory. It sets the credentials of the record and of each step. A step gets only credentials of its own
// inventory, so that those of one inventory reach no step over another.
func (s *Submitter) validatePipeline(
	ctx context.Context, r *runs.Run, q *runs.PipelineSubmission, inherited map[string][]string,
) (*runs.Graph, error) {
	steps := q.Steps
	c := newChecks()
	c.runes("name", r.Name, maxName)
	c.labels(r.Labels, r.Change)
	c.vars("extra_vars", r.Vars)
	c.paths(&r.Spec)
	c.common(&r.Spec)
	c.key(q.Idempotency)
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
		spec := parent.StepSpec(&r.Spec, x)
		if err := s.known(at+".tool", spec.Tool); err != nil {
			return nil, err
		}
		s.step(c.under(at), x, &spec)
		from, add := "inventory_id", inherited[spec.InventoryID]
		if x.InventoryID != "" {
			from = at + ".inventory_id"
		}
		refs = append(refs, markInherited(references(at+".", x.InventoryID, "", x.Queue, x.CredentialIDs), from, add)...)
		if x.CredentialIDs != nil || len(add) > 0 {
			x.CredentialIDs = union(spec.CredentialIDs, add)
			c.under(at).total(spec.CredentialIDs, x.CredentialIDs)
		}
	}
	r.Spec.CredentialIDs = union(r.Spec.CredentialIDs)
	if err := c.fault(); err != nil {
		return nil, err
	}
	graph, err := parent.NewGraph(steps, r.Vars)
	if err != nil {
		return nil, err
	}
	graph.Templated = r.Spec.Templated
	if err := s.resolve(ctx, refs, q.Vouched); err != nil {
		return nil, err
	}
	return graph, s.compatibleSteps(ctx, &r.Spec, graph)
}

// step checks the settings of a step itself. Those of the pipeline are checked there.
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
	c.inside(spec)
	c.text("command", x.Command, maxCommand)
	c.controls(&spec.Controls)
	c.failOn(x.FailOn)
	c.ids(x.InventoryID, "", x.CredentialIDs)
	c.vars("extra_vars", x.ExtraVars)
}
