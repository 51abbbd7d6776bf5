package catalog

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// maxVerbosity is the highest verbosity there is; more counts as that.
const maxVerbosity = 4

// TemplateFields are what a caller sets of a template.
type TemplateFields struct {
	Name                    string                     `json:"name" doc:"Unique within the organization, at most 200 characters."`
	Tool                    string                     `json:"tool,omitempty" doc:"ansible where empty."`
	Playbook                string                     `json:"playbook,omitempty"`
	Command                 string                     `json:"command,omitempty" doc:"The tool's input: the script of bash, python, powershell or go."`
	Shards                  int                        `json:"shards,omitempty" doc:"Two or more split the run over that many shards; 1 is 0."`
	InventoryID             string                     `json:"inventory_id,omitempty"`
	Inventory               string                     `json:"inventory,omitempty" doc:"A path on the executing machine, where there is no inventory_id."`
	ProjectID               string                     `json:"project_id,omitempty"`
	ExtraVars               runs.Vars                  `json:"extra_vars,omitempty" doc:"Values whose name looks secret read back as [redacted], which keeps the stored one when it is sent back."`
	Limit                   string                     `json:"limit,omitempty"`
	Tags                    []string                   `json:"tags,omitempty"`
	SkipTags                []string                   `json:"skip_tags,omitempty"`
	Forks                   int                        `json:"forks,omitempty"`
	Verbosity               int                        `json:"verbosity,omitempty" doc:"0 to 4; more counts as 4."`
	DiffMode                bool                       `json:"diff_mode,omitempty"`
	Timeout                 int                        `json:"timeout,omitempty" doc:"Seconds; 0 is the server's default. No launch raises it."`
	Notifications           []httpapi.RunsNotification `json:"notifications,omitempty" doc:"They read back masked; a mask that is sent back keeps the stored value."`
	Survey                  Survey                     `json:"survey,omitempty"`
	Steps                   []StepBody                 `json:"steps,omitempty" doc:"They make it a workflow."`
	CredentialIDs           []string                   `json:"credential_ids,omitempty"`
	SelectableCredentialIDs []string                   `json:"selectable_credential_ids,omitempty" doc:"Of which a launch may choose."`
	Queue                   string                     `json:"queue,omitempty"`
	Labels                  map[string]string          `json:"labels,omitempty"`
	Change                  string                     `json:"change,omitempty" doc:"Runs with the same label form one change."`
	DryRun                  bool                       `json:"dry_run,omitempty"`
	AllowOverrides          []string                   `json:"allow_overrides,omitempty" doc:"What a launch may bring: limit, inventory_id, tags, skip_tags, extra_vars, dry_run, forks, verbosity, diff_mode, labels, change."`
	Org                     string                     `json:"org_id,omitempty"`
}

func (b *TemplateFields) template() catalog.Template {
	t := catalog.Template{
		Record: catalog.Record{Name: b.Name, Org: b.Org},
		TemplateSpec: catalog.TemplateSpec{
			Tool: b.Tool, Playbook: b.Playbook, Command: b.Command, Shards: b.Shards, InventoryID: b.InventoryID, Inventory: b.Inventory,
			ProjectID: b.ProjectID, ExtraVars: b.ExtraVars,
			Controls: runs.Controls{
				Limit: b.Limit, Tags: b.Tags, SkipTags: b.SkipTags, Forks: b.Forks, Verbosity: min(b.Verbosity, maxVerbosity), DiffMode: b.DiffMode,
			},
			TimeoutSeconds: b.Timeout, Notifications: httpapi.Notifications(b.Notifications), Survey: json.RawMessage(b.Survey), CredentialIDs: b.CredentialIDs,
			SelectableCredentialIDs: b.SelectableCredentialIDs, Queue: b.Queue, Labels: b.Labels, Change: b.Change, DryRun: b.DryRun,
			AllowOverrides: b.AllowOverrides,
		},
	}
	if t.Shards == 1 {
		t.Shards = 0
	}
	for _, s := range b.Steps {
		t.Steps = append(t.Steps, s.step())
	}
	return t
}

