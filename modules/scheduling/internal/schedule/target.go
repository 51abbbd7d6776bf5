package schedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
)

// TargetChecker decides whether the caller could submit a target now.
type TargetChecker struct {
	Launcher catalog.Launcher
	Checker  runs.Checker
}

// clean returns a target without the fields that only a firing sets. It does not change its argument.
func clean(t scheduling.Target) scheduling.Target {
	if t.Run != nil {
		c := *t.Run
		c.Origin, c.Idempotency = runs.Origin{}, nil
		t.Run = &c
	}
	if t.Pipeline != nil {
		c := *t.Pipeline
		c.Origin, c.Idempotency = runs.Origin{}, nil
		t.Pipeline = &c
	}
	return t
}

// target returns the fault of a submission of the target by the caller, nil if it would create a run. A disabled
// schedule does not need a template that can be launched now, so a schedule that cannot fire any more can always be
// disabled.
func (j TargetChecker) target(ctx context.Context, t *scheduling.Target, enabled bool) error {
	named := 0
	for _, is := range []bool{t.TemplateID != "", t.Run != nil, t.Pipeline != nil} {
		if is {
			named++
		}
	}
	switch {
	case named != 1:
		return fault.BadField("template_id", "exactly one of template_id, run and pipeline says what is fired")
	case len(t.Answers) > 0 && t.TemplateID == "":
		return fault.BadField("answers", "are for a template alone")
	case t.Run != nil:
		if err := plain(&t.Run.Spec); err != nil {
			return fault.Below("run", err)
		}
		return fault.Below("run", j.Checker.Check(ctx, *t.Run))
	case t.Pipeline != nil:
		if err := plainPipeline(t.Pipeline); err != nil {
			return fault.Below("pipeline", err)
		}
		return fault.Below("pipeline", j.Checker.CheckPipeline(ctx, *t.Pipeline))
	case !ids.Valid(ids.Template, t.TemplateID):
		return object.Reference{Field: "template_id", Kind: ids.Template, ID: t.TemplateID}.Missing()
	}
	err := forTemplate(j.Launcher.Unattended(ctx, t.TemplateID, t.Answers), t.TemplateID)
	if !enabled && (fault.Is(err, fault.Invalid) || secrets.SecretMissing.Is(err)) {
		return nil
	}
	return err
}

// forTemplate adds the template to a refusal.
func forTemplate(err error, id string) error {
	ref := object.Reference{Field: "template_id", Kind: ids.Template, ID: id}
	switch {
	case catalog.TemplateNotFound.Is(err):
		return ref.Missing()
	case runs.UseRequired.Is(err):
		return ref.Unusable()
	default:
		return err
	}
}

// plain refuses the fields that only the application sets on a run: whose values a tool may evaluate, and the hosts to
// which the run is bound.
func plain(s *runs.Spec) error {
	switch {
	case s.TemplateID != "":
		return fault.BadField("template_id", "is not taken; a template is fired by template_id beside run")
	case len(s.Templated) > 0:
		return fault.BadField("templated", "is not taken")
	case s.LimitHosts != nil:
		return fault.BadField("limit_hosts", "is not taken")
	case s.InventoryQuery != "" && s.InventoryID == "":
		return fault.BadField("inventory_query", "needs inventory_id where nobody is there to choose")
	default:
		return nil
	}
}

func plainPipeline(p *runs.PipelineSubmission) error {
	if err := plain(&runs.Spec{TemplateID: p.TemplateID, Templated: p.Templated}); err != nil {
		return err
	}
	for i := range p.Steps {
		x := &p.Steps[i]
		if err := plain(&runs.Spec{Templated: x.Templated, LimitHosts: x.LimitHosts, InventoryQuery: x.InventoryQuery,
			InventoryID: cmp.Or(x.InventoryID, p.InventoryID)}); err != nil {
			return fault.Below(fmt.Sprintf("steps[%d]", i), err)
		}
	}
	return nil
}

// targetKind returns the kind of a target.
func targetKind(t *scheduling.Target) string {
	switch {
	case t.Run != nil:
		return "run"
	case t.Pipeline != nil:
		return "pipeline"
	default:
		return "template"
	}
}

// refs returns the objects that a target refers to, with their fields. It leaves out queues, which are no stored
// objects.
func refs(t *scheduling.Target) object.References {
	out := object.References(nil).Add("template_id", ids.Template, t.TemplateID)
	if r := t.Run; r != nil {
		out = out.Add("run.inventory_id", ids.Inventory, r.InventoryID).Add("run.project_id", ids.Project, r.ProjectID).
			AddList("run.credential_ids", ids.Credential, r.CredentialIDs)
	}
	if p := t.Pipeline; p != nil {
		out = out.Add("pipeline.inventory_id", ids.Inventory, p.InventoryID).
			Add("pipeline.project_id", ids.Project, p.ProjectID).
			AddList("pipeline.credential_ids", ids.Credential, p.CredentialIDs)
		for i := range p.Steps {
			path := fmt.Sprintf("pipeline.steps[%d].", i)
			out = out.Add(path+"inventory_id", ids.Inventory, p.Steps[i].InventoryID).
				Add(path+"project_id", ids.Project, p.Steps[i].ProjectID).
				Add(path+"template_id", ids.Template, p.Steps[i].TemplateID).
				AddList(path+"credential_ids", ids.Credential, p.Steps[i].CredentialIDs)
		}
	}
	return out
}

// objects returns the objects that decide who may read a schedule with the target: all that it refers to, and the
// queues of its runs.
func objects(t *scheduling.Target) []string {
	out := refs(t).IDs()
	switch {
	case t.Run != nil:
		out = append(out, runs.ObjectsOf(&runs.Run{Spec: t.Run.Spec})...)
	case t.Pipeline != nil:
		g := &runs.Graph{Steps: make([]runs.StepState, len(t.Pipeline.Steps))}
		for i := range t.Pipeline.Steps {
			g.Steps[i].StepSpec = t.Pipeline.Steps[i]
		}
		out = append(out, runs.ObjectsOf(&runs.Run{Spec: runs.Spec{Queue: t.Pipeline.Queue}, Graph: g})...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
