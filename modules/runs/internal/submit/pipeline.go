package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/runs/internal/hostquery"
	"github.com/writ-automation/writ/modules/runs/internal/parent"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
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
	if err := s.completePipeline(ctx, r, &q, of, s.hosts.Choose); err != nil {
		return nil, false, err
	}
	if err := s.pin(ctx, r, q.ProjectID, of); err != nil {
		return nil, false, err
	}
	if err := s.pinSteps(ctx, r); err != nil {
		return nil, false, err
	}
	descend(r, of, q.Steps)
	return s.store(ctx, r, Request{Of: of, Submission: runs.Submission{Idempotency: q.Idempotency, WhenBusy: q.WhenBusy}})
}

func (s *Submitter) CheckPipeline(ctx context.Context, q runs.PipelineSubmission) error {
	return s.completePipeline(ctx, &runs.Run{}, &q, nil, s.hosts.Check)
}

// completePipeline fills the record from a request and validates it. A request that is made again, from another
// pipeline, has what its steps execute already.
func (s *Submitter) completePipeline(
	ctx context.Context, r *runs.Run, q *runs.PipelineSubmission, of *runs.Run, choose hostquery.Chooser,
) error {
	r.Kind, r.Name, r.Labels, r.Change, r.Vars = runs.Pipeline, q.Name, q.Labels, q.Change, q.ExtraVars
	r.Spec = runs.Spec{
		InventoryID: q.InventoryID, Inventory: q.Inventory, ProjectID: q.ProjectID, TemplateID: q.TemplateID,
		Templated: q.Templated, DryRun: q.DryRun, DryRunExecutes: q.DryRunExecutes,
		TimeoutSeconds: q.TimeoutSeconds, CredentialIDs: q.CredentialIDs, Queue: q.Queue,
		IsolationProfile: q.IsolationProfile, FailOn: q.FailOn,
		Notifications: q.Notifications, RequireApproval: q.RequireApproval,
	}
	q.Steps = slices.Clone(q.Steps)
	var vouched map[int][]string
	own := union(q.Locks)
	if of == nil {
		var err error
		if vouched, err = s.expand(ctx, q); err != nil {
			return err
		}
		if err := hostquery.Steps(ctx, q, choose); err != nil {
			return err
		}
	}
	r.Spec.Locks, r.Spec.ExclusiveHosts = q.Locks, q.ExclusiveHosts
	inherited, err := s.inheritSteps(ctx, r, q)
	if err != nil {
		return err
	}
	normalise(&r.Spec)
	r.Spec.Tool = "" // each step has its own
	c := newChecks()
	c.locks(own, vouchedLocks(q.Origin, of))
	if err := c.fault(); err != nil {
		return err
	}
	r.Graph, err = s.validatePipeline(ctx, r, q, inherited, vouched)
	return err
}

// validatePipeline validates a pipeline together with the credentials that its inventories add, which inherited holds
// by inventory. The template of a step vouches for the ids that vouched holds by the place of the step. It sets the
// credentials of the record and of each step. A step gets only credentials of its own inventory, so that those of one
// inventory reach no step over another.
func (s *Submitter) validatePipeline(
	ctx context.Context, r *runs.Run, q *runs.PipelineSubmission, inherited map[string][]string, vouched map[int][]string,
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
		spec := x.Of(&r.Spec)
		if err := s.known(at+".tool", spec.Tool); err != nil {
			return nil, err
		}
		s.step(c.under(at), x, &spec)
		from, add := "inventory_id", inherited[spec.InventoryID]
		if x.InventoryID != "" {
			from = at + ".inventory_id"
		}
		named := markInherited(references(at+".", x.InventoryID, x.ProjectID, x.Queue, x.CredentialIDs), from, add)
		refs = append(refs, markVouched(named, vouched[i])...)
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
	if on := []string{runs.OnSuccess, runs.OnFailure, runs.OnAlways}; x.On != "" && !slices.Contains(on, x.On) {
		c.bad("on", "%s", fault.NoChoice(x.On, on...))
	}
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
	c.query(spec)
	c.argument("playbook", x.Playbook, maxPath)
	c.inside(spec)
	c.text("command", x.Command, maxCommand)
	c.controls(&spec.Controls)
	c.failOn(x.FailOn)
	c.ids(x.InventoryID, x.ProjectID, x.CredentialIDs)
	c.vars("extra_vars", x.ExtraVars)
}

