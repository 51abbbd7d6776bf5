package template

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/modules/catalog/internal/survey"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

// Step returns what a step of a pipeline executes that launches the template with answers. A step has no shards and
// notifications of its own. Invalid faults name template_id or answers.<var>.
func Step(t catalog.Template, answers runs.Vars) (catalog.Step, error) {
	if t.Workflow() {
		return catalog.Step{}, noStep("template_id")
	}
	values := make(map[string]any, len(answers))
	for name, raw := range answers {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return catalog.Step{}, fault.BadField("answers."+name, "is not JSON")
		}
		values[name] = v
	}
	m, err := applyOverrides(t, catalog.Launch{Answers: values})
	if err != nil {
		return catalog.Step{}, err
	}
	fields, err := survey.Decode(t.Survey)
	if err != nil {
		return catalog.Step{}, fmt.Errorf("read a stored survey: %w", err)
	}
	x := &runs.Preset{Open: slices.Contains(t.AllowOverrides, "extra_vars")}
	for i := range fields {
		x.Closed = append(x.Closed, fields[i].Var)
	}
	s := m.single()
	x.Inventory, x.Forks, x.Verbosity, x.DiffMode = s.Inventory, s.Forks, s.Verbosity, s.DiffMode
	x.DryRun, x.DryRunExecutes, x.IsolationProfile = s.DryRun, s.DryRunExecutes, s.IsolationProfile
	x.Labels, x.Change = s.Labels, s.Change
	// An empty list, unlike none, leaves the step without those of its pipeline.
	none := func(list []string) []string { return append([]string{}, list...) }
	return catalog.Step{Vouched: m.vouched, Locks: s.Locks, ExclusiveHosts: s.ExclusiveHosts, Spec: runs.StepSpec{
		TemplateID: t.ID, Tool: cmp.Or(s.Tool, runs.Ansible), Playbook: s.Playbook, Command: s.Command,
		InventoryID: s.InventoryID, InventoryQuery: s.InventoryQuery, ProjectID: s.ProjectID,
		Limit: s.Limit, Tags: s.Tags, SkipTags: s.SkipTags,
		TimeoutSeconds: s.TimeoutSeconds, Queue: s.Queue, CredentialIDs: none(s.CredentialIDs), FailOn: none(s.FailOn),
		ExtraVars: s.ExtraVars, Templated: s.Templated, RequireApproval: s.RequireApproval, Preset: x,
	}}, nil
}

func noStep(field string) error {
	return fault.BadField(field, "is a workflow, which cannot be a step")
}

// checkSteps refuses steps that launch a workflow. It is called in the unit that has stored the template with its
// references: only there the template itself, and one that is changed meanwhile, are seen as they become.
func (k *Templates) checkSteps(ctx context.Context, t catalog.Template) error {
	for i := range t.Steps {
		id := t.Steps[i].TemplateID
		if id == "" {
			continue
		}
		launched, err := k.store.TemplateByID(ctx, id)
		if err != nil {
			return err
		}
		if launched.Workflow() {
			return noStep(check.At("steps", i) + ".template_id")
		}
	}
	return nil
}

// launchedError says which workflows launch the template that a unit would make a workflow.
type launchedError struct{ by []string }

func (launchedError) Error() string { return "a workflow launches the template in a step" }

// checkLaunched returns a launchedError for a template that workflows launch. It is called in the open unit. To remove
// the object waits for units that refer to it, and later ones see what this unit makes of the template.
func (k *Templates) checkLaunched(ctx context.Context, r object.Record) error {
	if err := k.Objects.Remove(ctx, r.ID); err != nil {
		return err
	}
	uses, _, err := k.Usage.UsedBy(ctx, r.ID, math.MaxInt32)
	if err != nil {
		return err
	}
	var launched launchedError
	for _, use := range uses {
		if use.Kind == identity.KindTemplate {
			launched.by = append(launched.by, use.ID)
		}
	}
	if launched.by != nil {
		return launched
	}
	return k.Objects.Put(ctx, identity.Object{ID: r.ID, Org: r.Org})
}

// explainLaunched converts a launchedError to a fault, which names a workflow that the caller may read, and returns any
// other error as it is.
func (k *Templates) explainLaunched(ctx context.Context, err error) error {
	var launched launchedError
	if !errors.As(err, &launched) {
		return err
	}
	for _, id := range launched.by {
		ok, err := k.guard.May(ctx, access.Read, id)
		if err != nil {
			return err
		}
		if ok {
			return fault.BadField("steps", "must be empty: the workflow %s launches the template in a step", id)
		}
	}
	return fault.BadField("steps", "must be empty: %s", launched)
}
