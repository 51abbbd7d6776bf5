package httpapi

import "github.com/writ-automation/writ/ports/runs"

// RunsSubmitBody is a request for a run: by itself, or as what something else fires.
type RunsSubmitBody struct {
	Name            string             `json:"name,omitempty" doc:"At most 200 characters."`
	Tool            string             `json:"tool,omitempty" doc:"ansible where empty."`
	Playbook        string             `json:"playbook,omitempty"`
	Command         string             `json:"command,omitempty" doc:"The tool's input: the script of bash, python, powershell or go."`
	InventoryID     string             `json:"inventory_id,omitempty"`
	Inventory       string             `json:"inventory,omitempty" doc:"A path on the executing machine."`
	ProjectID       string             `json:"project_id,omitempty"`
	ExtraVars       runs.Vars          `json:"extra_vars,omitempty" doc:"Data: never templated."`
	Shards          int                `json:"shards,omitempty" doc:"Two or more split the run over that many shards."`
	Limit           string             `json:"limit,omitempty"`
	Tags            []string           `json:"tags,omitempty"`
	SkipTags        []string           `json:"skip_tags,omitempty"`
	Forks           int                `json:"forks,omitempty"`
	Verbosity       int                `json:"verbosity,omitempty" doc:"0 to 4; more counts as 4."`
	DiffMode        bool               `json:"diff_mode,omitempty"`
	DryRun          bool               `json:"dry_run,omitempty"`
	Timeout         int                `json:"timeout,omitempty" doc:"Seconds; 0 is the server's default."`
	Notifications   []RunsNotification `json:"notifications,omitempty"`
	Env             map[string]string  `json:"env,omitempty" doc:"Not for secrets."`
	CredentialIDs   []string           `json:"credential_ids,omitempty"`
	Queue           string             `json:"queue,omitempty"`
	Priority        int                `json:"priority,omitempty" doc:"-10 to 10."`
	RequireApproval bool               `json:"require_approval,omitempty"`
	Labels          map[string]string  `json:"labels,omitempty"`
	Change          string             `json:"change,omitempty" doc:"Runs with the same label form one change."`
}

// Submission returns what the body asks for.
func (b *RunsSubmitBody) Submission() runs.Submission {
	return runs.Submission{
		Spec: runs.Spec{
			Tool: b.Tool, Playbook: b.Playbook, Command: b.Command, InventoryID: b.InventoryID, Inventory: b.Inventory,
			ProjectID: b.ProjectID,
			Controls: runs.Controls{
				Limit: b.Limit, Tags: b.Tags, SkipTags: b.SkipTags, Forks: b.Forks, Verbosity: b.Verbosity, DiffMode: b.DiffMode,
			},
			DryRun: b.DryRun, Shards: b.Shards, TimeoutSeconds: b.Timeout, Env: b.Env, CredentialIDs: b.CredentialIDs,
			Queue: b.Queue, Priority: b.Priority, Notifications: Notifications(b.Notifications), RequireApproval: b.RequireApproval,
		},
		Name: b.Name, Labels: b.Labels, Change: b.Change, ExtraVars: b.ExtraVars,
	}
}

// RunsStepInput is one step of a submitted pipeline.
type RunsStepInput struct {
	Name              string    `json:"name"`
	Tool              string    `json:"tool,omitempty"`
	Playbook          string    `json:"playbook,omitempty"`
	Command           string    `json:"command,omitempty"`
	DependsOn         []string  `json:"depends_on,omitempty" doc:"Names of steps. Where no step names any, they run in order."`
	Retries           int       `json:"retries,omitempty"`
	ContinueOnFailure bool      `json:"continue_on_failure,omitempty"`
	ExtraVars         runs.Vars `json:"extra_vars,omitempty"`
	Limit             string    `json:"limit,omitempty"`
	Tags              []string  `json:"tags,omitempty"`
	SkipTags          []string  `json:"skip_tags,omitempty"`
	Timeout           int       `json:"timeout,omitempty"`
	CredentialIDs     []string  `json:"credential_ids,omitzero"`
	InventoryID       string    `json:"inventory_id,omitempty"`
	Queue             string    `json:"queue,omitempty"`
}

// Spec returns the step that the body describes.
func (b *RunsStepInput) Spec() runs.StepSpec {
	return runs.StepSpec{
		Name: b.Name, Tool: b.Tool, Playbook: b.Playbook, Command: b.Command, DependsOn: b.DependsOn, Retries: b.Retries,
		ContinueOnFailure: b.ContinueOnFailure, ExtraVars: b.ExtraVars, Limit: b.Limit, Tags: b.Tags, SkipTags: b.SkipTags,
		TimeoutSeconds: b.Timeout, CredentialIDs: b.CredentialIDs, InventoryID: b.InventoryID, Queue: b.Queue,
	}
}

// StepInput returns the body that describes a step, with its variables as they are.
func StepInput(s runs.StepSpec) RunsStepInput {
	return RunsStepInput{
		Name: s.Name, Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, DependsOn: s.DependsOn, Retries: s.Retries,
		ContinueOnFailure: s.ContinueOnFailure, ExtraVars: s.ExtraVars, Limit: s.Limit, Tags: s.Tags, SkipTags: s.SkipTags,
		Timeout: s.TimeoutSeconds, CredentialIDs: s.CredentialIDs, InventoryID: s.InventoryID, Queue: s.Queue,
	}
}

