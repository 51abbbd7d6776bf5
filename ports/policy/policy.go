package policy

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of the policies of an install: their number, and the bytes of a file of them.
const (
	Max     = 1000
	MaxFile = 4 << 20
)

// Effect is what a policy does with the requests that it matches.
type Effect string

// The effects. Deny takes precedence.
const (
	RequireApproval Effect = "require_approval"
	Deny            Effect = "deny"
)

// Match selects requests. Every criterion that is set has to be met, and of a list one item. The zero value selects
// every request.
type Match struct {
	Tools []string `json:"tools,omitempty"`
	// CommandContains is a part of the command, in its case.
	CommandContains string `json:"command_contains,omitempty"`
	// Playbook is a path, in which * stands for any text but a slash, as in path.Match.
	Playbook     string        `json:"playbook,omitempty"`
	InventoryIDs []string      `json:"inventory_ids,omitempty"`
	TemplateIDs  []string      `json:"template_ids,omitempty"`
	ProjectIDs   []string      `json:"project_ids,omitempty"`
	Queues       []string      `json:"queues,omitempty"`
	Sources      []runs.Source `json:"sources,omitempty"`
	// CredentialIDs are met by a run that uses one of them.
	CredentialIDs []string `json:"credential_ids,omitempty"`
	// Labels are labels that a run must have, all of them. The value * stands for any value.
	Labels map[string]string `json:"labels,omitempty"`
	// HostsOver is met by a run that targets more hosts. A run whose hosts are not known meets it, since it may reach any
	// number. Nil is no criterion.
	HostsOver *int `json:"hosts_over,omitempty"`
	// InventoryShareOver is met by a run that targets more of its inventory's hosts, in percent, or hosts that are not
	// known. Nil is no criterion.
	InventoryShareOver *int `json:"inventory_share_over,omitempty"`
	// LimitMissing is met by a playbook run over its whole inventory.
	LimitMissing bool `json:"limit_missing,omitempty"`
	// ChangeMissing is met by a run that names no change.
	ChangeMissing bool `json:"change_missing,omitempty"`
}

// Policy is a rule for requests for runs. It belongs to no organization.
type Policy struct {
	object.Record
	Effect  Effect
	Enabled bool
	Match   Match
	// ExcludeDryRun leaves out runs that change nothing.
	ExcludeDryRun bool
	// RiskAtLeast leaves out runs below a risk. Empty is no criterion.
	RiskAtLeast runs.RiskLevel
	// Actors are the only ones to whom the policy applies, as the subjects of grants: user:<id> or team:<id>. Empty is
	// everyone.
	Actors []string
	// DistinctApprover refuses the decision of the account that asked for the run.
	DistinctApprover bool
	// Message is shown to those whose run is held or denied.
	Message string
	// ApprovalsNeeded is how many accounts must approve; at least 1 where the policy holds, 0 where it denies.
	ApprovalsNeeded int
	// ApproverTeams are the ids of the teams whose members decide. Empty means administrators.
	ApproverTeams []string
}

// Policies manages policies. Everybody who is signed in may read them, without the ids of objects that the caller may
// not read; administrators write them. Errors: PolicyNotFound, NotAllowed.
type Policies interface {
	// Create stores a policy. Errors: Invalid faults name the field; NameTaken; PoliciesInFile where a file is the only
	// source; an Unlicensed fault for what the licence does not include; TooMany; UserNotFound and TeamNotFound for an
	// actor or an approver team that does not exist.
	Create(ctx context.Context, p Policy) (Policy, error)
	Get(ctx context.Context, id string) (Policy, error)
	List(ctx context.Context, f Filter, w page.Window) ([]Policy, int, error)
	// Update replaces a policy. Revision 0 replaces any, another one returns RevisionChanged if the policy has changed.
	// Further errors are those of Create. What a policy held already stays held by the rules of that time.
	Update(ctx context.Context, id string, revision int64, p Policy) (Policy, error)
	Delete(ctx context.Context, id string, revision int64) error
	// Simulate compares a draft with the runs that were created at or after from and before to, as if it were enabled. A
	// zero to is now, a zero from SimulatedDays before to. It stores nothing and asks no licence. Errors: Invalid faults
	// name policy.<field> or from; those of Create for an account or a team that does not exist.
	Simulate(ctx context.Context, p Policy, from, to time.Time) (Simulation, error)
	// InForce returns the enabled policies by name, with a tag that changes with them. Everybody may call it.
	InForce(ctx context.Context) (list []Policy, tag string, err error)
}

// Filter selects policies or windows. Zero members select all.
type Filter struct {
	Name string // the exact name
}

// Store stores policies. Writes join the unit of ctx and increment the version; a unit that writes excludes others that
// do until it ends.
type Store interface {
	// Insert stores a policy. Errors: NameTaken.
	Insert(ctx context.Context, p Policy) error
	ByID(ctx context.Context, id string) (Policy, error)
	// List returns a page by name, and the number of all.
	List(ctx context.Context, f Filter, w page.Window) ([]Policy, int, error)
	// Update replaces a policy at a revision. Errors: PolicyNotFound, NameTaken, RevisionChanged.
	Update(ctx context.Context, p Policy, revision int64) (Policy, error)
	// Delete removes a policy at a revision; 0 is any. Errors: PolicyNotFound, RevisionChanged.
	Delete(ctx context.Context, id string, revision int64) error
	// Version counts the committed changes of all policies and windows, and those of the unit of ctx.
	Version(ctx context.Context) (int64, error)
	// Enabled returns the enabled policies by name, and their version. If a change commits during the call, they may be
	// newer than the version, never older.
	Enabled(ctx context.Context) ([]Policy, int64, error)
}

// Source is where the file comes from that is the only source of policies. Read returns its text and the time of its
// last change, and is nil for an install without such a file.
type Source struct {
	Path string
	Read func() (text []byte, changed time.Time, err error)
}
