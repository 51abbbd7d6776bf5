package policy

import (
	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// MatchBody selects requests: every criterion that is set has to be met, and of a list one item.
type MatchBody struct {
	Tools              []string          `json:"tools,omitempty"`
	CommandContains    string            `json:"command_contains,omitempty" doc:"A part of the command, in its case."`
	Playbook           string            `json:"playbook,omitempty" doc:"A path, in which * stands for any text but a slash."`
	InventoryIDs       []string          `json:"inventory_ids,omitempty"`
	TemplateIDs        []string          `json:"template_ids,omitempty"`
	ProjectIDs         []string          `json:"project_ids,omitempty"`
	Queues             []string          `json:"queues,omitempty"`
	Sources            []runs.Source     `json:"sources,omitempty" enum:"api,template,schedule,trigger,rerun,retry,relaunch,reconcile,proposal,import,plan"`
	CredentialIDs      []string          `json:"credential_ids,omitempty" doc:"Met by a run that uses one of them."`
	Labels             map[string]string `json:"labels,omitempty" doc:"The run has all of them. The value * stands for any value."`
	HostsOver          *int              `json:"hosts_over,omitempty" minimum:"0" maximum:"1073741824" doc:"Met by a run that targets more hosts, or hosts that are not known before it."`
	InventoryShareOver *int              `json:"inventory_share_over,omitempty" minimum:"0" maximum:"100" doc:"Met by a run that targets more of its inventory's hosts, in percent, or hosts that are not known before it."`
	LimitMissing       bool              `json:"limit_missing,omitempty" doc:"Met by a playbook run over its whole inventory."`
	ChangeMissing      bool              `json:"change_missing,omitempty" doc:"Met by a run that names no change."`
}

// Fields are the members of a policy that a caller sets.
type Fields struct {
	Name             string         `json:"name" minLength:"1" maxLength:"200" doc:"Unique."`
	Effect           policy.Effect  `json:"effect" enum:"require_approval,deny" doc:"Deny takes precedence."`
	Enabled          *bool          `json:"enabled,omitempty" doc:"True if absent."`
	Match            MatchBody      `json:"match" required:"false" doc:"What is empty selects every request. Ids of objects that the reader may not read are left out of answers."`
	ExcludeDryRun    bool           `json:"exclude_dry_run" required:"false" doc:"It leaves out runs that change nothing."`
	RiskAtLeast      runs.RiskLevel `json:"risk_at_least,omitempty" enum:"low,medium,high,critical" doc:"It leaves out runs below a risk."`
	Actors           []string       `json:"actors,omitempty" doc:"The only ones to whom the policy applies: user:<id> or team:<id>. Everybody if empty."`
	DistinctApprover bool           `json:"distinct_approver" required:"false" doc:"Whoever asked for the run may not decide."`
	Message          string         `json:"message,omitempty" maxLength:"500" doc:"Shown to those whose run is held or denied."`
	ApprovalsNeeded  int            `json:"approvals_needed,omitempty" minimum:"1" maximum:"10" doc:"How many accounts must approve; 1 if absent. Not for the effect deny."`
	ApproverTeams    []string       `json:"approver_teams,omitempty" doc:"The ids of the teams whose members decide, administrators if empty. Not for the effect deny."`
}

func (b *Fields) policy() policy.Policy {
	return policy.Policy{
		Record: object.Record{Name: b.Name}, Effect: b.Effect, Enabled: b.Enabled == nil || *b.Enabled,
		Match: policy.Match(b.Match), ExcludeDryRun: b.ExcludeDryRun, RiskAtLeast: b.RiskAtLeast, Actors: b.Actors,
		DistinctApprover: b.DistinctApprover, Message: b.Message, ApprovalsNeeded: b.ApprovalsNeeded,
		ApproverTeams: b.ApproverTeams,
	}
}

// Body is a policy.
type Body struct {
	httpapi.Record
	Fields
}

func body(p policy.Policy) Body {
	return Body{httpapi.RecordOf(p.Record), Fields{
		Name: p.Name, Effect: p.Effect, Enabled: &p.Enabled, Match: MatchBody(p.Match), ExcludeDryRun: p.ExcludeDryRun,
		RiskAtLeast: p.RiskAtLeast, Actors: p.Actors, DistinctApprover: p.DistinctApprover, Message: p.Message,
		ApprovalsNeeded: p.ApprovalsNeeded, ApproverTeams: p.ApproverTeams,
	}}
}

// List lists policies by name.
type List struct {
	Policies []Body `json:"policies"`
	httpapi.Listed
}

// ListInput selects policies.
type ListInput struct {
	httpapi.Window
	Name string `query:"name" doc:"Only the policy of exactly this name."`
}

func (in *ListInput) filter() policy.Filter { return policy.Filter{Name: in.Name} }

func list(rows []Body, l httpapi.Listed) List { return List{rows, l} }

func exampleFields() Fields {
	on, hosts := true, 10
	return Fields{
		Name: "production", Effect: policy.RequireApproval, Enabled: &on,
		Match:         MatchBody{Labels: map[string]string{"env": "production"}, HostsOver: &hosts},
		ExcludeDryRun: true, Message: "Ask the operations team.", ApprovalsNeeded: 1,
	}
}

func example() Body {
	return Body{Record: httpapi.ExampleRecord("pol_01k0a0009vtx5zk9w2m4n6p8rs"), Fields: exampleFields()}
}