// RunsPipelineBody is a request for a pipeline: by itself, or as what something else fires.
type RunsPipelineBody struct {
	Name            string             `json:"name,omitempty"`
	InventoryID     string             `json:"inventory_id,omitempty"`
	Inventory       string             `json:"inventory,omitempty"`
	ProjectID       string             `json:"project_id,omitempty"`
	Steps           []RunsStepInput    `json:"steps"`
	ExtraVars       runs.Vars          `json:"extra_vars,omitempty"`
	CredentialIDs   []string           `json:"credential_ids,omitempty"`
	Labels          map[string]string  `json:"labels,omitempty"`
	Change          string             `json:"change,omitempty"`
	Queue           string             `json:"queue,omitempty"`
	RequireApproval bool               `json:"require_approval,omitempty"`
	DryRun          bool               `json:"dry_run,omitempty"`
	Timeout         int                `json:"timeout,omitempty"`
	Notifications   []RunsNotification `json:"notifications,omitempty"`
}

// Submission returns what the body asks for.
func (b *RunsPipelineBody) Submission() runs.PipelineSubmission {
	s := runs.PipelineSubmission{
		Name: b.Name, InventoryID: b.InventoryID, Inventory: b.Inventory, ProjectID: b.ProjectID, ExtraVars: b.ExtraVars,
		CredentialIDs: b.CredentialIDs, Labels: b.Labels, Change: b.Change, Queue: b.Queue,
		RequireApproval: b.RequireApproval, DryRun: b.DryRun, TimeoutSeconds: b.Timeout, Notifications: Notifications(b.Notifications),
	}
	for i := range b.Steps {
		s.Steps = append(s.Steps, b.Steps[i].Spec())
	}
	return s
}

// ShowSubmission returns the body of a stored submission as it may be read: values whose name looks secret are redacted, and
// notifications masked.
func ShowSubmission(s *runs.Submission) RunsSubmitBody {
	return RunsSubmitBody{
		Name: s.Name, Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, InventoryID: s.InventoryID, Inventory: s.Inventory,
		ProjectID: s.ProjectID, ExtraVars: s.ExtraVars.Redact(), Shards: s.Shards, Limit: s.Limit, Tags: s.Tags, SkipTags: s.SkipTags,
		Forks: s.Forks, Verbosity: s.Verbosity, DiffMode: s.DiffMode, DryRun: s.DryRun, Timeout: s.TimeoutSeconds,
		Notifications: ShowNotifications(s.Notifications), Env: s.Env, CredentialIDs: s.CredentialIDs, Queue: s.Queue, Priority: s.Priority,
		RequireApproval: s.RequireApproval, Labels: s.Labels, Change: s.Change,
	}
}

// ShowPipeline is ShowSubmission for a pipeline.
func ShowPipeline(s *runs.PipelineSubmission) RunsPipelineBody {
	b := RunsPipelineBody{
		Name: s.Name, InventoryID: s.InventoryID, Inventory: s.Inventory, ProjectID: s.ProjectID, ExtraVars: s.ExtraVars.Redact(),
		CredentialIDs: s.CredentialIDs, Labels: s.Labels, Change: s.Change, Queue: s.Queue, RequireApproval: s.RequireApproval,
		DryRun: s.DryRun, Timeout: s.TimeoutSeconds, Notifications: ShowNotifications(s.Notifications),
		Steps: make([]RunsStepInput, 0, len(s.Steps)),
	}
	for _, x := range s.Steps {
		x.ExtraVars = x.ExtraVars.Redact()
		b.Steps = append(b.Steps, StepInput(x))
	}
	return b
}

// RunsNotification is a target of notifications.
type RunsNotification struct {
	Kind      string `json:"kind" doc:"webhook, slack, mattermost, rocketchat, discord, teams, ntfy, pagerduty, grafana, twilio or email."`
	URL       string `json:"url,omitempty" doc:"Reads back as scheme and host; the mask that is sent back keeps what is stored."`
	Key       string `json:"key,omitempty" doc:"Reads back masked; the mask that is sent back keeps what is stored."`
	To        string `json:"to,omitempty"`
	OnFailure bool   `json:"on_failure,omitempty" doc:"Tell of failed runs alone."`
}

// Notifications returns what the bodies ask for.
func Notifications(list []RunsNotification) []runs.Notification {
	var out []runs.Notification
	for _, n := range list {
		out = append(out, runs.Notification{Kind: n.Kind, URL: n.URL, Key: n.Key, To: n.To, OnFailure: n.OnFailure})
	}
	return out
}

// ShowNotifications returns targets as they are shown: masked.
func ShowNotifications(list []runs.Notification) []RunsNotification {
	var out []RunsNotification
	for _, n := range list {
		n = n.Masked()
		out = append(out, RunsNotification{Kind: n.Kind, URL: n.URL, Key: n.Key, To: n.To, OnFailure: n.OnFailure})
	}
	return out
}
