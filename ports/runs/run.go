package runs

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/secret"
)

// Vars is an object of variables. Values stay raw JSON, so that no number loses a digit on its way.
type Vars map[string]json.RawMessage

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

// Kind says what part a run plays.
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

// Source says what made a run.
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
)

// Ansible is the tool of a run that names none.
const Ansible = "ansible"

// DefaultQueue is the queue of a run that names none.
const DefaultQueue = "default"

// Controls are the settings that apply to the playbook tool alone; other tools ignore them.
type Controls struct {
	Limit     string   `json:"limit,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	SkipTags  []string `json:"skip_tags,omitempty"`
	Forks     int      `json:"forks,omitempty"`
	Verbosity int      `json:"verbosity,omitempty"`
	DiffMode  bool     `json:"diff_mode,omitempty"`
}

// Spec is what a run executes: everything but its variables, which lists leave out. The tags are those of the
// stored document, which is also what a rerun and a digest are made of.
type Spec struct {
	Tool        string `json:"tool"`
	Playbook    string `json:"playbook,omitempty"`
	Command     string `json:"command,omitempty"`
	InventoryID string `json:"inventory_id,omitempty"`
	Inventory   string `json:"inventory,omitempty"`
	ProjectID   string `json:"project_id,omitempty"`
	// TemplateID is the template that the run was launched from.
	TemplateID string `json:"template_id,omitempty"`
	// Templated names the variables whose values somebody who may manage the template saved there: the tool may evaluate
	// them. Every other variable is data.
	Templated []string `json:"templated,omitempty"`
	Controls
	DryRun          bool              `json:"dry_run,omitempty"`
	Shards          int               `json:"shards,omitempty"`
	TimeoutSeconds  int               `json:"timeout,omitempty"`
	Env             map[string]string `json:"env,omitempty"`
	CredentialIDs   []string          `json:"credential_ids,omitempty"`
	Queue           string            `json:"queue,omitempty"`
	Priority        int               `json:"priority,omitempty"`
	Notifications   []Notification    `json:"notifications,omitempty"`
	RequireApproval bool              `json:"require_approval,omitempty"`
	// LimitHosts are plain host names to which a shard or a relaunch is bound, beside Limit. Nil binds to nothing
	// more; it is never an empty list, since an empty limit would mean every host.
	LimitHosts []string `json:"limit_hosts,omitempty"`
}

// Notification is a target that hears of a run's end. In records the address and the key are masked, and Ref names
// where both are kept sealed; in requests they are as somebody gave them, and Ref is empty.
type Notification struct {
	Kind      string `json:"kind"`
	URL       string `json:"url,omitempty"`
	Key       string `json:"key,omitempty"`
	To        string `json:"to,omitempty"`
	OnFailure bool   `json:"on_failure,omitempty"`
	Ref       string `json:"ref,omitempty"`
}

// Masked returns the target as it is shown: of the address the scheme and the host, of the key nothing, and no Ref.
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
	// ExtraVars are launch-time values: data that reaches the tool unsafe-marked and is never templated.
	ExtraVars Vars
	// Origin is what made the request; the API leaves it zero, which means FromAPI.
	Origin Origin
	// Idempotency makes a repeated request answer with the first one's run. Nil switches it off.
	Idempotency *Idempotency
	// Vouched are objects, by id, that a template names, the template among them: who may use it needs no right of its
	// own to use those, nor the queue, but to read them, and to credentials none at all. Only the application sets it; a
	// run that is made of this one's is judged like any request. What the inventory of a run adds is vouched for by
	// that.
	Vouched []string
}

// Origin is the provenance of a run.
type Origin struct {
	Source   Source
	SourceID string
	RetryOf  string
	RerunOf  string
}

// Idempotency is a client's key with the scope (the operation) and the digest of the request's body.
type Idempotency struct {
	Key    string
	Scope  string
	Digest [32]byte
}

// Warning tells of something odd that left the status unchanged.
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
)

// HasWarning reports whether one of the warnings has a code.
func HasWarning(list []Warning, code string) bool {
	return slices.ContainsFunc(list, func(w Warning) bool { return w.Code == code })
}

// HeldBy names the policy that holds a run; a hold by require_approval has only a name.
type HeldBy struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
}

// Decision is the verdict on a held run.
type Decision struct {
	By      actor.Actor `json:"by"`
	At      time.Time   `json:"at"`
	Verdict string      `json:"verdict"`
	Reason  string      `json:"reason,omitempty"`
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

	ParentID   string
	ShardIndex int // from 0; meaningful for shards
	ShardCount int
	StepName   string
	Attempt    int
	Graph      *Graph // pipelines alone
	// ShardHosts are the host lists of a split that is divided from the start: a retry. Nil for a split whose
	// executor resolves the hosts first.
	ShardHosts [][]string
	// Lineage groups the runs of one definition: the template, schedule or trigger that made them, else a digest
	// of tool, playbook or command, inventory and project.
	Lineage string

	HeldBy   *HeldBy
	Decision *Decision

	Worker          string
	Epoch           int64
	Begun           bool // a process may have been started under the current epoch
	Isolation       Isolation
	LeaseExpiresAt  time.Time
	CancelRequested bool

	Hosts        HostCounts
	HostsTouched int
	EventCount   int64
	LogBytes     int64 // all that the run printed
	LogOmitted   int64 // of which this many bytes in the middle were dropped
	LogSHA256    string
	Revision     int64 // counts the record's changes; the ETag

	// Objects are what decides who may read the run, as access names them: the template, project and inventory
	// that it names and its queue, of a pipeline also those of its steps. Children have their parent's. They are
	// fixed when the run is made and outlive what they name. Lists leave them out.
	Objects []string
}

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

// ObjectsOf returns the objects that a record names itself, sorted: what decides who may read a run that nobody is the
// parent of.
func ObjectsOf(r *Run) []string {
	out := []string{access.Queue(cmp.Or(r.Spec.Queue, DefaultQueue))}
	add := func(ids ...string) {
		for _, id := range ids {
			if id != "" {
				out = append(out, id)
			}
		}
	}
	if strings.HasPrefix(r.Origin.SourceID, string(ids.Template)) {
		add(r.Origin.SourceID)
	}
	add(r.Spec.TemplateID, r.Spec.ProjectID, r.Spec.InventoryID)
	if r.Graph != nil {
		for i := range r.Graph.Steps {
			s := &r.Graph.Steps[i]
			add(s.InventoryID)
			if s.Queue != "" {
				add(access.Queue(s.Queue))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
