package parent

import (
	"cmp"

	"github.com/writ-automation/writ/ports/runs"
)

// StepSpec returns what a step executes: its own settings, and the pipeline's where it has none. A pipeline's timeout
// is the default of each of its steps.
func StepSpec(p *runs.Spec, s *runs.StepSpec) runs.Spec {
	out := runs.Spec{
		Tool: cmp.Or(s.Tool, runs.Ansible), Playbook: s.Playbook, Command: s.Command,
		InventoryID: p.InventoryID, Inventory: p.Inventory, ProjectID: p.ProjectID, TemplateID: p.TemplateID,
		Controls: runs.Controls{Limit: s.Limit, Tags: s.Tags, SkipTags: s.SkipTags},
		DryRun:   p.DryRun, TimeoutSeconds: cmp.Or(s.TimeoutSeconds, p.TimeoutSeconds), Env: p.Env,
		CredentialIDs: p.CredentialIDs, Queue: cmp.Or(s.Queue, p.Queue, runs.DefaultQueue), Priority: p.Priority,
		IsolationProfile: p.IsolationProfile, FailOn: p.FailOn, RequireApproval: s.RequireApproval,
	}
	if s.InventoryID != "" {
		out.InventoryID, out.Inventory = s.InventoryID, ""
	}
	if s.CredentialIDs != nil {
		out.CredentialIDs = s.CredentialIDs
	}
	if s.FailOn != nil {
		out.FailOn = s.FailOn
	}
	return out
}
