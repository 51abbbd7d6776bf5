package httpapi

import "github.com/writ-automation/writ/ports/runs"

// Controls are the members that a submission, a template and a step share; a schedule's template has them too.
type Controls struct {
	Tool           string    `json:"tool,omitempty" doc:"ansible where empty."`
	Playbook       string    `json:"playbook,omitempty" maxLength:"4096" pattern:"^([^-\r\n][^\r\n]*)?$" patternDescription:"one line that does not start with -"`
	Command        string    `json:"command,omitempty" maxLength:"4194304" doc:"The tool's input: the script of bash, python, powershell or go."`
	InventoryID    string    `json:"inventory_id,omitempty" maxLength:"255"`
	InventoryQuery string    `json:"inventory_query,omitempty" maxLength:"4000" doc:"Selects the hosts of an ansible run by their facts when it is submitted, of one stored inventory: that of inventory_id, else the one with which all of them were gathered. The guide host-queries has the language."`
	ExtraVars      runs.Vars `json:"extra_vars,omitempty" doc:"Values whose name looks secret read back as [redacted], which keeps the stored one when it is sent back."`
	Limit          string    `json:"limit,omitempty" maxLength:"65536" pattern:"^([^-\r\n][^\r\n]*)?$" patternDescription:"one line that does not start with -"`
	Tags           []string  `json:"tags,omitempty" maxItems:"1000"`
	SkipTags       []string  `json:"skip_tags,omitempty" maxItems:"1000"`
	Timeout        int       `json:"timeout,omitempty" minimum:"0" maximum:"2147483647" doc:"Seconds; 0 is the server's default."`
	Queue          string    `json:"queue,omitempty" pattern:"^([A-Za-z0-9][A-Za-z0-9._:/-]{0,99})?$" patternDescription:"the name of a queue"`
}

// Settings are the Controls and the members that a submission, a template and the record of a run have in addition.
type Settings struct {
	Controls
	Inventory     string             `json:"inventory,omitempty" maxLength:"4096" pattern:"^([^-\r\n][^\r\n]*)?$" patternDescription:"one line that does not start with -" doc:"A path on the executing machine, if there is no inventory_id."`
	ProjectID     string             `json:"project_id,omitempty" maxLength:"255"`
	Shards        int                `json:"shards,omitempty" minimum:"0" doc:"Two or more split the run into that many shards; 1 means 0, more than 512 means 512."`
	Forks         int                `json:"forks,omitempty" minimum:"0"`
	Verbosity     int                `json:"verbosity,omitempty" minimum:"0" doc:"0 to 4; a larger number means 4."`
	DiffMode      bool               `json:"diff_mode,omitempty"`
	DryRun        bool               `json:"dry_run,omitempty"`
	Notifications []RunsNotification `json:"notifications,omitempty" maxItems:"1000" doc:"They read back masked; a mask that is sent back keeps the stored value."`
	CredentialIDs []string           `json:"credential_ids,omitempty" maxItems:"1000"`
	Labels        map[string]string  `json:"labels,omitempty" doc:"Keys are of small letters, digits and . _ / -, at most 63; values have at most 255 characters."`
	Change        string             `json:"change,omitempty" doc:"Runs with the same label form one change."`
	FailOn        []string           `json:"fail_on,omitempty" enum:"no_hosts,warnings,unreachable" doc:"Warnings that make a success a failure: no_hosts_matched, any, hosts_unreachable."`
	Slots
}

// Slots are the members by which a run keeps others from executing beside it.
type Slots struct {
	Locks          []string `json:"locks,omitempty" maxItems:"16" doc:"Names of locks, of letters, digits and . _ / -, at most 63. Of the runs that name one, a single one executes at a time: it has all its locks from its start to its end."`
	ExclusiveHosts bool     `json:"exclusive_hosts,omitempty" doc:"The run shares no host with another run that has this set: it waits until the other one ended."`
}

