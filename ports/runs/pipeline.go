package runs

import (
	"cmp"

	"github.com/writ-automation/writ/ports/fault"
)

// StepSpec is one step of a pipeline.
type StepSpec struct {
	Name              string   `json:"name"`
	Tool              string   `json:"tool,omitempty"`
	Playbook          string   `json:"playbook,omitempty"`
	Command           string   `json:"command,omitempty"`
	DependsOn         []string `json:"depends_on,omitempty"`
	Retries           int      `json:"retries,omitempty"`
	ContinueOnFailure bool     `json:"continue_on_failure,omitempty"`
	ExtraVars         Vars     `json:"extra_vars,omitempty"`
	Templated         []string `json:"templated,omitempty"` // see Spec
	Limit             string   `json:"limit,omitempty"`
	Tags              []string `json:"tags,omitempty"`
	SkipTags          []string `json:"skip_tags,omitempty"`
	TimeoutSeconds    int      `json:"timeout,omitempty"`
	// CredentialIDs are the step's own. Nil means those of the pipeline, an empty list means none. In the record of a
	// pipeline they include those of the inventory.
	CredentialIDs []string `json:"credential_ids,omitzero"`
	InventoryID   string   `json:"inventory_id,omitempty"`
	// InventoryQuery selects LimitHosts when the pipeline is submitted; see Spec.
	InventoryQuery string   `json:"inventory_query,omitempty"`
	LimitHosts     []string `json:"limit_hosts,omitempty"`
	Queue          string   `json:"queue,omitempty"`
	// On says after which ends of its dependencies the step starts; empty is OnSuccess.
	On string `json:"on,omitempty"`
	// ProjectID is the step's own, empty for that of the pipeline. Commit is pinned when the pipeline is stored.
	ProjectID string `json:"project_id,omitempty"`
	Commit    string `json:"commit,omitempty"`
	// TemplateID is the template that the step launches with Answers. A request has no other settings of what such a
	// step executes. The record has those of the template, with Preset and without answers.
	TemplateID string  `json:"template_id,omitempty"`
	Answers    Vars    `json:"answers,omitempty"`
	Preset     *Preset `json:"preset,omitempty"`
	// RequireApproval holds the step's run when it is due. An approval counts for the retries of the step.
	RequireApproval bool `json:"require_approval,omitempty"`
	// FailOn is the step's own; see Spec. Nil means that of the pipeline, an empty list means none.
	FailOn []string `json:"fail_on,omitzero"`
}

// The values of On. A dependency with continue_on_failure counts as a success and, if it failed, as a failure. One that
// was skipped is neither.
const (
	OnSuccess = "success" // each succeeded
	OnFailure = "failure" // one failed, was rejected or was interrupted
	OnAlways  = "always"  // each ended or was skipped
)

// Preset has the settings of a step that only its template has. A step with it takes nothing from its pipeline but the
// timeout, the queue and the isolation profile that the template lacks.
type Preset struct {
	Inventory        string `json:"inventory,omitempty"`
	Forks            int    `json:"forks,omitempty"`
	Verbosity        int    `json:"verbosity,omitempty"`
	DiffMode         bool   `json:"diff_mode,omitempty"`
	DryRun           bool   `json:"dry_run,omitempty"`
	DryRunExecutes   bool   `json:"dry_run_executes,omitempty"`
	IsolationProfile string `json:"isolation_profile,omitempty"`
	// Labels and Change are what policies, windows and risk look at beside those of the pipeline.
	Labels map[string]string `json:"labels,omitempty"`
	Change string            `json:"change,omitempty"`
	// Open lets the variables of the pipeline reach the step. No variable and no output sets one of Closed.
	Open   bool     `json:"open,omitempty"`
	Closed []string `json:"closed,omitempty"`
}