// expand replaces the steps of a request that launch templates by what these execute, and gives the request the locks
// of these templates. It returns the ids that each step's template vouches for, by the place of the step. The caller
// needs the right to use the templates.
func (s *Submitter) expand(ctx context.Context, q *runs.PipelineSubmission) (map[int][]string, error) {
	var named []reference
	for i := range q.Steps {
		x := &q.Steps[i]
		at := fmt.Sprintf("steps[%d].", i)
		if x.TemplateID == "" {
			if len(x.Answers) > 0 {
				return nil, fault.BadField(at+"answers", "must be empty without a template_id")
			}
			continue
		}
		if name := own(x); name != "" {
			return nil, fault.BadField(at+name, "must be empty where there is a template_id")
		}
		named = append(named, reference{path: at + "template_id", kind: ids.Template, id: x.TemplateID})
	}
	if len(named) == 0 {
		return nil, nil
	}
	if err := s.resolve(ctx, named, q.Vouched); err != nil {
		return nil, err
	}
	vouched := make(map[int][]string, len(named))
	for i := range q.Steps {
		x := &q.Steps[i]
		if x.TemplateID == "" {
			continue
		}
		t, err := s.refs.Step(ctx, x.TemplateID, x.Answers)
		if err != nil {
			return nil, under(fmt.Sprintf("steps[%d].", i), err)
		}
		made := t.Spec
		made.Name, made.DependsOn, made.On = x.Name, x.DependsOn, x.On
		made.Retries, made.ContinueOnFailure = x.Retries, x.ContinueOnFailure
		made.RequireApproval = x.RequireApproval || made.RequireApproval
		*x, vouched[i] = made, t.Vouched
		q.Locks, q.ExclusiveHosts = slices.Concat(q.Locks, t.Locks), q.ExclusiveHosts || t.ExclusiveHosts
	}
	return vouched, nil
}

// own returns the first member that a step with a template sets though it is the template's, empty for none.
func own(x *runs.StepSpec) string {
	for _, m := range []struct {
		name string
		set  bool
	}{
		{"tool", x.Tool != ""}, {"playbook", x.Playbook != ""}, {"command", x.Command != ""},
		{"inventory_id", x.InventoryID != ""}, {"inventory_query", x.InventoryQuery != ""}, {"project_id", x.ProjectID != ""},
		{"credential_ids", x.CredentialIDs != nil}, {"extra_vars", len(x.ExtraVars) > 0}, {"limit", x.Limit != ""},
		{"tags", len(x.Tags) > 0}, {"skip_tags", len(x.SkipTags) > 0}, {"timeout", x.TimeoutSeconds != 0},
		{"queue", x.Queue != ""}, {"fail_on", x.FailOn != nil},
	} {
		if m.set {
			return m.name
		}
	}
	return ""
}

// under puts a path before the fields that an Invalid fault names.
func under(path string, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) == 0 {
		return err
	}
	at := *f
	at.Message, at.Fields = path+f.Message, slices.Clone(f.Fields)
	for i := range at.Fields {
		at.Fields[i].Location = path + at.Fields[i].Location
	}
	return &at
}

// markVouched marks the references of a step that its template names.
func markVouched(list []reference, vouched []string) []reference {
	for i := range list {
		list[i].templated = list[i].vouched(vouched)
	}
	return list
}

// pinSteps fixes the commits of the steps whose project is not that of the pipeline.
func (s *Submitter) pinSteps(ctx context.Context, r *runs.Run) error {
	type pinned struct {
		commit   string
		warnings []runs.Warning
	}
	known := map[string]pinned{r.Spec.ProjectID: {commit: r.Commit}}
	for i := range r.Graph.Steps {
		x := &r.Graph.Steps[i].StepSpec
		x.Commit = ""
		project := x.Of(&r.Spec).ProjectID
		if project == "" || project == r.Spec.ProjectID {
			continue
		}
		p, ok := known[project]
		if !ok {
			step := &runs.Run{Origin: r.Origin}
			if step.Origin.Source == runs.FromTrigger {
				step.Origin.Source = runs.FromTemplate // the push was of another project
			}
			if err := s.pin(ctx, step, project, nil); err != nil {
				return err
			}
			p = pinned{step.Commit, step.Warnings}
			known[project] = p
			r.Warnings = append(slices.Clone(r.Warnings), p.warnings...)
		}
		x.Commit = p.commit
	}
	return nil
}
