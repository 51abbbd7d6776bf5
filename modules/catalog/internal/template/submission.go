package template

import (
	"maps"
	"slices"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// Single returns the request for the run that a template without steps says. The caller may change what it returns.
func Single(t *catalog.Template) runs.Submission {
	s := &t.TemplateSpec
	return runs.Submission{
		Spec: runs.Spec{
			Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, InventoryID: s.InventoryID, Inventory: s.Inventory, ProjectID: s.ProjectID,
			TemplateID: t.ID, Templated: Names(s.ExtraVars), Controls: s.Controls, DryRun: s.DryRun, Shards: s.Shards,
			TimeoutSeconds: s.TimeoutSeconds, CredentialIDs: slices.Clone(s.CredentialIDs), Queue: s.Queue,
			Notifications: slices.Clone(s.Notifications),
		},
		Name: t.Name, Labels: maps.Clone(s.Labels), Change: s.Change, ExtraVars: maps.Clone(s.ExtraVars),
	}
}

// Pipeline returns the request for the pipeline that a workflow says. The variables of its steps were saved with it.
func Pipeline(t *catalog.Template) runs.PipelineSubmission {
	s := &t.TemplateSpec
	steps := slices.Clone(s.Steps)
	for i := range steps {
		steps[i].Templated = Names(steps[i].ExtraVars)
	}
	return runs.PipelineSubmission{
		Name: t.Name, InventoryID: s.InventoryID, Inventory: s.Inventory, ProjectID: s.ProjectID, TemplateID: t.ID,
		Templated: Names(s.ExtraVars), Steps: steps, ExtraVars: maps.Clone(s.ExtraVars), CredentialIDs: slices.Clone(s.CredentialIDs),
		Labels: maps.Clone(s.Labels), Change: s.Change, Queue: s.Queue, DryRun: s.DryRun, TimeoutSeconds: s.TimeoutSeconds,
		Notifications: slices.Clone(s.Notifications),
	}
}

// Named returns the template's id and the ids of all that it names but the credentials that a launch may choose.
func Named(t *catalog.Template) []string {
	s := &t.TemplateSpec
	out := append([]string{t.ID, s.ProjectID, s.InventoryID}, inheritedCredentials(t)...)
	for i := range s.Steps {
		out = append(out, s.Steps[i].InventoryID)
	}
	return slices.DeleteFunc(out, func(id string) bool { return id == "" })
}

// Names returns the names of variables in order, nil where there are none.
func Names(v runs.Vars) []string { return slices.Sorted(maps.Keys(v)) }