// Of returns what the step executes in a pipeline: its own settings, and the pipeline's where it has none. A pipeline's
// timeout is the default of each of its steps.
func (s *StepSpec) Of(p *Spec) Spec {
	out := Spec{
		Tool: cmp.Or(s.Tool, Ansible), Playbook: s.Playbook, Command: s.Command,
		InventoryID: s.InventoryID, ProjectID: s.ProjectID, TemplateID: cmp.Or(s.TemplateID, p.TemplateID),
		InventoryQuery: s.InventoryQuery, LimitHosts: s.LimitHosts,
		Controls: Controls{Limit: s.Limit, Tags: s.Tags, SkipTags: s.SkipTags},
		DryRun:   p.DryRun, DryRunExecutes: p.DryRunExecutes,
		TimeoutSeconds: cmp.Or(s.TimeoutSeconds, p.TimeoutSeconds), Env: p.Env,
		CredentialIDs: s.CredentialIDs, Queue: cmp.Or(s.Queue, p.Queue, DefaultQueue), Priority: p.Priority,
		IsolationProfile: p.IsolationProfile, FailOn: s.FailOn, RequireApproval: s.RequireApproval,
	}
	if x := s.Preset; x != nil {
		out.Inventory, out.Forks, out.Verbosity, out.DiffMode = x.Inventory, x.Forks, x.Verbosity, x.DiffMode
		out.DryRun, out.IsolationProfile = p.DryRun || x.DryRun, cmp.Or(x.IsolationProfile, p.IsolationProfile)
		out.DryRunExecutes = x.DryRunExecutes
		return out
	}
	if s.InventoryID == "" {
		out.InventoryID, out.Inventory = p.InventoryID, p.Inventory
	}
	out.ProjectID = cmp.Or(s.ProjectID, p.ProjectID)
	if s.CredentialIDs == nil {
		out.CredentialIDs = p.CredentialIDs
	}
	if s.FailOn == nil {
		out.FailOn = p.FailOn
	}
	return out
}

// PipelineSubmission is a request for a pipeline. If no step names a dependency, the steps run in order; otherwise
// they form a graph.
type PipelineSubmission struct {
	Name            string
	InventoryID     string
	Inventory       string
	ProjectID       string
	TemplateID      string
	Templated       []string // of ExtraVars, see Spec
	Steps           []StepSpec
	ExtraVars       Vars
	CredentialIDs   []string
	Labels          map[string]string
	Change          string
	Queue           string
	RequireApproval bool
	DryRun          bool
	// DryRunExecutes is that of each step that launches no template; see Spec.
	DryRunExecutes bool
	TimeoutSeconds int
	// IsolationProfile is that of every step; see Spec.
	IsolationProfile string
	// FailOn is that of each step that has none of its own, and of the pipeline's own warnings; see Spec.
	FailOn        []string
	Notifications []Notification
	// Locks, ExclusiveHosts and WhenBusy are those of the whole pipeline; see Spec and Submission.
	Locks          []string
	ExclusiveHosts bool
	WhenBusy       WhenBusy
	Origin         Origin
	Idempotency    *Idempotency
	Vouched        []string // see Submission
}

// Graph holds a pipeline's steps with their states, in the order of submission. Dependencies are explicit: in a
// pipeline without named dependencies each step depends on the previous one.
type Graph struct {
	Steps []StepState `json:"steps"`
	Vars  Vars        `json:"vars,omitempty"` // the pipeline's own extra vars, inherited by every step
	// Templated names the members of Vars that the tool may evaluate; see Spec.
	Templated []string `json:"templated,omitempty"`
}

// StepState is one step and its progress. Status is empty until its first run exists.
type StepState struct {
	StepSpec
	Status  Status `json:"status,omitempty"`
	RunID   string `json:"run_id,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Outputs Vars   `json:"outputs,omitempty"`
}

// Refused reports whether the step failed, or was rejected, which counts as a failure for the steps after it.
func (s *StepState) Refused() bool { return s.Status == Failed || s.Status == Rejected }

// Step returns the state of the named step, or nil.
func (g *Graph) Step(name string) *StepState {
	for i := range g.Steps {
		if g.Steps[i].Name == name {
			return &g.Steps[i]
		}
	}
	return nil
}

// BadGraph is the fault of steps that form no graph: a cycle, a duplicate or an unknown name.
var BadGraph = fault.Code{Name: "invalid_graph", Kind: fault.Invalid}