// MaxVerbosity is the highest verbosity. A higher value is clamped to it.
const MaxVerbosity = 4

// Spec returns the execution part of the settings, without labels, change and variables.
func (s *Settings) Spec() runs.Spec {
	x := runs.Spec{
		Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, InventoryID: s.InventoryID, Inventory: s.Inventory,
		InventoryQuery: s.InventoryQuery, ProjectID: s.ProjectID,
		Controls: runs.Controls{
			Limit: s.Limit, Tags: s.Tags, SkipTags: s.SkipTags, Forks: s.Forks, Verbosity: min(s.Verbosity, MaxVerbosity),
			DiffMode: s.DiffMode,
		},
		DryRun: s.DryRun, Shards: s.Shards, TimeoutSeconds: s.Timeout, CredentialIDs: s.CredentialIDs, Queue: s.Queue,
		Notifications: Notifications(s.Notifications), FailOn: s.FailOn, Locks: s.Locks,
		ExclusiveHosts: s.ExclusiveHosts,
	}
	if x.Shards == 1 {
		x.Shards = 0
	}
	return x
}

// ShowSettings returns the settings of a spec as they may be read, without variables, labels and the change.
func ShowSettings(s *runs.Spec) Settings {
	return Settings{
		Controls: Controls{
			Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, InventoryID: s.InventoryID, Limit: s.Limit, Tags: s.Tags,
			SkipTags: s.SkipTags, InventoryQuery: s.InventoryQuery,
			Timeout: s.TimeoutSeconds, Queue: s.Queue,
		},
		Inventory: s.Inventory, ProjectID: s.ProjectID, Shards: s.Shards, Forks: s.Forks, Verbosity: s.Verbosity,
		DiffMode: s.DiffMode,
		DryRun:   s.DryRun, Notifications: MaskedNotifications(s.Notifications), CredentialIDs: s.CredentialIDs,
		FailOn: s.FailOn, Slots: Slots{s.Locks, s.ExclusiveHosts},
	}
}

// RunsSubmitBody is a request for a run, alone or as the template of a trigger.
type RunsSubmitBody struct {
	Name string `json:"name,omitempty" maxLength:"200"`
	Settings
	Env             map[string]string `json:"env,omitempty" maxProperties:"1000" doc:"Not for secrets."`
	Priority        int               `json:"priority,omitempty" minimum:"-10" maximum:"10"`
	RequireApproval bool              `json:"require_approval,omitempty"`
}

// Submission returns the submission that the body describes.
func (b *RunsSubmitBody) Submission() runs.Submission {
	s := runs.Submission{Spec: b.Spec(), Name: b.Name, Labels: b.Labels, Change: b.Change, ExtraVars: b.ExtraVars}
	s.Env, s.Priority, s.RequireApproval = b.Env, b.Priority, b.RequireApproval
	return s
}

// RunsStepInput is one step of a pipeline or of a workflow.
type RunsStepInput struct {
	Name string `json:"name" maxLength:"200"`
	Controls
	DependsOn         []string  `json:"depends_on,omitempty" maxItems:"1000" doc:"Names of steps. Where no step names any, they run in order."`
	Retries           int       `json:"retries,omitempty" minimum:"0" maximum:"100"`
	ContinueOnFailure bool      `json:"continue_on_failure,omitempty"`
	On                string    `json:"on,omitempty" enum:"success,failure,always" doc:"After which ends of its dependencies the step starts: success (the default) if each succeeded or continues on failure, failure if one failed, always in any case. A dependency that was skipped counts for always alone."`
	ProjectID         string    `json:"project_id,omitempty" maxLength:"255" doc:"That of the whole where absent."`
	TemplateID        string    `json:"template_id,omitempty" maxLength:"255" doc:"The step launches this template, which is no workflow, and has no settings of its own but name, depends_on, on, retries, continue_on_failure and require_approval. extra_vars of the whole reach it where the template allows this override."`
	Answers           runs.Vars `json:"answers,omitempty" doc:"To the survey of template_id."`
	RequireApproval   bool      `json:"require_approval,omitempty" doc:"It holds the run of the step when the step is due."`
	CredentialIDs     []string  `json:"credential_ids,omitzero" maxItems:"1000" doc:"Those of the whole where absent, none where empty."`
	FailOn            []string  `json:"fail_on,omitzero" enum:"no_hosts,warnings,unreachable" doc:"Warnings that make a success a failure: those of the whole where absent, none where empty."`
}

