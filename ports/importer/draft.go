package importer

import (
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// Kind is the kind of an object of the catalog, as in the prefix of ids.
type Kind string

// The kinds that imports create, in the order in which they are created: each refers only to kinds before it.
const (
	CredentialType Kind = "credential_type"
	Credential     Kind = "credential"
	Project        Kind = "project"
	Inventory      Kind = "inventory"
	Source         Kind = "inventory_source"
	Template       Kind = "template"
	Schedule       Kind = "schedule"
)

// Kinds lists the kinds in their order.
func Kinds() []Kind {
	return []Kind{CredentialType, Credential, Project, Inventory, Source, Template, Schedule}
}

// Class tells how much of an object of an export is kept.
type Class string

// The classes, from the best to the worst.
const (
	Same     Class = "same"      // it does the same as before
	Adapted  Class = "adapted"   // it is written and differs; the mapping or a warning says how
	NeedsYou Class = "needs_you" // it is written and does not work, or not the same, until somebody completes it
	NoHome   Class = "no_home"   // it is not written
)

// Classes lists the classes in their order.
func Classes() []Class { return []Class{Same, Adapted, NeedsYou, NoHome} }

// Draft is what an export says, in the form of the catalog.
type Draft struct {
	Objects []Object
}

// Object is an object of an export.
type Object struct {
	// Kind is the kind of Spec. Without a Spec it is the export's own word for the object, in lower case and in the
	// singular: "user", "webhook".
	Kind Kind
	// Name is unique among the objects of its kind with a Spec.
	Name string
	// Ref is the place of the object in the export: a path of members ("job_templates[3]"), or a file of an archive.
	Ref   string
	Class Class
	// Spec is nil for an object that is not written. Then Reason says why.
	Spec   Spec
	Reason string
	// Mapping says what became of the object's parts, a sentence each.
	Mapping []string
	// Warnings say what is lost or different, a sentence each. An object with a warning is not of the class Same.
	Warnings []Warning
	// Fires are the next times at which a schedule fires in the product that it comes from, at most MaxFires. They are
	// computed from the original expression, and not from the cron expression of the Spec.
	Fires []time.Time
}

// MaxFires is how many times of a schedule are shown.
const MaxFires = 5

// Warning says what a part of an object loses. It contains no secret.
type Warning struct {
	Object  string // the name of the object, empty for the export as a whole
	Field   string // the member of the export, or of the object
	Message string
}

// KeptEnabled is the warning of a stored schedule that an import leaves as it is: enabled or not, other than in the
// export. Who moves from one product to the other schedule by schedule has made it so, and the schedule must neither
// fire twice nor nowhere.
func KeptEnabled(name string, enabled bool) Warning {
	state := map[bool]string{true: "enabled", false: "disabled"}
	return Warning{name, "enabled", fmt.Sprintf("It stays %s here, and is %s there.", state[enabled], state[!enabled])}
}

// Spec says what an object becomes. Pointers to the specifications of this package are the only ones.
type Spec interface{ spec() }

func (*CredentialTypeSpec) spec() {}
func (*CredentialSpec) spec()     {}
func (*ProjectSpec) spec()        {}
func (*InventorySpec) spec()      {}
func (*SourceSpec) spec()         {}
func (*TemplateSpec) spec()       {}
func (*ScheduleSpec) spec()       {}

// The specifications below have the members of the API under the names that files of the catalog use; see the guide on
// the catalog as code. References are names of objects of the draft, or of stored objects.

// CredentialTypeSpec describes a type of credentials.
type CredentialTypeSpec struct {
	Fields []TypeField `json:"fields"`
	Inject TypeInject  `json:"inject,omitzero"`
}

// TypeField is a field of a credential type; Type is text, multiline, bool or choice.
type TypeField struct {
	Name     string   `json:"name"`
	Label    string   `json:"label,omitempty"`
	Type     string   `json:"type"`
	Secret   bool     `json:"secret,omitempty"`
	Required bool     `json:"required,omitempty"`
	Default  any      `json:"default,omitempty"`
	Choices  []string `json:"choices,omitempty"`
}

// TypeInject is what a credential of a type adds to a run; {{field}} stands for a value.
type TypeInject struct {
	Env       map[string]string `json:"env,omitempty"`
	ExtraVars map[string]any    `json:"extra_vars,omitempty"`
	Files     map[string]string `json:"files,omitempty"`
}

// CredentialSpec describes a credential without its secrets. Type names a credential type, for the kind custom.
type CredentialSpec struct {
	Kind     string         `json:"kind"`
	Settings map[string]any `json:"settings,omitempty"`
	Type     string         `json:"type,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"`
}

// ProjectSpec describes a project.
type ProjectSpec struct {
	RepoURL     string `json:"repo_url"`
	Branch      string `json:"branch,omitempty"`
	Credential  string `json:"credential,omitempty"`
	InstallDeps bool   `json:"install_deps,omitempty"`
}

// InventorySpec describes an inventory. Format is ini, yaml or json.
type InventorySpec struct {
	Content       string   `json:"content"`
	Format        string   `json:"format,omitempty"`
	Credentials   []string `json:"credentials,omitempty"`
	Queue         string   `json:"queue,omitempty"`
	MaxConcurrent int      `json:"max_concurrent,omitempty"`
}

// SourceSpec describes an inventory source that reads a file of a project, or is a plugin with its configuration.
type SourceSpec struct {
	Kind           string         `json:"kind"` // project or plugin
	Config         map[string]any `json:"config,omitempty"`
	Path           string         `json:"path,omitempty"`
	Project        string         `json:"project,omitempty"`
	Credential     string         `json:"credential,omitempty"`
	Inventory      string         `json:"inventory"`
	UpdateOnLaunch bool           `json:"update_on_launch,omitempty"`
}

// Controls are the settings of the playbook tool.
type Controls = runs.Controls

// TemplateSpec describes a template, which is a workflow if it has steps.
type TemplateSpec struct {
	Tool          string         `json:"tool,omitempty"`
	Playbook      string         `json:"playbook,omitempty"`
	Command       string         `json:"command,omitempty"`
	Inventory     string         `json:"inventory,omitempty"`
	InventoryPath string         `json:"inventory_path,omitempty"`
	Project       string         `json:"project,omitempty"`
	ExtraVars     map[string]any `json:"extra_vars,omitempty"` // numbers are json.Number, int64 or float64
	Controls
	Shards           int               `json:"shards,omitempty"`
	Timeout          int               `json:"timeout,omitempty"` // seconds
	Queue            string            `json:"queue,omitempty"`
	Credentials      []string          `json:"credentials,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	DryRun           bool              `json:"dry_run,omitempty"`
	Notifications    []Notification    `json:"notifications,omitempty"`
	Survey           []Question        `json:"survey,omitempty"`
	Steps            []Step            `json:"steps,omitempty"`
	AllowOverrides   []string          `json:"allow_overrides,omitempty"`
	IsolationProfile string            `json:"isolation_profile,omitempty"`
	RequireApproval  bool              `json:"require_approval,omitempty"`
	// MaxConcurrent limits how many of its runs execute at a time; nil is the default of one, 0 is any number.
	MaxConcurrent *int   `json:"max_concurrent,omitempty"`
	WhenBusy      string `json:"when_busy,omitempty"` // queue or skip; see WhenBusy of package runs
}

// Notification is a target of notifications about the runs of a template. Kind is one of the channels of the server.
// URL is never shown in a plan.
type Notification struct {
	Kind      string `json:"kind"`
	URL       string `json:"url,omitempty"`
	To        string `json:"to,omitempty"`
	OnFailure bool   `json:"on_failure,omitempty"`
}

// Question is a question of a survey; Type is text, multiline, int, choice or bool. See SurveyField of package catalog.
type Question struct {
	Var       string   `json:"var"`
	Type      string   `json:"type"`
	Label     string   `json:"label,omitempty"`
	Help      string   `json:"help,omitempty"`
	Required  bool     `json:"required,omitempty"`
	Default   any      `json:"default,omitempty"` // string, int64 or bool
	Min       *int64   `json:"min,omitempty"`
	Max       *int64   `json:"max,omitempty"`
	MinLength *int64   `json:"min_length,omitempty"`
	MaxLength *int64   `json:"max_length,omitempty"`
	Pattern   string   `json:"pattern,omitempty"`
	Choices   []string `json:"choices,omitempty"`
}

// Step is a step of a workflow. With a Template it launches that, and has no other setting of what it executes.
type Step struct {
	Name              string         `json:"name"`
	Tool              string         `json:"tool,omitempty"`
	Playbook          string         `json:"playbook,omitempty"`
	Command           string         `json:"command,omitempty"`
	Inventory         string         `json:"inventory,omitempty"`
	Project           string         `json:"project,omitempty"`
	ExtraVars         map[string]any `json:"extra_vars,omitempty"`
	Limit             string         `json:"limit,omitempty"`
	Tags              []string       `json:"tags,omitempty"`
	SkipTags          []string       `json:"skip_tags,omitempty"`
	Timeout           int            `json:"timeout,omitempty"`
	Queue             string         `json:"queue,omitempty"`
	DependsOn         []string       `json:"depends_on,omitempty"`
	On                string         `json:"on,omitempty"` // success, failure or always
	Retries           int            `json:"retries,omitempty"`
	ContinueOnFailure bool           `json:"continue_on_failure,omitempty"`
	Template          string         `json:"template,omitempty"`
	Answers           map[string]any `json:"answers,omitempty"`
	RequireApproval   bool           `json:"require_approval,omitempty"`
	Credentials       []string       `json:"credentials,omitempty"`
}

// Excluded returns the members that a template with a member does not have.
func Excluded(member string) []string {
	return map[string][]string{
		"steps": {
			"tool", "playbook", "command", "shards", "limit", "tags", "skip_tags", "forks", "verbosity", "diff_mode",
		},
		"playbook": {"steps", "command", "tool"},
		"command":  {"steps", "playbook"},
	}[member]
}

// ScheduleSpec describes a schedule of a template. Cron has five fields with the rules of the server.
type ScheduleSpec struct {
	Cron     string         `json:"cron"`
	Timezone string         `json:"timezone,omitempty"` // IANA zone, empty for the server's local time
	Enabled  bool           `json:"enabled"`
	Overlap  string         `json:"overlap,omitempty"` // skip, queue or allow
	Template string         `json:"template"`
	Answers  map[string]any `json:"answers,omitempty"`
}
