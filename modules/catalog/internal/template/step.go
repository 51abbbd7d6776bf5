package template

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/modules/catalog/internal/survey"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Step returns what a step of a pipeline executes that launches the template with answers. A step has no shards and
// notifications of its own. Invalid faults name template_id or answers.<var>.
func Step(t catalog.Template, answers runs.Vars) (catalog.Step, error) {
	if t.Workflow() {
		return catalog.Step{}, fault.BadField("template_id", "is a workflow, which cannot be a step")
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
