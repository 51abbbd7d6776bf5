package runs

import (
	"context"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// maxKey is how long an idempotency key may be.
const maxKey = 255

// SubmitBody is a request for a run.
type SubmitBody struct {
	Name            string              `json:"name,omitempty" doc:"At most 200 characters."`
	Tool            string              `json:"tool,omitempty" doc:"ansible where empty."`
	Playbook        string              `json:"playbook,omitempty"`
	Command         string              `json:"command,omitempty" doc:"The tool's input: the script of bash, python, powershell or go."`
	InventoryID     string              `json:"inventory_id,omitempty"`
	Inventory       string              `json:"inventory,omitempty" doc:"A path on the executing machine."`
	ProjectID       string              `json:"project_id,omitempty"`
	ExtraVars       runs.Vars           `json:"extra_vars,omitempty" doc:"Data: never templated."`
	Shards          int                 `json:"shards,omitempty" doc:"Two or more split the run over that many shards."`
	Limit           string              `json:"limit,omitempty"`
	Tags            []string            `json:"tags,omitempty"`
	SkipTags        []string            `json:"skip_tags,omitempty"`
	Forks           int                 `json:"forks,omitempty"`
	Verbosity       int                 `json:"verbosity,omitempty" doc:"0 to 4; more counts as 4."`
	DiffMode        bool                `json:"diff_mode,omitempty"`
	DryRun          bool                `json:"dry_run,omitempty"`
	Timeout         int                 `json:"timeout,omitempty" doc:"Seconds; 0 is the server's default."`
	Notifications   []runs.Notification `json:"notifications,omitempty"`
	Env             map[string]string   `json:"env,omitempty" doc:"Not for secrets."`
	CredentialIDs   []string            `json:"credential_ids,omitempty"`
	Queue           string              `json:"queue,omitempty"`
	Priority        int                 `json:"priority,omitempty" doc:"-10 to 10."`
	RequireApproval bool                `json:"require_approval,omitempty"`
	Labels          map[string]string   `json:"labels,omitempty"`
	Change          string              `json:"change,omitempty" doc:"Runs with the same label form one change."`
}

func (b *SubmitBody) submission() runs.Submission {
	return runs.Submission{
		Spec: runs.Spec{
			Tool: b.Tool, Playbook: b.Playbook, Command: b.Command, InventoryID: b.InventoryID, Inventory: b.Inventory,
			ProjectID: b.ProjectID,
			Controls: runs.Controls{
				Limit: b.Limit, Tags: b.Tags, SkipTags: b.SkipTags, Forks: b.Forks, Verbosity: b.Verbosity, DiffMode: b.DiffMode,
			},
			DryRun: b.DryRun, Shards: b.Shards, TimeoutSeconds: b.Timeout, Env: b.Env, CredentialIDs: b.CredentialIDs,
			Queue: b.Queue, Priority: b.Priority, Notifications: b.Notifications, RequireApproval: b.RequireApproval,
		},
		Name: b.Name, Labels: b.Labels, Change: b.Change, ExtraVars: b.ExtraVars,
	}
}

// StepInput is one step of a submitted pipeline.
type StepInput struct {
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
	CredentialIDs     []string  `json:"credential_ids,omitempty"`
	InventoryID       string    `json:"inventory_id,omitempty"`
	Queue             string    `json:"queue,omitempty"`
}

// PipelineBody is a request for a pipeline.
type PipelineBody struct {
	Name            string              `json:"name,omitempty"`
	InventoryID     string              `json:"inventory_id,omitempty"`
	Inventory       string              `json:"inventory,omitempty"`
	ProjectID       string              `json:"project_id,omitempty"`
	Steps           []StepInput         `json:"steps"`
	ExtraVars       runs.Vars           `json:"extra_vars,omitempty"`
	CredentialIDs   []string            `json:"credential_ids,omitempty"`
	Labels          map[string]string   `json:"labels,omitempty"`
	Change          string              `json:"change,omitempty"`
	Queue           string              `json:"queue,omitempty"`
	RequireApproval bool                `json:"require_approval,omitempty"`
	DryRun          bool                `json:"dry_run,omitempty"`
	Timeout         int                 `json:"timeout,omitempty"`
	Notifications   []runs.Notification `json:"notifications,omitempty"`
}

func (b *PipelineBody) submission() runs.PipelineSubmission {
	s := runs.PipelineSubmission{
		Name: b.Name, InventoryID: b.InventoryID, Inventory: b.Inventory, ProjectID: b.ProjectID, ExtraVars: b.ExtraVars,
		CredentialIDs: b.CredentialIDs, Labels: b.Labels, Change: b.Change, Queue: b.Queue,
		RequireApproval: b.RequireApproval, DryRun: b.DryRun, TimeoutSeconds: b.Timeout, Notifications: b.Notifications,
	}
	for _, x := range b.Steps {
		s.Steps = append(s.Steps, runs.StepSpec{
			Name: x.Name, Tool: x.Tool, Playbook: x.Playbook, Command: x.Command, DependsOn: x.DependsOn, Retries: x.Retries,
			ContinueOnFailure: x.ContinueOnFailure, ExtraVars: x.ExtraVars, Limit: x.Limit, Tags: x.Tags, SkipTags: x.SkipTags,
			TimeoutSeconds: x.Timeout, CredentialIDs: x.CredentialIDs, InventoryID: x.InventoryID, Queue: x.Queue,
		})
	}
	return s
}

// SubmitInput carries a submission.
type SubmitInput struct {
	Key  string `header:"Idempotency-Key" doc:"At most 255 bytes; the same key and body within 24 hours answer with the first run."`
	Body SubmitBody
}

// PipelineInput carries a pipeline.
type PipelineInput struct {
	Key  string `header:"Idempotency-Key" doc:"At most 255 bytes; the same key and body within 24 hours answer with the first run."`
	Body PipelineBody
}

// CreatedOutput answers with a run that was made.
type CreatedOutput struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Replay   string `header:"Idempotent-Replay"`
	Body     RunBody
}

func (h *handlers) submit(ctx context.Context, in *SubmitInput) (*CreatedOutput, error) {
	s := in.Body.submission()
	var err error
	if s.Idempotency, err = key(ctx, in.Key, "submit-run"); err != nil {
		return nil, err
	}
	run, replayed, err := h.Submitter.Submit(ctx, s)
	return h.created(ctx, run, replayed, err)
}

func (h *handlers) pipeline(ctx context.Context, in *PipelineInput) (*CreatedOutput, error) {
	s := in.Body.submission()
	var err error
	if s.Idempotency, err = key(ctx, in.Key, "submit-pipeline"); err != nil {
		return nil, err
	}
	run, replayed, err := h.Submitter.SubmitPipeline(ctx, s)
	return h.created(ctx, run, replayed, err)
}

func (h *handlers) created(ctx context.Context, run *runs.Run, replayed bool, err error) (*CreatedOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &CreatedOutput{Location: "/v1/runs/" + run.ID, ETag: etag(run), Body: h.done(ctx, run)}
	if replayed {
		out.Replay = "true"
	}
	return out, nil
}

func key(ctx context.Context, value, scope string) (*runs.Idempotency, error) {
	if value == "" {
		return nil, nil
	}
	if len(value) > maxKey {
		return nil, fault.BadField("Idempotency-Key", "is longer than %d bytes", maxKey)
	}
	return &runs.Idempotency{Key: value, Scope: scope, Digest: httpapi.BodyDigest(ctx)}, nil
}
