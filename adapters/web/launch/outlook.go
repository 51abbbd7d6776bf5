package launch

import (
	"cmp"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// outlook is what will happen to a launch before it starts.
type outlook struct{ Glyph, Text string }

// outlook asks the policies and windows about the launch as it is entered. Of a workflow, whose steps are resolved at
// the launch, the last run tells. As for the submission, the hosts of an inventory that is refreshed first are unknown.
func (h *handlers) outlook(r *shell.Request, v *templateView, inventory, limit string) (out []outlook, err error) {
	if v.RequireApproval {
		out = append(out, outlook{"hold", heldText})
	}
	if v.Workflow() {
		if text := v.heldBefore(); text != "" && len(out) == 0 {
			out = append(out, outlook{"hold", text})
		}
		return out, nil
	}
	targets := policy.UnknownTargets()
	if v.plays() && inventory != "" && !v.reach.fresh {
		whole, err := h.Inventories.Get(r.Context(), inventory)
		if err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		targets = policy.Targets{Hosts: v.reach.count, Of: whole.Hosts}
	}
	run := v.run(inventory, limit)
	run.Actor.ID = r.Viewer.ID
	verdict, err := h.Policies.Preview(r.Context(), run, []policy.Targets{targets})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	return append(out, verdictText(r.Context(), verdict)...), nil
}

// run is what policies look at of a launch.
func (v *templateView) run(inventory, limit string) *runs.Run {
	t := v.TemplateSpec
	run := &runs.Run{Labels: t.Labels, Change: t.Change, Vars: t.ExtraVars,
		Origin: runs.Origin{Source: runs.FromTemplate, SourceID: v.ID},
		Spec: runs.Spec{Tool: cmp.Or(t.Tool, runs.Ansible), Playbook: t.Playbook, Command: t.Command,
			InventoryID: inventory, Inventory: t.Inventory, InventoryQuery: t.InventoryQuery, ProjectID: t.ProjectID,
			TemplateID: v.ID, Controls: t.Controls, DryRun: t.DryRun, CredentialIDs: t.CredentialIDs, Queue: t.Queue,
			IsolationProfile: t.IsolationProfile}}
	run.Spec.Limit = limit
	return run
}

// heldBefore says that the last run was held.
func (v *templateView) heldBefore() string {
	for _, r := range v.runs {
		if r.Spec.DryRun {
			continue
		}
		if hold := r.HeldBy(); hold != nil && hold.ID != "" {
			return heldBefore(hold.Name)
		}
		break
	}
	return ""
}