// Spec returns the step that the body describes.
func (b *RunsStepInput) Spec() runs.StepSpec {
	return runs.StepSpec{
		Name: b.Name, Tool: b.Tool, Playbook: b.Playbook, Command: b.Command, DependsOn: b.DependsOn, Retries: b.Retries,
		ContinueOnFailure: b.ContinueOnFailure, ExtraVars: b.ExtraVars, Limit: b.Limit, Tags: b.Tags, SkipTags: b.SkipTags,
		TimeoutSeconds: b.Timeout, CredentialIDs: b.CredentialIDs, InventoryID: b.InventoryID, Queue: b.Queue,
		InventoryQuery: b.InventoryQuery, FailOn: b.FailOn, RequireApproval: b.RequireApproval, On: b.On,
		ProjectID: b.ProjectID, TemplateID: b.TemplateID,
		Answers: b.Answers,
	}
}

// Steps returns the steps that the bodies describe, nil for none.
func Steps(list []RunsStepInput) []runs.StepSpec {
	var out []runs.StepSpec
	for i := range list {
		out = append(out, list[i].Spec())
	}
	return out
}

// ShowSteps returns the bodies of stored steps as they may be read.
func ShowSteps(list []runs.StepSpec) []RunsStepInput {
	var out []RunsStepInput
	for _, s := range list {
		out = append(out, RunsStepInput{
			Name: s.Name, Controls: Controls{
				Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, InventoryID: s.InventoryID, ExtraVars: s.ExtraVars.Redact(),
				Limit: s.Limit, Tags: s.Tags, SkipTags: s.SkipTags, Timeout: s.TimeoutSeconds, Queue: s.Queue,
				InventoryQuery: s.InventoryQuery,
			},
			DependsOn: s.DependsOn, Retries: s.Retries, ContinueOnFailure: s.ContinueOnFailure, CredentialIDs: s.CredentialIDs,
			FailOn: s.FailOn, RequireApproval: s.RequireApproval, On: s.On, ProjectID: s.ProjectID, TemplateID: s.TemplateID,
			Answers: s.Answers.Redact(),
		})
	}
	return out
}

// RunsPipelineBody is a request for a pipeline, alone or as the template of a trigger.
type RunsPipelineBody struct {
	Name            string             `json:"name,omitempty" maxLength:"200"`
	InventoryID     string             `json:"inventory_id,omitempty" maxLength:"255"`
	Inventory       string             `json:"inventory,omitempty" maxLength:"4096" doc:"A path on the executing machine, if there is no inventory_id."`
	ProjectID       string             `json:"project_id,omitempty" maxLength:"255"`
	Steps           []RunsStepInput    `json:"steps" minItems:"1" maxItems:"256"`
	ExtraVars       runs.Vars          `json:"extra_vars,omitempty" doc:"Of every step. Values whose name looks secret read back as [redacted]."`
	CredentialIDs   []string           `json:"credential_ids,omitempty" maxItems:"1000"`
	Labels          map[string]string  `json:"labels,omitempty"`
	Change          string             `json:"change,omitempty" doc:"Runs with the same label form one change."`
	Queue           string             `json:"queue,omitempty" pattern:"^([A-Za-z0-9][A-Za-z0-9._:/-]{0,99})?$" patternDescription:"the name of a queue"`
	RequireApproval bool               `json:"require_approval,omitempty"`
	DryRun          bool               `json:"dry_run,omitempty"`
	Timeout         int                `json:"timeout,omitempty" minimum:"0" maximum:"2147483647" doc:"Seconds; 0 is the server's default."`
	Notifications   []RunsNotification `json:"notifications,omitempty" maxItems:"1000"`
	FailOn          []string           `json:"fail_on,omitempty" enum:"no_hosts,warnings,unreachable" doc:"Warnings that make a success a failure: of each step that has none of its own, and of the pipeline."`
	Slots
}

