package runs

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/secret"
)

// Vars is an object of variables. Values stay raw JSON, so that no number loses a digit.
type Vars map[string]json.RawMessage

// ReservedMember reports whether a name is one of those by which Ansible marks values in JSON, such as __ansible_vault.
// No variable and no member of one may have it, since Ansible would read the object as something else.
func ReservedMember(name string) bool { return strings.HasPrefix(name, "__ansible_") }

// Merge returns v with every member of over on top. Neither operand changes.
func (v Vars) Merge(over Vars) Vars {
	if len(v)+len(over) == 0 {
		return nil
	}
	out := make(Vars, len(v)+len(over))
	for k, x := range v {
		out[k] = x
	}
	for k, x := range over {
		out[k] = x
	}
	return out
}

// Kind is the kind of a run.
type Kind string

// The kinds. A split is the parent of shards, a pipeline the parent of steps.
const (
	Single   Kind = "single"
	Split    Kind = "split"
	Shard    Kind = "shard"
	Pipeline Kind = "pipeline"
	Step     Kind = "step"
)

// Parent reports whether runs of this kind derive their state from children.
func (k Kind) Parent() bool { return k == Split || k == Pipeline }

// Child reports whether runs of this kind belong to a parent. Children are left out of the run list.
func (k Kind) Child() bool { return k == Shard || k == Step }

// Source is the origin of a run.
type Source string

// The sources.
const (
	FromAPI       Source = "api"
	FromTemplate  Source = "template"
	FromSchedule  Source = "schedule"
	FromTrigger   Source = "trigger"
	FromRerun     Source = "rerun"
	FromRetry     Source = "retry"
	FromRelaunch  Source = "relaunch"
	FromReconcile Source = "reconcile"
	FromProposal  Source = "proposal"
	FromImport    Source = "import"
	FromPlan      Source = "plan"
)

// Ansible is the tool of a run that names none.
const Ansible = "ansible"

// The isolation profiles that every executor has: the usual one, one without a network and a file system to write, and
// one that may become root.
const (
	StandardProfile = "standard"
	SealedProfile   = "sealed"
	HostProfile     = "host"
)

// DefaultQueue is the queue of a run that names none.
const DefaultQueue = "default"

