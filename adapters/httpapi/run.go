package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// RunsRunBody is the record of a run. Members that are empty are absent, except those that are always known.
type RunsRunBody struct {
	ID     string `json:"id"`
	Name   string `json:"name,omitempty"`
	Kind   string `json:"kind" enum:"single,split,shard,pipeline,step"`
	Status string `json:"status" enum:"pending_approval,pending,running,succeeded,failed,canceled,interrupted,rejected"`

	Checked bool `json:"checked,omitempty" doc:"The run is a dry run that succeeded: it changed nothing."`

	Settings
	TemplateID      string            `json:"template_id,omitempty" doc:"The template that it was launched from, whatever launched it."`
	Env             map[string]string `json:"env,omitempty" doc:"Absent from lists, as extra_vars is."`
	DryRunExecutes  bool              `json:"dry_run_executes,omitempty" doc:"Its template has scripts executed in a dry run."`
	LimitHosts      []string          `json:"limit_hosts,omitempty" doc:"The hosts that a shard, a relaunch or a run with inventory_query is bound to."`
	Priority        int               `json:"priority,omitempty"`
	RequireApproval bool              `json:"require_approval,omitempty"`
	PlanDigest      string            `json:"plan_digest,omitempty" doc:"The digest of the plan that it applies. It is always held, and fails if the plan differs by then."`
	PlannedBy       string            `json:"planned_by,omitempty" doc:"The dry run that reported the plan, of a run that was made from it."`

	CreatedAt  time.Time  `json:"created_at"`
	QueuedAt   *time.Time `json:"queued_at,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	EndedAt    *time.Time `json:"ended_at,omitempty"`
	DurationMS int64      `json:"duration_ms" doc:"How long it executed, until now for one that has not ended."`

	ExitCode *int           `json:"exit_code,omitempty"`
	Error    string         `json:"error,omitempty"`
	Warnings []runs.Warning `json:"warnings"`
	Outputs  runs.Vars      `json:"outputs,omitempty" doc:"Absent from lists."`

	Source     string         `json:"source"`
	SourceID   string         `json:"source_id,omitempty"`
	Actor      actor.Actor    `json:"actor"`
	Commit     string         `json:"commit,omitempty"`
	ParentID   string         `json:"parent_id,omitempty"`
	ShardIndex *int           `json:"shard_index,omitempty"`
	ShardCount int            `json:"shard_count,omitempty"`
	StepName   string         `json:"step_name,omitempty"`
	Attempt    int            `json:"attempt,omitempty"`
	RetryOf    string         `json:"retry_of,omitempty"`
	RerunOf    string         `json:"rerun_of,omitempty"`
	Steps      []RunsStepBody `json:"steps,omitempty" doc:"A pipeline's steps; absent from lists."`

	Risk      *runs.Risk         `json:"risk,omitempty" doc:"What it was graded as when it was submitted; a held step has that of its pipeline. Absent from runs that were made before grading, and from other children."`
	HeldBy    *RunsHeldByBody    `json:"held_by,omitempty" doc:"The first of what holds or held it."`
	Approvals *RunsApprovalsBody `json:"approvals,omitempty" doc:"Absent unless it is or was held."`
	Digest    string             `json:"approval_digest,omitempty" doc:"What it would execute, as the ETag while it is held. Absent from lists."`
	Changed   []string           `json:"changed,omitempty" doc:"What has changed since it was held, so that a decision needs If-Match: credential, drift, hosts, inventory. Absent from lists."`
	Decision  *runs.Decision     `json:"decision,omitempty"`
	Preview   *RunsPreviewBody   `json:"preview,omitempty" doc:"What a dry run of the held run has found. Only in the answer to GET for one run."`

	Worker          string             `json:"worker,omitempty"`
	Isolation       *RunsIsolationBody `json:"isolation,omitempty" doc:"What its processes really had; absent until it has ended, and if its executor did not report it."`
	LeaseExpiresAt  *time.Time         `json:"lease_expires_at,omitempty"`
	ToolVersion     string             `json:"tool_version,omitempty" doc:"The version of Ansible that executed it. Absent for other tools, and if Ansible ended before the first play."`
	HostKeys        []runs.HostKey     `json:"accepted_host_keys,omitempty" doc:"The keys of hosts that were not known and that it accepted. Absent from lists."`
	CancelRequested bool               `json:"cancel_requested"`
	Canceled        *runs.Cancellation `json:"canceled,omitempty" doc:"Who asked first to cancel it, and when. Absent from runs that were canceled before this was kept."`
	Hosts           map[string]int     `json:"hosts" doc:"Hosts by worst outcome."`
	HostsTouched    int                `json:"hosts_touched"`
	EventCount      int64              `json:"event_count"`
	LogBytes        int64              `json:"log_bytes"`
	LogOmitted      int64              `json:"log_omitted,omitempty" doc:"Bytes dropped from the middle of the log."`
	AuditReceipt    string             `json:"audit_receipt,omitempty" doc:"The entry of its submission in the audit trail, <seq>:<hex leaf hash>; of a shard or step its parent's. Present in the answers for one run: absent from lists, comparisons and streams, and if there is none."`
}

// RunsIsolationBody is the isolation of a run's processes from its executor and from other runs.
type RunsIsolationBody struct {
	Level   string `json:"level" enum:"namespaces,users,landlock,none"`
	Profile string `json:"profile"`
}

// RunsStepBody is the state of one step of a pipeline.
type RunsStepBody struct {
	Name   string `json:"name"`
	Status string `json:"status" doc:"A run's status, or skipped."`
	RunID  string `json:"run_id,omitempty"`
}

// RunRecord makes the answer about one run at the current time.
func RunRecord(r *runs.Run, now time.Time) RunsRunBody {
	b := RunRow(r, now)
	b.ExtraVars, b.Outputs, b.Env, b.Steps = r.Vars.Redact(), r.Outputs.Redact(), r.Spec.Env, stepsOf(r.Graph)
	b.HostKeys = r.AcceptedHostKeys
	b.Preview = previewOf(r.Preview)
	return b
}

// RunRow makes a row of a list, without the members that lists omit.
func RunRow(r *runs.Run, now time.Time) RunsRunBody {
	b := settings(r)
	b.CreatedAt, b.QueuedAt, b.StartedAt, b.EndedAt = r.CreatedAt, When(r.QueuedAt), When(r.StartedAt), When(r.EndedAt)
	b.DurationMS = max(r.Duration(now), 0).Milliseconds()
	b.ExitCode, b.Error, b.Commit = r.ExitCode, r.Error, r.Commit
	b.Warnings = append([]runs.Warning{}, r.Warnings...)
	b.Source, b.SourceID, b.Actor = string(r.Origin.Source), r.Origin.SourceID, r.Actor
	b.Source = cmp.Or(b.Source, string(runs.FromAPI))
	b.ParentID, b.StepName, b.Attempt = r.ParentID, r.StepName, r.Attempt
	b.RetryOf, b.RerunOf, b.ShardCount = r.Origin.RetryOf, r.Origin.RerunOf, r.ShardCount
	if r.Kind == runs.Shard {
		b.ShardIndex = &r.ShardIndex
	}
	b.Decision, b.Worker = r.Decision, execution.ShownName(r.Worker)
	b.CancelRequested, b.Canceled = r.CancelRequested, r.Canceled
	b.hold(r)
	b.LeaseExpiresAt, b.ToolVersion = When(r.LeaseExpiresAt), r.ToolVersion
	if r.Isolation.Level != "" {
		b.Isolation = &RunsIsolationBody{Level: r.Isolation.Level, Profile: r.Isolation.Profile}
	}
	b.Hosts = countsOf(r.Hosts)
	b.HostsTouched, b.EventCount, b.LogBytes, b.LogOmitted = r.HostsTouched, r.EventCount, r.LogBytes, r.LogOmitted
	return b
}

func settings(r *runs.Run) RunsRunBody {
	b := RunsRunBody{
		ID: r.ID, Name: r.Name, Kind: string(r.Kind), Status: string(r.Status), Checked: r.Checked(),
		Settings:       ShowSettings(&r.Spec),
		TemplateID:     r.Spec.TemplateID,
		DryRunExecutes: r.Spec.DryRunExecutes,
		LimitHosts:     r.Spec.LimitHosts, Priority: r.Spec.Priority, RequireApproval: r.Spec.RequireApproval,
	}
	b.Labels, b.Change = r.Labels, r.Change
	if b.PlanDigest = r.Spec.PlanDigest; r.Origin.Source == runs.FromPlan {
		b.PlannedBy = r.Origin.SourceID
	}
	return b
}

func stepsOf(g *runs.Graph) []RunsStepBody {
	if g == nil {
		return nil
	}
	out := make([]RunsStepBody, 0, len(g.Steps))
	for _, s := range g.Steps {
		status := cmp.Or(s.Status, runs.Pending)
		out = append(out, RunsStepBody{Name: s.Name, Status: string(status), RunID: s.RunID})
	}
	return out
}

// When returns the time of a body, nil for the zero one, which is absent there.
func When(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// maxKey is how long an idempotency key may be.
const maxKey = 255

// Idempotency makes a client's Idempotency-Key from its value, the operation and the body of the request. It is nil if
// the client sent none. of is the part of the path that identifies the object of the request. A key over 255 bytes is
// an Invalid fault.
func Idempotency(ctx context.Context, value, scope string, of ...string) (*runs.Idempotency, error) {
	if value == "" {
		return nil, nil
	}
	if len(value) > maxKey {
		return nil, fault.BadField("Idempotency-Key", "is longer than %d bytes", maxKey)
	}
	digest := BodyDigest(ctx)
	for _, part := range of {
		// Both digests have a fixed length, so that no two requests come to the same bytes.
		sum := sha256.Sum256([]byte(part))
		digest = sha256.Sum256(append(sum[:], digest[:]...))
	}
	return &runs.Idempotency{Key: value, Scope: scope, Digest: digest}, nil
}

// RunOutput answers with a run.
type RunOutput struct {
	ETag string `header:"ETag"`
	Body RunsRunBody
}

// NewRunOutput answers with a run that was made.
type NewRunOutput struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Replay   string `header:"Idempotent-Replay"`
	Body     RunsRunBody
}

// RunAnswers makes the answers of operations on runs, for every context that has some.
type RunAnswers struct {
	Trail audit.Trail // nil omits audit_receipt
	Clock clock.Clock
}

// Receipt returns the receipt of the run's submission, empty if there is none. For a shard or a step it is the receipt
// of the parent. Errors are those of the trail.
func (a RunAnswers) Receipt(ctx context.Context, run *runs.Run) (string, error) {
	if a.Trail == nil {
		return "", nil
	}
	id := run.ID
	if run.ParentID != "" {
		id = run.ParentID
	}
	r, ok, err := a.Trail.ReceiptOf(ctx, id)
	if err != nil || !ok {
		return "", err
	}
	return r.String(), nil
}

// done makes the answer to a change that was made. If the trail cannot be read, the answer is still a success: an error
// would mean that nothing was done.
func (a RunAnswers) done(ctx context.Context, run *runs.Run) RunsRunBody {
	b := RunRecord(run, a.Clock.Now())
	if receipt, err := a.Receipt(ctx, run); err == nil {
		b.AuditReceipt = receipt
	}
	return b
}

// RunTag returns the ETag of a run. That of a held run is what a decision is about, and stays while approvals are
// given.
func RunTag(r *runs.Run) string {
	if a := r.Approvals; a != nil && a.Current != nil {
		return `"` + a.Current.Digest() + `"`
	}
	return ETag(r.Revision)
}

// Changed answers a call that changed a run, or returns its err.
func (a RunAnswers) Changed(ctx context.Context, run *runs.Run, err error) (*RunOutput, error) {
	if err != nil {
		return nil, err
	}
	return &RunOutput{ETag: RunTag(run), Body: a.done(ctx, run)}, nil
}

// Created answers a call that made a run, or returns its err. replayed means that an earlier request made it.
func (a RunAnswers) Created(ctx context.Context, run *runs.Run, replayed bool, err error) (*NewRunOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &NewRunOutput{Location: "/v1/runs/" + run.ID, ETag: RunTag(run)}
	if receipt, ok := audit.CollectorOf(ctx).OfRun(run.ID); ok && !replayed {
		out.Body = RunRecord(run, a.Clock.Now())
		out.Body.AuditReceipt = receipt.String()
	} else {
		out.Body = a.done(ctx, run)
	}
	if replayed {
		out.Replay = "true"
	}
	return out, nil
}
