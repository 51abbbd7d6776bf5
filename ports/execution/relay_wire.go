package execution

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// The bodies of the relay's calls, in their JSON form. Both ends of the relay use them.

// CapabilityHeader is the header that proves, in every report, which worker holds the run.
const CapabilityHeader = "Relay-Capability"

// HeadHeader is the header of every answer to a claim with the newest signed head, in base64.
const HeadHeader = "Audit-Head"

// RelayPeer is a worker's description of itself.
type RelayPeer struct {
	Name      string            `json:"name"`
	Version   string            `json:"version,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Executors int               `json:"executors"` // 0: the worker ends and is removed from the list
	Isolation WorkerIsolation   `json:"isolation,omitzero"`
	// Installs says that the worker installs the requirements of projects that the server leaves to it.
	Installs bool `json:"installs_requirements,omitempty"`
}

// RelayClaim requests a run.
type RelayClaim struct {
	Worker      RelayPeer `json:"worker"`
	Queues      []string  `json:"queues,omitempty"` // none: only the default queue
	WaitSeconds int       `json:"wait_seconds,omitempty"`
	Heads       []string  `json:"heads,omitempty"` // signed heads stored by the worker, as notes
	// With Cancels the claim requests no run: it is answered when a cancel is requested for a run that the worker
	// holds. Canceling lists the runs whose cancel the worker has received.
	Cancels   bool     `json:"cancels,omitempty"`
	Canceling []string `json:"canceling,omitempty"`
	// With Work the claim requests work beside runs: the refresh of an inventory source.
	Work bool `json:"work,omitempty"`
}

// RelayRun is a run with the members for its executor.
type RelayRun struct {
	ID       string      `json:"id"`
	Name     string      `json:"name,omitempty"`
	Kind     runs.Kind   `json:"kind"`
	Status   runs.Status `json:"status"`
	ParentID string      `json:"parent_id,omitempty"`
	runs.Spec
	ExtraVars       runs.Vars         `json:"extra_vars,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Change          string            `json:"change,omitempty"`
	Commit          string            `json:"commit,omitempty"`
	Worker          string            `json:"worker,omitempty"`
	Epoch           int64             `json:"epoch"`
	Begun           bool              `json:"begun"`
	CancelRequested bool              `json:"cancel_requested"`
	CreatedAt       time.Time         `json:"created_at"`
	StartedAt       *time.Time        `json:"started_at,omitempty"`
	EndedAt         *time.Time        `json:"ended_at,omitempty"`
	LogBytes        int64             `json:"log_bytes"`
	LogOmitted      int64             `json:"log_omitted,omitempty"`
	NextSeq         int64             `json:"next_seq,omitempty"` // of the next event; set at the claim
}

// NewRelayRun makes the body of a run. It omits the notification targets: a worker sends no notifications.
func NewRelayRun(r *runs.Run) RelayRun {
	out := RelayRun{
		ID: r.ID, Name: r.Name, Kind: r.Kind, Status: r.Status, ParentID: r.ParentID, Spec: r.Spec, ExtraVars: r.Vars,
		Labels: r.Labels,
		Change: r.Change, Commit: r.Commit, Worker: r.Worker, Epoch: r.Epoch, Begun: r.Begun,
		CancelRequested: r.CancelRequested,
		CreatedAt:       r.CreatedAt, StartedAt: instant(r.StartedAt), EndedAt: instant(r.EndedAt), LogBytes: r.LogBytes,
		LogOmitted: r.LogOmitted,
	}
	out.Notifications = nil
	return out
}