// Controls are the settings that only the playbook tool uses; other tools ignore them.
type Controls struct {
	Limit     string   `json:"limit,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	SkipTags  []string `json:"skip_tags,omitempty"`
	Forks     int      `json:"forks,omitempty"`
	Verbosity int      `json:"verbosity,omitempty"`
	DiffMode  bool     `json:"diff_mode,omitempty"`
}

// Spec holds the settings of a run except its variables, which lists leave out. The tags are those of the stored
// document, from which reruns and digests are made.
type Spec struct {
	Tool        string `json:"tool"`
	Playbook    string `json:"playbook,omitempty"`
	Command     string `json:"command,omitempty"`
	InventoryID string `json:"inventory_id,omitempty"`
	Inventory   string `json:"inventory,omitempty"`
	ProjectID   string `json:"project_id,omitempty"`
	// TemplateID is the template that the run was launched from.
	TemplateID string `json:"template_id,omitempty"`
	// Templated names the variables that the tool may evaluate, since a user with the right to manage the template
	// saved their values there. Every other variable is data.
	Templated []string `json:"templated,omitempty"`
	Controls
	DryRun bool `json:"dry_run,omitempty"`
	// DryRunExecutes executes a script in a dry run instead of checking it: the script honours WRIT_DRY_RUN=1. Only
	// templates set it.
	DryRunExecutes  bool              `json:"dry_run_executes,omitempty"`
	Shards          int               `json:"shards,omitempty"`
	TimeoutSeconds  int               `json:"timeout,omitempty"`
	Env             map[string]string `json:"env,omitempty"`
	CredentialIDs   []string          `json:"credential_ids,omitempty"`
	Queue           string            `json:"queue,omitempty"`
	Priority        int               `json:"priority,omitempty"`
	Notifications   []Notification    `json:"notifications,omitempty"`
	RequireApproval bool              `json:"require_approval,omitempty"`
	// FailOn names warnings that make a success a failure. A pipeline's are those of its steps too.
	FailOn []string `json:"fail_on,omitempty"`
	// Locks are names of which only one run at a time has the lock, from its first execution until it ends.
	Locks []string `json:"locks,omitempty"`
	// ExclusiveHosts keeps the run from hosts that another run with this setting executes on, until that one ends.
	ExclusiveHosts bool `json:"exclusive_hosts,omitempty"`
	// IsolationProfile is what the run may do on its executor, which has to allow it; empty leaves it to the executor.
	// Only templates set it.
	IsolationProfile string `json:"isolation_profile,omitempty"`
	// InventoryQuery selects LimitHosts by their facts when the run is submitted, and InventoryID if that is empty; see
	// HostQueries of package estate. A run that is made from this one keeps both.
	InventoryQuery string `json:"inventory_query,omitempty"`
	// LimitHosts are the plain host names to which a shard, a relaunch or a query is limited, in addition to Limit. Nil is
	// no further limit. It is never an empty list, since an empty limit would mean every host.
	LimitHosts []string `json:"limit_hosts,omitempty"`
	// PlanDigest is the digest of the plan that the run applies, empty for any other run. No request sets it; a rerun
	// keeps it. Such a run is always held.
	PlanDigest string `json:"plan_digest,omitempty"`
}

// OnlyChecks reports whether the tool is to change nothing by its own means. A script that honours WRIT_DRY_RUN is
// executed in a dry run too, and does whatever it does.
func (s *Spec) OnlyChecks() bool {
	return s.DryRun && !(s.DryRunExecutes && extension.Script(s.Tool))
}

// Notification is a target of notifications about a run. In records the address and the key are masked, and Ref names
// the stored target with both sealed. In requests they are plain, and Ref is empty.
type Notification struct {
	Kind      string `json:"kind"`
	URL       string `json:"url,omitempty"`
	Key       string `json:"key,omitempty"`
	To        string `json:"to,omitempty"`
	OnFailure bool   `json:"on_failure,omitempty"`
	Ref       string `json:"ref,omitempty"`
}

// Masked returns the public form of the target: only the scheme and the host of the address, no part of the key, and
// no Ref.
func (n Notification) Masked() Notification {
	n.Ref = ""
	if n.Key != "" {
		n.Key = secret.Mask
	}
	if n.URL == "" {
		return n
	}
	u, err := url.Parse(n.URL)
	if err != nil || u.Host == "" {
		n.URL = secret.Mask
		return n
	}
	n.URL = u.Scheme + "://" + u.Host + "/" + secret.Mask
	return n
}

// Submission is a request for a run.
type Submission struct {
	Spec
	Name   string
	Labels map[string]string
	Change string
	// ExtraVars are launch-time values: data that the tool gets marked as unsafe and never evaluates as templates.
	ExtraVars Vars
	// Origin is the origin of the request. The zero value means FromAPI.
	Origin Origin
	// Idempotency makes a repeated request return the run of the first one. Nil disables it.
	Idempotency *Idempotency
	// WhenBusy is that of the template that the run is launched from; empty is BusyQueue.
	WhenBusy WhenBusy
	// Vouched are the ids of a template and of the objects that it names. A caller who may use the template needs
	// only the right to read these objects, no right to use them or the queue, and no right at all to credentials.
	// Only the application sets it; a run that is made from this one is checked like any request. The credentials
	// that an inventory adds to a run need no right either.
	Vouched []string
}

// Origin is the provenance of a run.
type Origin struct {
	Source   Source
	SourceID string
	RetryOf  string
	RerunOf  string
	// Owner is the account with whose rights a schedule or a trigger asked, empty for an account that asked itself.
	Owner string
}

// Idempotency is a client's key with the scope (the operation) and the digest of the request's body.
type Idempotency struct {
	Key    string
	Scope  string
	Digest [32]byte
}

// Warning describes a problem that did not change the status.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The warning codes.
const (
	WarnNoHostsMatched       = "no_hosts_matched"
	WarnInventoryPathMissing = "inventory_path_missing"
	WarnInventoryUnparsed    = "inventory_unparsed"
	WarnInventoryEmpty       = "inventory_empty"
	WarnPatternUnmatched     = "pattern_unmatched"
	WarnLimitPartlyUnmatched = "limit_partly_unmatched"
	WarnTagsMatchedNothing   = "tags_matched_nothing"
	WarnShardSemantics       = "shard_semantics"
	WarnHostsUnreachable     = "hosts_unreachable"
	WarnLogTruncated         = "log_truncated"
	WarnOutputFlood          = "output_flood"
	WarnStepFailedContinued  = "step_failed_continued"
	WarnRemoteMayContinue    = "remote_commands_may_continue"
	WarnOutputsUnreadable    = "outputs_unreadable"
	WarnProjectStale         = "project_not_synced"      // the last good commit was taken
	WarnInventoryStale       = "inventory_not_refreshed" // the last good one was taken
	WarnSecretNotRenewed     = "secret_not_renewed"      // it may have ended before the run
	WarnQueueUnserved        = "queue_unserved"          // at the submission
	WarnVarsReserved         = "vars_reserved"           // of outputs or of a sourced inventory
	WarnHostKeyChanged       = "host_key_changed"        // nothing was executed on the host
	WarnHostKeyUnknown       = "host_key_unknown"        // nothing was executed on the host, as the policy says
	WarnProjectLinks         = "project_links_left_out"  // they lead out of the repository
	WarnHostKeysOmitted      = "host_keys_omitted"       // more were accepted than a record has
	WarnFactsNotKept         = "facts_not_kept"          // they are too large, of some hosts
	WarnPlanNotHeld          = "plan_not_held"           // no run applies it, as the message says
)

// HasWarning reports whether one of the warnings has the code.
func HasWarning(list []Warning, code string) bool {
	return slices.ContainsFunc(list, func(w Warning) bool { return w.Code == code })
}

// Decision is the verdict on a held run.
type Decision struct {
	By      actor.Actor `json:"by"`
	At      time.Time   `json:"at"`
	Verdict string      `json:"verdict"`
	Reason  string      `json:"reason,omitempty"`
}

// Cancellation is the request to cancel a run. A run that had not started ended with it.
type Cancellation struct {
	By actor.Actor `json:"by"`
	At time.Time   `json:"at"`
}

// The verdicts.
const (
	Approved       = "approved"
	RejectedByRule = "rejected"
)

// Isolation is how far the processes of a run were kept apart from the executor and from other runs. The zero value is
// not known: the run executed nothing, or its executor did not tell.
type Isolation struct {
	// Level is the name of the level: namespaces, users, landlock or none.
	Level string `json:"level"`
	// Profile is the name of what the run could do inside of the level.
	Profile string `json:"profile"`
}

// HostKey is a host's key that a run accepted on its first contact, since it knew none.
type HostKey struct {
	// Host is the name or address that ssh connected to, as in known_hosts: with a port other than 22 it is [host]:port.
	Host        string `json:"host"`
	Type        string `json:"type"`
	Fingerprint string `json:"fingerprint"` // as ssh-keygen -l shows it: SHA256:<base64>
}

// MaxHostKeys is how many accepted keys a record has.
const MaxHostKeys = 1000

// Run is the record. Times are UTC at microseconds; a zero time means "not yet". Vars, Outputs and Spec.Env are
// absent from lists.
type Run struct {
	ID       string
	Seq      int64
	Name     string
	Kind     Kind
	Status   Status
	Spec     Spec
	Labels   map[string]string
	Change   string
	Vars     Vars
	Outputs  Vars
	Origin   Origin
	Actor    actor.Actor
	Commit   string
	Warnings []Warning
	Error    string
	ExitCode *int

	CreatedAt time.Time
	QueuedAt  time.Time
	StartedAt time.Time
	EndedAt   time.Time

	// Gated means that the run, or its parent, has to get slots, or that windows have to let it pass, before it is
	// executed. Slotted means that a run without a parent has slots or waits for some; see SlotKey.
	Gated   bool
	Slotted bool
	// Repairs are the findings that a new run is made to repair. They are not read again; see the interface Repairs.
	Repairs []string
	// Wait is what the windows say about a new run. It is not read again; see WaitStore.
	Wait *Wait

	ParentID   string
	ShardIndex int // from 0; meaningful for shards
	ShardCount int
	StepName   string
	Attempt    int
	Graph      *Graph // only for pipelines
	// ShardHosts are the host lists of a split that is divided from the start: a retry. It is nil for a split whose
	// executor resolves the hosts first.
	ShardHosts [][]string
	// Lineage groups the runs of one definition: the template, schedule or trigger that made them, else a digest
	// of tool, playbook or command, inventory and project.
	Lineage string

	// Risk is what the run was graded as when it was submitted.
	Risk Risk
	// Approvals are what holds or held the run, nil if nothing did.
	Approvals *Approvals
	Decision  *Decision
	// Preview is what a dry run found, only in a record that was read by itself. Approvals names the dry run.
	Preview *Preview

	Worker          string
	Epoch           int64
	Begun           bool // a process may have been started under the current epoch
	Isolation       Isolation
	LeaseExpiresAt  time.Time
	CancelRequested bool
	// Canceled is the first request to cancel the run, nil for a run without one.
	Canceled *Cancellation

	// ToolVersion is the version of the tool that executed the run, empty where the tool did not tell it.
	ToolVersion string

	// AcceptedHostKeys are absent from lists. They are at most MaxHostKeys.
	AcceptedHostKeys []HostKey

	Hosts        HostCounts
	HostsTouched int
	EventCount   int64
	LogBytes     int64 // all that the run printed
	LogOmitted   int64 // the number of bytes in the middle that were dropped
	LogSHA256    string
	Revision     int64 // counts the record's changes; the ETag

	// Hidden are the texts that Conceal does not show. Executors and further runs need the stored texts.
	Hidden Hidden

	// Objects are the objects that decide who may read the run, as package access names them: its template, project,
	// inventory and queue, and for a pipeline those of its steps. Children have those of their parent. They are fixed
	// when the run is made, and stay after the objects are deleted. Lists leave them out.
	Objects []string
}

// Checked reports whether the run was a dry run that succeeded: its status is Succeeded, and it changed nothing.
func (r *Run) Checked() bool { return r.Spec.DryRun && r.Status == Succeeded }

// Duration returns how long the run executed, until now for one that has not ended, zero for one that has not
// started.
func (r *Run) Duration(now time.Time) time.Duration {
	if r.StartedAt.IsZero() {
		return 0
	}
	if r.EndedAt.IsZero() {
		return now.Sub(r.StartedAt)
	}
	return r.EndedAt.Sub(r.StartedAt)
}
