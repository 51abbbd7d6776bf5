package catalog

import (
	"context"
	"encoding/json"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Template is a preset for runs or, with steps, a saved workflow. A user with the right to manage it saved everything
// in it, so its variables may be templates of the tool; input of a launch is only data.
type Template struct {
	object.Record
	TemplateSpec
}

// TemplateSpec describes the run that a template launches. The tags are those of the stored document.
type TemplateSpec struct {
	Tool        string `json:"tool,omitempty"` // empty means ansible; a workflow has no tool
	Playbook    string `json:"playbook,omitempty"`
	Command     string `json:"command,omitempty"`
	Shards      int    `json:"shards,omitempty"`
	InventoryID string `json:"inventory_id,omitempty"`
	Inventory   string `json:"inventory,omitempty"` // a path, if there is no id
	// InventoryQuery selects the hosts of each run when it is launched; see Spec of package runs.
	InventoryQuery string    `json:"inventory_query,omitempty"`
	ProjectID      string    `json:"project_id,omitempty"`
	ExtraVars      runs.Vars `json:"extra_vars,omitempty"`
	runs.Controls
	TimeoutSeconds int                 `json:"timeout,omitempty"` // 0 means the server's default; a launch cannot raise it
	Notifications  []runs.Notification `json:"notifications,omitempty"`
	// Survey is a list of survey fields in the form that was validated on save.
	Survey json.RawMessage `json:"survey,omitempty"`
	// Steps make the template a workflow. A workflow sets no playbook, command, tool, shards or controls outside of its
	// steps.
	Steps                   []runs.StepSpec   `json:"steps,omitempty"`
	CredentialIDs           []string          `json:"credential_ids,omitempty"`
	SelectableCredentialIDs []string          `json:"selectable_credential_ids,omitempty"` // a launch chooses among these
	Queue                   string            `json:"queue,omitempty"`
	Labels                  map[string]string `json:"labels,omitempty"`
	Change                  string            `json:"change,omitempty"`
	DryRun                  bool              `json:"dry_run,omitempty"`
	// DryRunExecutes is that of its runs, which are scripts, or of the scripts among its steps; see Spec of package runs.
	DryRunExecutes bool     `json:"dry_run_executes,omitempty"`
	AllowOverrides []string `json:"allow_overrides,omitempty"`
	// AllowedVars are the reserved names, as in package reserved, that answers and variables of a launch may have.
	AllowedVars []string `json:"allowed_vars,omitempty"`
	// IsolationProfile is what its runs may do on their executor; see Spec of package runs.
	IsolationProfile string `json:"isolation_profile,omitempty"`
	// FailOn names warnings that make a success of its runs a failure; see Spec of package runs.
	FailOn []string `json:"fail_on,omitempty"`
	// RequireApproval holds every run of the template, whatever launches it. No launch overrides it.
	RequireApproval bool `json:"require_approval,omitempty"`
	// MaxConcurrent limits how many of its runs have a slot at a time, 0 for any number; see Limits of package runs.
	MaxConcurrent int `json:"max_concurrent,omitempty"`
	// WhenBusy is what happens to a launch beyond MaxConcurrent. Empty is BusyQueue.
	WhenBusy runs.WhenBusy `json:"when_busy,omitempty"`
	// Locks and ExclusiveHosts are those of its runs; see Spec of package runs.
	Locks          []string `json:"locks,omitempty"`
	ExclusiveHosts bool     `json:"exclusive_hosts,omitempty"`
}

// Workflow reports whether the template is a graph of steps.
func (t *TemplateSpec) Workflow() bool { return len(t.Steps) > 0 }

// Overridable lists the values that AllowOverrides may contain.
func Overridable() []string {
	return []string{
		"limit", "inventory_id", "tags", "skip_tags", "extra_vars", "dry_run", "forks", "verbosity", "diff_mode", "labels",
		"change",
	}
}

// Templates manages templates. Only an admin may save one whose isolation profile lets its runs become root, or is not
// known to the server; otherwise the fault is NotAllowed.
//
// A caller without the right to read a template gets TemplateNotFound, and a caller
// without the right to change it gets NotAllowed.
//
// The objects that a template names must exist, and the user who saves it must be able to read them. To add a
// credential to a list, the user needs the right to use the credential; otherwise the fault is UseRequired of package
// runs, naming the member. The same goes for the credentials that stay if what the template executes changes: anything
// but its name, organization, controls, timeout, notifications, labels, change, fail_on, require_approval, and what
// limits its runs: max_concurrent, when_busy, locks and exclusive_hosts. Who uses the template needs no rights to its
// credentials, except to those that a launch chooses. Conflicting credentials are refused on save, and credentials
// without a secret on launch.
type Templates interface {
	// Create stores a template. Errors: Invalid naming the member (survey[i].<key> for the survey, steps[i].<member>
	// for steps), VarsReserved of package runs naming survey[i].var, BadGraph of package runs for a cycle or an unknown
	// step, NameTaken. Create and the other methods return notifications masked; a masked value in the input keeps the
	// stored one.
	Create(ctx context.Context, t Template) (Template, error)
	Get(ctx context.Context, id string) (Template, error)
	// List returns templates by name and the total number.
	List(ctx context.Context, f Filter, w page.Window) ([]Template, int, error)
	// Update replaces the members that a caller may set. The error is RevisionChanged if the revision is neither 0 nor
	// the stored one.
	Update(ctx context.Context, id string, revision int64, t Template) (Template, error)
	// Compare returns the changed members among those that contain secrets: notifications, extra_vars and steps. The
	// caller needs the right to change the template.
	Compare(ctx context.Context, id string, t Template) ([]string, error)
	// Delete deletes a template. The error is InUse while another object refers to it.
	Delete(ctx context.Context, id string, revision int64) error
}

// TemplateStore stores templates. Writes join the unit of work in ctx.
type TemplateStore interface {
	InsertTemplate(ctx context.Context, t Template) error
	TemplateByID(ctx context.Context, id string) (Template, error)
	ListTemplates(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Template, int, error)
	UpdateTemplate(ctx context.Context, t Template, revision int64) (Template, error)
	DeleteTemplate(ctx context.Context, id string, revision int64) error
}

// Launch is the input of a launch. A nil member overrides nothing.
type Launch struct {
	Answers map[string]any // by variable of the question; numbers are json.Number
	// ExtraVars are merged over the template's own.
	ExtraVars     runs.Vars
	CredentialIDs []string // from SelectableCredentialIDs
	Limit         *string
	InventoryID   *string
	Tags          *[]string
	SkipTags      *[]string
	DryRun        *bool
	Forks         *int
	Verbosity     *int
	DiffMode      *bool
	Labels        map[string]string // merged over the template's own
	Change        *string
	// SystemVars are variables that the application itself sets, for example from a push. They need no permission of
	// the template; answers and ExtraVars override them.
	SystemVars runs.Vars
	// RequireApproval holds the run of a template that does not hold it itself.
	RequireApproval bool
	// DryRunOnly makes it a dry run, whatever the template says and allows. Only the application sets it.
	DryRunOnly bool
	// Locks are names of locks that the run takes beside those of the template. Only the application sets them.
	Locks []string
	// Source is the origin of the launch, FromTemplate if empty. By is the id of the schedule or trigger that launches.
	Source      runs.Source
	By          string
	Idempotency *runs.Idempotency
}

// Launcher creates all runs of templates, for every caller.
type Launcher interface {
	// Launch submits the run of a template, or the pipeline of a workflow. The error is TemplateNotFound if the caller
	// may not read the template, UseRequired of package runs if it may not use it, or Invalid. Invalid faults name
	// answers.<var>, an override that the template does not allow, or the member that the submission refuses; then
	// nothing is submitted. VarsReserved of package runs is Invalid and names the path of a reserved name. TemplateBusy
	// of package runs refuses a launch that the template skips while it is busy.
	Launch(ctx context.Context, templateID string, l Launch) (run *runs.Run, replayed bool, err error)
	// Unattended reports why a launch with only these answers would fail: an Invalid fault as from Launch, nil if the
	// launch would succeed.
	Unattended(ctx context.Context, templateID string, answers map[string]any) error
}
