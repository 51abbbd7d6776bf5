package catalog

import (
	"cmp"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

// TemplateFields are the members of a template that a caller sets.
type TemplateFields struct {
	Name string `json:"name" minLength:"1" maxLength:"200" doc:"Unique within the organization."`
	httpapi.Settings
	Survey                  Survey                  `json:"survey,omitempty"`
	Steps                   []httpapi.RunsStepInput `json:"steps,omitempty" maxItems:"256" doc:"They make it a workflow."`
	SelectableCredentialIDs []string                `json:"selectable_credential_ids,omitempty" maxItems:"1000" doc:"Of which a launch may choose."`
	AllowOverrides          []string                `json:"allow_overrides,omitempty" enum:"limit,inventory_id,tags,skip_tags,extra_vars,dry_run,forks,verbosity,diff_mode,labels,change" doc:"What a launch may bring."`
	AllowedVars             []string                `json:"allowed_vars,omitempty" maxItems:"100" doc:"Reserved names that answers and variables of a launch may have, at any depth."`
	IsolationProfile        string                  `json:"isolation_profile,omitempty" maxLength:"63" doc:"What its runs may do on their executor, which has to allow it for the queue: standard, sealed, host or a profile of its configuration."`
	DryRunExecutes          bool                    `json:"dry_run_executes,omitempty" doc:"A dry run executes the script, or those among the steps, with WRIT_DRY_RUN=1 instead of only checking it: the script itself changes nothing then. For tools that execute scripts."`
	RequireApproval         bool                    `json:"require_approval,omitempty" doc:"It holds every run of the template; no launch overrides it."`
	// MaxConcurrent is a pointer because 0 is not the default.
	MaxConcurrent *int   `json:"max_concurrent,omitempty" minimum:"0" maximum:"10000" doc:"How many of its runs may execute at a time: 1 where absent, any number for 0. A pipeline counts as one, and held runs do not count."`
	WhenBusy      string `json:"when_busy,omitempty" enum:"queue,skip,replace" doc:"What happens to a launch while as many runs are pending or running: it waits, which is the default, it is refused with template_busy, or the oldest of the other runs is cancelled where the caller may do that."`
	Org           string `json:"org_id,omitempty"`
}

// defaultConcurrent is how many runs of a template may execute at a time if the request does not say it.
const defaultConcurrent = 1

func (b *TemplateFields) template() catalog.Template {
	s, concurrent := b.Spec(), defaultConcurrent
	if b.MaxConcurrent != nil {
		concurrent = *b.MaxConcurrent
	}
	return catalog.Template{
		Record: object.Record{Name: b.Name, Org: b.Org},
		TemplateSpec: catalog.TemplateSpec{
			Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, Shards: s.Shards, InventoryID: s.InventoryID,
			Inventory: s.Inventory, InventoryQuery: s.InventoryQuery,
			ProjectID: s.ProjectID, ExtraVars: b.ExtraVars, Controls: s.Controls, TimeoutSeconds: s.TimeoutSeconds,
			Notifications: s.Notifications,
			Survey:        json.RawMessage(b.Survey), Steps: httpapi.Steps(b.Steps), CredentialIDs: s.CredentialIDs,
			SelectableCredentialIDs: b.SelectableCredentialIDs, Queue: s.Queue, Labels: b.Labels, Change: b.Change,
			DryRun: s.DryRun, DryRunExecutes: b.DryRunExecutes,
			AllowOverrides: b.AllowOverrides, AllowedVars: b.AllowedVars, IsolationProfile: b.IsolationProfile,
			FailOn: s.FailOn, RequireApproval: b.RequireApproval, MaxConcurrent: concurrent,
			WhenBusy: runs.WhenBusy(b.WhenBusy), Locks: s.Locks, ExclusiveHosts: s.ExclusiveHosts,
		},
	}
}

// fieldsOf returns the fields of a template without secrets.
func fieldsOf(t catalog.Template) TemplateFields {
	b := TemplateFields{
		Name: t.Name, Settings: httpapi.ShowSettings(&runs.Spec{
			Tool: t.Tool, Playbook: t.Playbook, Command: t.Command, Shards: t.Shards, InventoryID: t.InventoryID,
			Inventory: t.Inventory, InventoryQuery: t.InventoryQuery,
			ProjectID: t.ProjectID, Controls: t.Controls, TimeoutSeconds: t.TimeoutSeconds, Notifications: t.Notifications,
			CredentialIDs: t.CredentialIDs, Queue: t.Queue, DryRun: t.DryRun, FailOn: t.FailOn,
			Locks: t.Locks, ExclusiveHosts: t.ExclusiveHosts,
		}),
		Steps: httpapi.ShowSteps(t.Steps), SelectableCredentialIDs: t.SelectableCredentialIDs,
		AllowOverrides: t.AllowOverrides, AllowedVars: t.AllowedVars, IsolationProfile: t.IsolationProfile,
		DryRunExecutes: t.DryRunExecutes, RequireApproval: t.RequireApproval, MaxConcurrent: &t.MaxConcurrent,
		WhenBusy: string(cmp.Or(t.WhenBusy, runs.BusyQueue)), Org: t.Org,
	}
	b.ExtraVars, b.Labels, b.Change = t.ExtraVars.Redact(), t.Labels, t.Change
	if string(t.Survey) != "null" {
		b.Survey = Survey(t.Survey)
	}
	return b
}

// Survey is the JSON of a survey, which the port parses. The OpenAPI document describes it as a list of
// SurveyFieldBody.
type Survey json.RawMessage

func (s Survey) MarshalJSON() ([]byte, error) { return json.RawMessage(s).MarshalJSON() }

// Null means no survey.
func (s *Survey) UnmarshalJSON(raw []byte) error {
	*s = nil
	if string(raw) != "null" {
		*s = append(*s, raw...)
	}
	return nil
}

func (Survey) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeArray, Description: "Questions whose answers become extra vars of a launch.",
		Items: r.Schema(reflect.TypeFor[SurveyFieldBody](), true, "SurveyFieldBody"),
	}
}

// SurveyFieldBody is one question of a template.
type SurveyFieldBody struct {
	Var       string   `json:"var" doc:"The extra var that the answer becomes."`
	Type      string   `json:"type" enum:"text,multiline,int,choice,bool"`
	Label     string   `json:"label,omitempty"`
	Help      string   `json:"help,omitempty"`
	Required  bool     `json:"required,omitempty"`
	Default   any      `json:"default,omitempty" doc:"As the answer would be."`
	Min       *int64   `json:"min,omitempty" doc:"Of an int."`
	Max       *int64   `json:"max,omitempty"`
	MinLength *int64   `json:"min_length,omitempty" doc:"In characters, of a text."`
	MaxLength *int64   `json:"max_length,omitempty"`
	Pattern   string   `json:"pattern,omitempty" doc:"RE2 that the whole text must match, at most 1000 characters."`
	Choices   []string `json:"choices,omitempty"`
}