// fieldsOf shows a template without what must not be read back.
func fieldsOf(t catalog.Template) TemplateFields {
	b := TemplateFields{
		Name: t.Name, Tool: t.Tool, Playbook: t.Playbook, Command: t.Command, Shards: t.Shards, InventoryID: t.InventoryID,
		Inventory: t.Inventory, ProjectID: t.ProjectID, ExtraVars: t.ExtraVars.Redact(), Limit: t.Limit, Tags: t.Tags, SkipTags: t.SkipTags,
		Forks: t.Forks, Verbosity: t.Verbosity, DiffMode: t.DiffMode, Timeout: t.TimeoutSeconds, Notifications: httpapi.ShowNotifications(t.Notifications),
		CredentialIDs: t.CredentialIDs, SelectableCredentialIDs: t.SelectableCredentialIDs, Queue: t.Queue, Labels: t.Labels, Change: t.Change,
		DryRun: t.DryRun, AllowOverrides: t.AllowOverrides, Org: t.Org,
	}
	if string(t.Survey) != "null" {
		b.Survey = Survey(t.Survey)
	}
	for _, s := range t.Steps {
		b.Steps = append(b.Steps, stepBody(s))
	}
	return b
}

// StepBody is one step of a workflow.
type StepBody struct {
	Name              string    `json:"name"`
	Tool              string    `json:"tool,omitempty"`
	Playbook          string    `json:"playbook,omitempty"`
	Command           string    `json:"command,omitempty"`
	DependsOn         []string  `json:"depends_on,omitempty" doc:"Names of steps. Where no step names any, they run in order."`
	Retries           int       `json:"retries,omitempty"`
	ContinueOnFailure bool      `json:"continue_on_failure,omitempty"`
	ExtraVars         runs.Vars `json:"extra_vars,omitempty" doc:"Values whose name looks secret read back as [redacted], which keeps the stored one when it is sent back."`
	Limit             string    `json:"limit,omitempty"`
	Tags              []string  `json:"tags,omitempty"`
	SkipTags          []string  `json:"skip_tags,omitempty"`
	Timeout           int       `json:"timeout,omitempty" doc:"Seconds."`
	CredentialIDs     []string  `json:"credential_ids,omitzero"`
	InventoryID       string    `json:"inventory_id,omitempty"`
	Queue             string    `json:"queue,omitempty"`
}

func (b *StepBody) step() runs.StepSpec {
	return runs.StepSpec{
		Name: b.Name, Tool: b.Tool, Playbook: b.Playbook, Command: b.Command, DependsOn: b.DependsOn, Retries: b.Retries,
		ContinueOnFailure: b.ContinueOnFailure, ExtraVars: b.ExtraVars, Limit: b.Limit, Tags: b.Tags, SkipTags: b.SkipTags,
		TimeoutSeconds: b.Timeout, CredentialIDs: b.CredentialIDs, InventoryID: b.InventoryID, Queue: b.Queue,
	}
}

func stepBody(s runs.StepSpec) StepBody {
	return StepBody{
		Name: s.Name, Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, DependsOn: s.DependsOn, Retries: s.Retries,
		ContinueOnFailure: s.ContinueOnFailure, ExtraVars: s.ExtraVars.Redact(), Limit: s.Limit, Tags: s.Tags, SkipTags: s.SkipTags,
		Timeout: s.TimeoutSeconds, CredentialIDs: s.CredentialIDs, InventoryID: s.InventoryID, Queue: s.Queue,
	}
}

// Survey is a survey as it was sent: its bytes, which the port reads. The document shows it as a list of SurveyFieldBody.
type Survey json.RawMessage

// MarshalJSON implements json.Marshaler.
func (s Survey) MarshalJSON() ([]byte, error) { return json.RawMessage(s).MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler. Null is no survey.
func (s *Survey) UnmarshalJSON(raw []byte) error {
	*s = nil
	if string(raw) != "null" {
		*s = append(*s, raw...)
	}
	return nil
}

// Schema implements huma.SchemaProvider.
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
	Pattern   string   `json:"pattern,omitempty" doc:"RE2 that the whole text has to match, at most 1000 characters."`
	Choices   []string `json:"choices,omitempty"`
}
