package catalog

import (
	"context"
	"encoding/json"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Template is a preset for runs, or a saved workflow where it has steps. Everything in it was saved by somebody who
// may manage it: its variables may be templates of the tool, whereas what a launch brings is data.
type Template struct {
	object.Record
	TemplateSpec
}

// TemplateSpec is what a template launches. The tags are those of the stored document.
type TemplateSpec struct {
	Tool        string    `json:"tool,omitempty"` // empty means ansible, but of a workflow, which has none
	Playbook    string    `json:"playbook,omitempty"`
	Command     string    `json:"command,omitempty"`
	Shards      int       `json:"shards,omitempty"`
	InventoryID string    `json:"inventory_id,omitempty"`
	Inventory   string    `json:"inventory,omitempty"` // a path, where there is no id
	ProjectID   string    `json:"project_id,omitempty"`
	ExtraVars   runs.Vars `json:"extra_vars,omitempty"`
	runs.Controls
	TimeoutSeconds int                 `json:"timeout,omitempty"` // 0: the server's default; no launch raises it
	Notifications  []runs.Notification `json:"notifications,omitempty"`
	// Survey is a list of survey fields in the form that was checked when it was saved.
	Survey json.RawMessage `json:"survey,omitempty"`
	// Steps make it a workflow. One sets no playbook, command, tool, shards or controls beside them.
	Steps                   []runs.StepSpec   `json:"steps,omitempty"`
	CredentialIDs           []string          `json:"credential_ids,omitempty"`
	SelectableCredentialIDs []string          `json:"selectable_credential_ids,omitempty"` // of which a launch may choose
	Queue                   string            `json:"queue,omitempty"`
	Labels                  map[string]string `json:"labels,omitempty"`
	Change                  string            `json:"change,omitempty"`
	DryRun                  bool              `json:"dry_run,omitempty"`
	AllowOverrides          []string          `json:"allow_overrides,omitempty"`
}

// Workflow reports whether the template is a graph of steps.
func (t *TemplateSpec) Workflow() bool { return len(t.Steps) > 0 }

// Overridable lists what AllowOverrides may hold.
func Overridable() []string {
	return []string{
		"limit", "inventory_id", "tags", "skip_tags", "extra_vars", "dry_run", "forks", "verbosity", "diff_mode", "labels", "change",
	}
}

// Templates keeps templates. Without the right to read one it is TemplateNotFound, without the right to change one
// NotAllowed.
//
// What a template names has to exist and be readable by whoever saves it. A credential that it did not name before in
// the same list it may name only for somebody who may use that: UseRequired of package runs, naming the member.
// Whoever may use the template needs no right of the own to its credentials, but to those that a launch chooses.
// Credentials that clash are refused when it is saved, those without a secret when it is launched.
type Templates interface {
	// Create stores a template. Invalid faults name the member, of the survey survey[i].<key>, of steps
	// steps[i].<member>; BadGraph of package runs for a cycle or an unknown step; NameTaken. Notifications come back
	// masked, here and everywhere: what echoes a mask keeps the stored value.
	Create(ctx context.Context, t Template) (Template, error)
	Get(ctx context.Context, id string) (Template, error)
	// List returns templates by name and how many there are.
	List(ctx context.Context, f Filter, w page.Window) ([]Template, int, error)
	// Update replaces what a caller may set. RevisionChanged where the revision is not 0 and not the stored one.
	Update(ctx context.Context, id string, revision int64, t Template) (Template, error)
	// Compare lists the members that an update would change, of those that hold secrets: notifications, extra_vars and
	// steps. It takes the right to change the template.
	Compare(ctx context.Context, id string, t Template) ([]string, error)
	// Delete forgets a template. InUse while something names it.
	Delete(ctx context.Context, id string, revision int64) error
}

// TemplateStore keeps templates. Writes join the unit of ctx.
type TemplateStore interface {
	InsertTemplate(ctx context.Context, t Template) error
	TemplateByID(ctx context.Context, id string) (Template, error)
	ListTemplates(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Template, int, error)
	UpdateTemplate(ctx context.Context, t Template, revision int64) (Template, error)
	DeleteTemplate(ctx context.Context, id string, revision int64) error
}

// Launch is what somebody brings to a template. A nil member overrides nothing.
type Launch struct {
	Answers map[string]any // by the variable of the question; numbers are json.Number
	// ExtraVars are merged over the template's own.
	ExtraVars     runs.Vars
	CredentialIDs []string // of the selectable ones
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
	// SystemVars are variables of the application itself, such as a push; they need no permission of the template, and
	// answers and ExtraVars lie over them.
	SystemVars runs.Vars
	// Source is what launches, FromTemplate where it is empty, and By the id of the schedule or trigger that does.
	Source      runs.Source
	By          string
	Idempotency *runs.Idempotency
}

// Launcher makes runs of templates: the one way there is, for every caller.
type Launcher interface {
	// Launch submits what the template says, as a pipeline where it is a workflow. TemplateNotFound where the caller may
	// not read it, UseRequired of package runs where it may not use it. Invalid faults name answers.<var>, an override
	// that the template does not allow by its name, or what the submission refuses; nothing is submitted then.
	Launch(ctx context.Context, templateID string, l Launch) (run *runs.Run, replayed bool, err error)
	// Unattended reports why nobody could launch the template with these answers alone: an Invalid fault as that of
	// Launch, nil where it works.
	Unattended(ctx context.Context, templateID string, answers map[string]any) error
}
