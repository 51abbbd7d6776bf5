package runs

import "github.com/writ-automation/writ/ports/fault"

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
	Queue         string   `json:"queue,omitempty"`
	// RequireApproval holds the step's run when it is due. An approval counts for the retries of the step.
	RequireApproval bool `json:"require_approval,omitempty"`
	// FailOn is the step's own; see Spec. Nil means that of the pipeline, an empty list means none.
	FailOn []string `json:"fail_on,omitzero"`
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
	TimeoutSeconds  int
	// IsolationProfile is that of every step; see Spec.
	IsolationProfile string
	// FailOn is that of each step that has none of its own, and of the pipeline's own warnings; see Spec.
	FailOn        []string
	Notifications []Notification
	Origin        Origin
	Idempotency   *Idempotency
	Vouched       []string // see Submission
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