// Submission returns the submission that the body describes.
func (b *RunsPipelineBody) Submission() runs.PipelineSubmission {
	return runs.PipelineSubmission{
		Name: b.Name, InventoryID: b.InventoryID, Inventory: b.Inventory, ProjectID: b.ProjectID, Steps: Steps(b.Steps),
		ExtraVars:     b.ExtraVars,
		CredentialIDs: b.CredentialIDs, Labels: b.Labels, Change: b.Change, Queue: b.Queue,
		RequireApproval: b.RequireApproval, DryRun: b.DryRun, TimeoutSeconds: b.Timeout,
		Notifications: Notifications(b.Notifications), FailOn: b.FailOn, Locks: b.Locks, ExclusiveHosts: b.ExclusiveHosts,
	}
}

// RedactedSubmission returns the body of a stored submission for readers: values with the name of a secret are
// redacted, and notifications masked.
func RedactedSubmission(s *runs.Submission) RunsSubmitBody {
	b := RunsSubmitBody{
		Name: s.Name, Settings: ShowSettings(&s.Spec), Env: s.Env, Priority: s.Priority, RequireApproval: s.RequireApproval,
	}
	b.ExtraVars, b.Labels, b.Change = s.ExtraVars.Redact(), s.Labels, s.Change
	return b
}

// RedactedPipeline is ShowSubmission for a pipeline.
func RedactedPipeline(s *runs.PipelineSubmission) RunsPipelineBody {
	return RunsPipelineBody{
		Name: s.Name, InventoryID: s.InventoryID, Inventory: s.Inventory, ProjectID: s.ProjectID,
		ExtraVars:     s.ExtraVars.Redact(),
		CredentialIDs: s.CredentialIDs, Labels: s.Labels, Change: s.Change, Queue: s.Queue,
		RequireApproval: s.RequireApproval,
		DryRun:          s.DryRun, Timeout: s.TimeoutSeconds, Notifications: MaskedNotifications(s.Notifications),
		Steps: append([]RunsStepInput{}, ShowSteps(s.Steps)...), FailOn: s.FailOn,
		Slots: Slots{s.Locks, s.ExclusiveHosts},
	}
}

// RunsNotification is a target of notifications.
type RunsNotification struct {
	Kind      string `json:"kind" enum:"webhook,slack,mattermost,rocketchat,discord,teams,ntfy,pagerduty,grafana,twilio,email"`
	URL       string `json:"url,omitempty" format:"password" doc:"Reads back as scheme and host; a mask that is sent back keeps the stored value."`
	Key       string `json:"key,omitempty" format:"password" doc:"Reads back masked; a mask that is sent back keeps the stored value."`
	To        string `json:"to,omitempty"`
	OnFailure bool   `json:"on_failure,omitempty" doc:"Notify only of failed runs."`
}

// Notifications returns the notifications that the bodies describe.
func Notifications(list []RunsNotification) []runs.Notification {
	var out []runs.Notification
	for _, n := range list {
		out = append(out, runs.Notification{Kind: n.Kind, URL: n.URL, Key: n.Key, To: n.To, OnFailure: n.OnFailure})
	}
	return out
}

// MaskedNotifications returns targets as they are shown: masked.
func MaskedNotifications(list []runs.Notification) []RunsNotification {
	var out []RunsNotification
	for _, n := range list {
		n = n.Masked()
		out = append(out, RunsNotification{Kind: n.Kind, URL: n.URL, Key: n.Key, To: n.To, OnFailure: n.OnFailure})
	}
	return out
}
