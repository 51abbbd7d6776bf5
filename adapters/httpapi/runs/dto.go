package runs

import (
	"net/url"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

// masked stands where a notification's address or key is not shown.
const masked = "***"

// RunBody is the record of a run. Members that are empty are absent, except those that are always known.
type RunBody struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Kind   string `json:"kind" enum:"single,split,shard,pipeline,step"`
	Status string `json:"status" enum:"pending_approval,pending,running,succeeded,failed,canceled,interrupted,rejected"`

	Tool            string              `json:"tool,omitempty"`
	Playbook        string              `json:"playbook,omitempty"`
	Command         string              `json:"command,omitempty"`
	InventoryID     string              `json:"inventory_id,omitempty"`
	Inventory       string              `json:"inventory,omitempty"`
	ProjectID       string              `json:"project_id,omitempty"`
	ExtraVars       runs.Vars           `json:"extra_vars,omitempty" doc:"Values whose name looks secret read back as [redacted]; absent from lists."`
	Env             map[string]string   `json:"env,omitempty" doc:"Absent from lists."`
	Shards          int                 `json:"shards,omitempty"`
	Limit           string              `json:"limit,omitempty"`
	LimitHosts      []string            `json:"limit_hosts,omitempty" doc:"The hosts that a shard or a relaunch is bound to."`
	Tags            []string            `json:"tags,omitempty"`
	SkipTags        []string            `json:"skip_tags,omitempty"`
	Forks           int                 `json:"forks,omitempty"`
	Verbosity       int                 `json:"verbosity,omitempty"`
	DiffMode        bool                `json:"diff_mode,omitempty"`
	DryRun          bool                `json:"dry_run,omitempty"`
	Timeout         int                 `json:"timeout,omitempty" doc:"Seconds."`
	Notifications   []runs.Notification `json:"notifications,omitempty" doc:"Addresses are masked behind their host, keys whole."`
	CredentialIDs   []string            `json:"credential_ids,omitempty"`
	Queue           string              `json:"queue,omitempty"`
	Priority        int                 `json:"priority,omitempty"`
	RequireApproval bool                `json:"require_approval,omitempty"`
	Labels          map[string]string   `json:"labels,omitempty"`
	Change          string              `json:"change,omitempty"`

	CreatedAt  time.Time  `json:"created_at"`
	QueuedAt   *time.Time `json:"queued_at,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	EndedAt    *time.Time `json:"ended_at,omitempty"`
	DurationMS int64      `json:"duration_ms" doc:"How long it executed, until now for one that has not ended."`

	ExitCode *int           `json:"exit_code,omitempty"`
	Error    string         `json:"error,omitempty"`
	Warnings []runs.Warning `json:"warnings"`
	Outputs  runs.Vars      `json:"outputs,omitempty" doc:"Absent from lists."`

	Source     string      `json:"source"`
	SourceID   string      `json:"source_id,omitempty"`
	Actor      actor.Actor `json:"actor"`
	Commit     string      `json:"commit,omitempty"`
	ParentID   string      `json:"parent_id,omitempty"`
	ShardIndex *int        `json:"shard_index,omitempty"`
	ShardCount int         `json:"shard_count,omitempty"`
	StepName   string      `json:"step_name,omitempty"`
	Attempt    int         `json:"attempt,omitempty"`
	RetryOf    string      `json:"retry_of,omitempty"`
	RerunOf    string      `json:"rerun_of,omitempty"`
	Steps      []StepBody  `json:"steps,omitempty" doc:"A pipeline's steps; absent from lists."`

	HeldBy   *runs.HeldBy   `json:"held_by,omitempty"`
	Decision *runs.Decision `json:"decision,omitempty"`

	Worker          string         `json:"worker,omitempty"`
	LeaseExpiresAt  *time.Time     `json:"lease_expires_at,omitempty"`
	CancelRequested bool           `json:"cancel_requested"`
	Hosts           map[string]int `json:"hosts" doc:"Hosts by worst outcome."`
	HostsTouched    int            `json:"hosts_touched"`
	EventCount      int64          `json:"event_count"`
	LogBytes        int64          `json:"log_bytes"`
	LogOmitted      int64          `json:"log_omitted,omitempty" doc:"Bytes dropped from the middle of the log."`
	AuditReceipt    string         `json:"audit_receipt,omitempty" doc:"The entry of its submission in the audit trail, <seq>:<hex leaf hash>; of a shard or step its parent's. Told of one run that is read or acted on: absent from lists, comparisons and streams, and where there is none."`
}

// StepBody is how far one step of a pipeline has come.
type StepBody struct {
	Name   string `json:"name"`
	Status string `json:"status" doc:"A run's status, or skipped."`
	RunID  string `json:"run_id,omitempty"`
}

// body makes the record's answer. A row of a list leaves out what a list does not carry.
func body(r *runs.Run, now time.Time, row bool) RunBody {
	b := settings(r)
	b.CreatedAt, b.QueuedAt, b.StartedAt, b.EndedAt = r.CreatedAt, when(r.QueuedAt), when(r.StartedAt), when(r.EndedAt)
	b.DurationMS = max(r.Duration(now), 0).Milliseconds()
	b.ExitCode, b.Error, b.Commit = r.ExitCode, r.Error, r.Commit
	b.Warnings = append([]runs.Warning{}, r.Warnings...)
	b.Source, b.SourceID, b.Actor = string(r.Origin.Source), r.Origin.SourceID, r.Actor
	if b.Source == "" {
		b.Source = string(runs.FromAPI)
	}
	b.ParentID, b.StepName, b.Attempt = r.ParentID, r.StepName, r.Attempt
	b.RetryOf, b.RerunOf, b.ShardCount = r.Origin.RetryOf, r.Origin.RerunOf, r.ShardCount
	if r.Kind == runs.Shard {
		b.ShardIndex = &r.ShardIndex
	}
	b.HeldBy, b.Decision, b.Worker, b.CancelRequested = r.HeldBy, r.Decision, r.Worker, r.CancelRequested
	b.LeaseExpiresAt = when(r.LeaseExpiresAt)
	b.Hosts = make(map[string]int, len(r.Hosts))
	for outcome, n := range r.Hosts {
		b.Hosts[string(outcome)] = n
	}
	b.HostsTouched, b.EventCount, b.LogBytes, b.LogOmitted = r.HostsTouched, r.EventCount, r.LogBytes, r.LogOmitted
	if row {
		return b
	}
	b.ExtraVars, b.Outputs, b.Env, b.Steps = r.Vars.Redact(), r.Outputs.Redact(), r.Spec.Env, steps(r.Graph)
	return b
}

func settings(r *runs.Run) RunBody {
	s := r.Spec
	b := RunBody{
		ID: r.ID, Name: r.Name, Kind: string(r.Kind), Status: string(r.Status),
		Tool: s.Tool, Playbook: s.Playbook, Command: s.Command, InventoryID: s.InventoryID, Inventory: s.Inventory,
		ProjectID: s.ProjectID, Shards: s.Shards, Limit: s.Limit, LimitHosts: s.LimitHosts, Tags: s.Tags,
		SkipTags: s.SkipTags, Forks: s.Forks, Verbosity: s.Verbosity, DiffMode: s.DiffMode, DryRun: s.DryRun,
		Timeout: s.TimeoutSeconds, CredentialIDs: s.CredentialIDs, Queue: s.Queue, Priority: s.Priority,
		RequireApproval: s.RequireApproval, Labels: r.Labels, Change: r.Change,
	}
	for _, n := range s.Notifications {
		n.URL = maskURL(n.URL)
		if n.Key != "" {
			n.Key = masked
		}
		b.Notifications = append(b.Notifications, n)
	}
	return b
}

// maskURL keeps of an address what tells where it leads, and hides what makes it a key.
func maskURL(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return masked
	}
	return u.Scheme + "://" + u.Host + "/" + masked
}

func steps(g *runs.Graph) []StepBody {
	if g == nil {
		return nil
	}
	out := make([]StepBody, 0, len(g.Steps))
	for _, s := range g.Steps {
		status := s.Status
		if status == "" {
			status = runs.Pending
		}
		out = append(out, StepBody{Name: s.Name, Status: string(status), RunID: s.RunID})
	}
	return out
}

func rows(list []*runs.Run, now time.Time) []RunBody {
	out := make([]RunBody, 0, len(list))
	for _, r := range list {
		out = append(out, body(r, now, true))
	}
	return out
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