// Record returns the run of a body.
func (r *RelayRun) Record() *runs.Run {
	return &runs.Run{
		ID: r.ID, Name: r.Name, Kind: r.Kind, Status: r.Status, ParentID: r.ParentID, Spec: r.Spec, Vars: r.ExtraVars,
		Labels: r.Labels,
		Change: r.Change, Commit: r.Commit, Worker: r.Worker, Epoch: r.Epoch, Begun: r.Begun,
		CancelRequested: r.CancelRequested,
		CreatedAt:       r.CreatedAt, StartedAt: moment(r.StartedAt), EndedAt: moment(r.EndedAt), LogBytes: r.LogBytes,
		LogOmitted: r.LogOmitted,
	}
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// RelayGrant answers a claim with a run, with the runs of the worker whose cancel was requested, or with work.
type RelayGrant struct {
	Run             RelayRun      `json:"run,omitzero"`
	Capability      string        `json:"capability,omitempty"`
	LeaseSeconds    int           `json:"lease_seconds,omitempty"`
	Secrets         *RelaySecrets `json:"secrets,omitempty"`
	CancelRequested []string      `json:"cancel_requested,omitempty"`
	Work            *RelayWork    `json:"work,omitempty"`
	// Requirements is there if the worker has to install those of the run's project.
	Requirements *RelayRequirements `json:"requirements,omitempty"`
	// PoliciesETag is the ETag of the policies in force, beside a run.
	PoliciesETag string `json:"policies_etag,omitempty"`
}

// RelayRequirements is the repository of a project, whose login is also for requirements on the same server. It
// contains secrets in the clear: it is made right before it is sent, and never stored.
type RelayRequirements struct {
	URL      string `json:"url,omitempty"` // empty for a repository on the server's machine
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	Key      string `json:"key,omitempty"`
}

// NewRelayRequirements reveals a login for its worker. It returns nil for nil.
func NewRelayRequirements(r *catalog.Repository) *RelayRequirements {
	if r == nil {
		return nil
	}
	out := RelayRequirements{Username: r.Login.Username, Password: r.Login.Password.Reveal(), Key: r.Login.Key.Reveal()}
	if !strings.HasPrefix(r.URL, "/") && !strings.HasPrefix(strings.ToLower(r.URL), "file:") {
		out.URL = r.URL
	}
	return &out
}

// Repository returns the repository of a body.
func (r *RelayRequirements) Repository(projectID string) catalog.Repository {
	return catalog.Repository{ProjectID: projectID, URL: r.URL, Login: catalog.Login{Username: r.Username,
		Password: secret.Text(r.Password), Key: secret.Text(r.Key)}}
}

// RelayBeatOf requests the renewal of a run's lease.
type RelayBeatOf struct {
	RunID string `json:"run_id"`
}

// RelayBeat answers a heartbeat.
type RelayBeat struct {
	LeaseSeconds    int  `json:"lease_seconds"`
	CancelRequested bool `json:"cancel_requested"`
}

// RelaySave changes the state of a run. Running begins it, and must be answered before a process is started; pending
// releases a run that did not begin; succeeded, failed, canceled or interrupted ends it, after everything else of it
// was reported.
type RelaySave struct {
	Status    runs.Status    `json:"status"`
	ExitCode  *int           `json:"exit_code,omitempty"`
	Error     string         `json:"error,omitempty"`
	Warnings  []runs.Warning `json:"warnings,omitempty"`
	Outputs   runs.Vars      `json:"outputs,omitempty"`
	Commit    string         `json:"commit,omitempty"`
	Version   string         `json:"tool_version,omitempty"`
	StartedAt *time.Time     `json:"started_at,omitempty"`
	EndedAt   *time.Time     `json:"ended_at,omitempty"`
	LogBytes  int64          `json:"log_bytes,omitempty"`
	LogSHA256 string         `json:"log_sha256,omitempty"`
	Isolation runs.Isolation `json:"isolation,omitzero"`
	HostKeys  []runs.HostKey `json:"accepted_host_keys,omitempty"` // at most runs.MaxHostKeys
}

// RelayDivision divides a running split over hosts.
type RelayDivision struct {
	Hosts    []string       `json:"hosts"`
	Warnings []runs.Warning `json:"warnings,omitempty"`
}

// NewRelaySave makes the body of an ending, without the data that is reported before it.
func NewRelaySave(e *runs.Ending) RelaySave {
	return RelaySave{
		Status: e.Status, ExitCode: e.ExitCode, Error: e.Error, Warnings: e.Warnings, Outputs: e.Outputs, Commit: e.Commit,
		Version: e.ToolVersion, StartedAt: instant(e.StartedAt), EndedAt: instant(e.EndedAt), LogBytes: e.LogBytes,
		LogSHA256: e.LogSHA256, Isolation: e.Isolation, HostKeys: e.AcceptedHostKeys,
	}
}

// Ending returns the ending of a body. It has no counts: they are computed from the stored results.
func (s *RelaySave) Ending() runs.Ending {
	return runs.Ending{
		Status: s.Status, ExitCode: s.ExitCode, Error: s.Error, Warnings: s.Warnings, Outputs: s.Outputs, Commit: s.Commit,
		ToolVersion: s.Version, StartedAt: moment(s.StartedAt), EndedAt: moment(s.EndedAt), LogBytes: s.LogBytes,
		LogSHA256: s.LogSHA256, Isolation: s.Isolation, AcceptedHostKeys: s.HostKeys,
	}
}

// RelayLog contains output at its offset; Data is base64 in JSON.
type RelayLog struct {
	Offset int64  `json:"offset"`
	Data   []byte `json:"data,omitempty"`
}

// RelayOffset returns the offset where the output ends.
type RelayOffset struct {
	NextOffset int64 `json:"next_offset"`
}

// RelayEvents contains events with their sequence numbers. An empty list requests the next number.
type RelayEvents struct {
	Events []runs.Event `json:"events"`
}

// RelaySeq returns the sequence number of the next event.
type RelaySeq struct {
	NextSeq int64 `json:"next_seq"`
}

// RelayPlanned names the held run that applies a plan, empty for none.
type RelayPlanned struct {
	RunID string `json:"run_id"`
}

// RelayHost is a run's result on a host.
type RelayHost struct {
	Host        string       `json:"host"`
	OK          int          `json:"ok,omitempty"`
	Changed     int          `json:"changed,omitempty"`
	Failed      int          `json:"failed,omitempty"`
	Unreachable int          `json:"unreachable,omitempty"`
	Skipped     int          `json:"skipped,omitempty"`
	Rescued     int          `json:"rescued,omitempty"`
	Ignored     int          `json:"ignored,omitempty"`
	Worst       runs.Outcome `json:"worst"`
	DurationMS  int64        `json:"duration_ms,omitempty"`
}

// RelayHostList contains hosts.
type RelayHostList struct {
	Hosts []RelayHost `json:"hosts"`
}

// NewRelayHosts makes the body of hosts.
func NewRelayHosts(hosts []runs.HostSummary) RelayHostList {
	out := RelayHostList{Hosts: make([]RelayHost, 0, len(hosts))}
	for _, h := range hosts {
		out.Hosts = append(out.Hosts, RelayHost{
			Host: h.Host, OK: h.OK, Changed: h.Changed, Failed: h.Failed, Unreachable: h.Unreachable, Skipped: h.Skipped,
			Rescued: h.Rescued, Ignored: h.Ignored, Worst: h.Worst, DurationMS: h.Duration.Milliseconds(),
		})
	}
	return out
}

// Summaries returns the hosts of a body.
func (l *RelayHostList) Summaries() []runs.HostSummary {
	out := make([]runs.HostSummary, 0, len(l.Hosts))
	for _, h := range l.Hosts {
		out = append(out, runs.HostSummary{
			Host: h.Host, OK: h.OK, Changed: h.Changed, Failed: h.Failed, Unreachable: h.Unreachable, Skipped: h.Skipped,
			Rescued: h.Rescued, Ignored: h.Ignored, Worst: h.Worst, Duration: millis(h.DurationMS),
		})
	}
	return out
}

// RelayTask is a run's result in one task.
type RelayTask struct {
	Index      int    `json:"index,omitempty"`
	TaskID     string `json:"task_id,omitempty"`
	Play       string `json:"play,omitempty"`
	Task       string `json:"task"`
	OK         int    `json:"ok,omitempty"`
	Changed    int    `json:"changed,omitempty"`
	Failed     int    `json:"failed,omitempty"`
	Skipped    int    `json:"skipped,omitempty"`
	Hosts      int    `json:"hosts,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	MeanMS     int64  `json:"mean_ms,omitempty"`
	MaxMS      int64  `json:"max_ms,omitempty"`
}

// RelayTaskList contains tasks.
type RelayTaskList struct {
	Tasks []RelayTask `json:"tasks"`
}

// NewRelayTasks makes the body of tasks.
func NewRelayTasks(tasks []runs.TaskSummary) RelayTaskList {
	out := RelayTaskList{Tasks: make([]RelayTask, 0, len(tasks))}
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, RelayTask{
			Index: t.Index, TaskID: t.TaskID, Play: t.Play, Task: t.Task, OK: t.OK, Changed: t.Changed, Failed: t.Failed,
			Skipped: t.Skipped,
			Hosts:   t.Hosts, DurationMS: t.Duration.Milliseconds(), MeanMS: t.Mean.Milliseconds(), MaxMS: t.Max.Milliseconds(),
		})
	}
	return out
}

// Summaries returns the tasks of a body.
func (l *RelayTaskList) Summaries() []runs.TaskSummary {
	out := make([]runs.TaskSummary, 0, len(l.Tasks))
	for _, t := range l.Tasks {
		out = append(out, runs.TaskSummary{
			Index: t.Index, TaskID: t.TaskID, Play: t.Play, Task: t.Task, OK: t.OK, Changed: t.Changed, Failed: t.Failed,
			Skipped: t.Skipped,
			Hosts:   t.Hosts, Duration: millis(t.DurationMS), Mean: millis(t.MeanMS), Max: millis(t.MaxMS),
		})
	}
	return out
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// RelayFacts are the facts of one host.
type RelayFacts struct {
	Host       string          `json:"host"`
	GatheredAt time.Time       `json:"gathered_at"`
	Facts      json.RawMessage `json:"facts"`
}

// RelayFactsList contains facts.
type RelayFactsList struct {
	Facts []RelayFacts `json:"facts"`
}

// NewRelayFacts makes the body of facts.
func NewRelayFacts(facts []runs.HostFacts) RelayFactsList {
	out := RelayFactsList{Facts: make([]RelayFacts, 0, len(facts))}
	for _, f := range facts {
		out.Facts = append(out.Facts, RelayFacts(f))
	}
	return out
}

// Gathered returns the facts of a body.
func (l *RelayFactsList) Gathered() []runs.HostFacts {
	out := make([]runs.HostFacts, 0, len(l.Facts))
	for _, f := range l.Facts {
		out = append(out, runs.HostFacts(f))
	}
	return out
}

// RelayInventory is an inventory for a run.
type RelayInventory struct {
	Content []byte `json:"content"` // base64
	Format  string `json:"format"`
	// KnownHosts are the keys of hosts that the run begins with, in base64; without any it begins with those of the
	// worker's account. A policy that a worker does not know is the strict one.
	KnownHosts    []byte                `json:"known_hosts,omitempty"`
	HostKeyPolicy catalog.HostKeyPolicy `json:"host_key_policy,omitempty"`
	// Warnings are for the run, of the kind that catalog.Materials gives.
	Warnings []runs.Warning `json:"warnings,omitempty"`
}
