package template

import (
	"maps"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// submission returns the run request of a template without steps. The caller may modify the result.
func submission(t *catalog.Template) runs.Submission {
	s := &t.TemplateSpec
	return runs.Submission{
		Spec: runs.Spec{
			Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, InventoryID: s.InventoryID, Inventory: s.Inventory,
			InventoryQuery: s.InventoryQuery, ProjectID: s.ProjectID,
			TemplateID: t.ID, Templated: names(s.ExtraVars), Controls: s.Controls, DryRun: s.DryRun, Shards: s.Shards,
			DryRunExecutes: s.DryRunExecutes,
			TimeoutSeconds: s.TimeoutSeconds, CredentialIDs: slices.Clone(s.CredentialIDs), Queue: s.Queue,
			IsolationProfile: s.IsolationProfile, FailOn: s.FailOn, Notifications: slices.Clone(s.Notifications),
			RequireApproval: s.RequireApproval, Locks: slices.Clone(s.Locks), ExclusiveHosts: s.ExclusiveHosts,
		},
		WhenBusy: s.WhenBusy,
		Name:     t.Name, Labels: maps.Clone(s.Labels), Change: s.Change, ExtraVars: maps.Clone(s.ExtraVars),
	}
}

// pipeline returns the pipeline request of a workflow. The variables of its steps count as templates, since they were
// saved with it.
func pipeline(t *catalog.Template) runs.PipelineSubmission {
	s := &t.TemplateSpec
	steps := slices.Clone(s.Steps)
	for i := range steps {
		steps[i].Templated = names(steps[i].ExtraVars)
	}
	return runs.PipelineSubmission{
		Name: t.Name, InventoryID: s.InventoryID, Inventory: s.Inventory, ProjectID: s.ProjectID, TemplateID: t.ID,
		Templated: names(s.ExtraVars), Steps: steps, ExtraVars: maps.Clone(s.ExtraVars),
		CredentialIDs: slices.Clone(s.CredentialIDs),
		Labels:        maps.Clone(s.Labels), Change: s.Change, Queue: s.Queue, DryRun: s.DryRun,
		DryRunExecutes: s.DryRunExecutes,
		TimeoutSeconds: s.TimeoutSeconds, IsolationProfile: s.IsolationProfile, FailOn: s.FailOn,
		Notifications: slices.Clone(s.Notifications), RequireApproval: s.RequireApproval,
		Locks: slices.Clone(s.Locks), ExclusiveHosts: s.ExclusiveHosts, WhenBusy: s.WhenBusy,
	}
}

// namedIDs returns the ids of the template and of all objects that it names, without the selectable credentials.
func namedIDs(t *catalog.Template) []string {
	s := &t.TemplateSpec
	out := append([]string{t.ID, s.ProjectID, s.InventoryID}, inheritedCredentials(t)...)
	for i := range s.Steps {
		out = append(out, s.Steps[i].InventoryID, s.Steps[i].ProjectID, s.Steps[i].TemplateID)
	}
	return slices.DeleteFunc(out, func(id string) bool { return id == "" })
}

// names returns the sorted names of variables, nil if there are none.
func names(v runs.Vars) []string { return slices.Sorted(maps.Keys(v)) }
