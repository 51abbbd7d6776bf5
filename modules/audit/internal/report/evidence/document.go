package evidence

import (
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/runs"
)

// Document is the JSON form. Unknown members are absent; lists are always present.
type Document struct {
	Run          Run             `json:"run"`
	Risk         json.RawMessage `json:"risk,omitempty"`
	RequestedBy  Who             `json:"requested_by"`
	Holds        []Hold          `json:"holds"`
	Decisions    []Decision      `json:"decisions"`
	Hosts        []Host          `json:"hosts"`
	HostsOmitted int             `json:"hosts_omitted,omitempty"`
	Tasks        []Task          `json:"tasks"`
	TasksOmitted int             `json:"tasks_omitted,omitempty"`
	Commit       string          `json:"commit,omitempty"`
	// InputsDigest is the digest of the request document from the run's first entry.
	InputsDigest string `json:"inputs_digest,omitempty"`
	LogDigest    string `json:"log_digest,omitempty"`    // sha256:<hex> of the run's output
	EventsDigest string `json:"events_digest,omitempty"` // base64 of the RFC 6962 root over the events
	// Receipts are the run's entries in the trail.
	Receipts        []Entry   `json:"receipts"`
	ReceiptsOmitted bool      `json:"receipts_omitted,omitempty"`
	Anchors         []Anchor  `json:"anchors"`
	GeneratedAt     time.Time `json:"generated_at"`
	KeyID           string    `json:"key_id,omitempty"`
	// Receipt is the signed receipt, byte for byte.
	Receipt  json.RawMessage `json:"receipt,omitempty"`
	Problems []Problem       `json:"problems"`

	last int64 // number of the last element of Receipts
}

// Run is the record of the run with the member names of the API, without the values of variables and without output.
type Run struct {
	ID              string            `json:"id"`
	Name            string            `json:"name,omitempty"`
	Kind            runs.Kind         `json:"kind"`
	Status          runs.Status       `json:"status"`
	Checked         bool              `json:"checked,omitempty"` // a dry run succeeded
	Tool            string            `json:"tool,omitempty"`
	Playbook        string            `json:"playbook,omitempty"`
	Command         string            `json:"command,omitempty"`
	InventoryID     string            `json:"inventory_id,omitempty"`
	Inventory       string            `json:"inventory,omitempty"`
	ProjectID       string            `json:"project_id,omitempty"`
	ExtraVars       map[string]string `json:"extra_vars,omitempty"`
	Env             map[string]string `json:"env,omitempty"`
	Shards          int               `json:"shards,omitempty"`
	Limit           string            `json:"limit,omitempty"`
	LimitHosts      []string          `json:"limit_hosts,omitempty"`
	Tags            []string          `json:"tags,omitempty"`
	SkipTags        []string          `json:"skip_tags,omitempty"`
	Forks           int               `json:"forks,omitempty"`
	DiffMode        bool              `json:"diff_mode,omitempty"`
	DryRun          bool              `json:"dry_run,omitempty"`
	DryRunExecutes  bool              `json:"dry_run_executes,omitempty"`
	Timeout         int               `json:"timeout,omitempty"` // seconds
	CredentialIDs   []string          `json:"credential_ids,omitempty"`
	Queue           string            `json:"queue,omitempty"`
	RequireApproval bool              `json:"require_approval,omitempty"`
	FailOn          []string          `json:"fail_on,omitempty"`
	Locks           []string          `json:"locks,omitempty"`
	ExclusiveHosts  bool              `json:"exclusive_hosts,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Change          string            `json:"change,omitempty"`
	CreatedAt       time.Time         `json:"created_at"`
	QueuedAt        time.Time         `json:"queued_at,omitzero"`
	StartedAt       time.Time         `json:"started_at,omitzero"`
	EndedAt         time.Time         `json:"ended_at,omitzero"`
	DurationMS      int64             `json:"duration_ms"`
	ExitCode        *int              `json:"exit_code,omitempty"`
	Error           string            `json:"error,omitempty"`
	Warnings        []runs.Warning    `json:"warnings"`
	Source          runs.Source       `json:"source,omitempty"`
	SourceID        string            `json:"source_id,omitempty"`
	ParentID        string            `json:"parent_id,omitempty"`
	StepName        string            `json:"step_name,omitempty"`
	Attempt         int               `json:"attempt,omitempty"`
	RetryOf         string            `json:"retry_of,omitempty"`
	RerunOf         string            `json:"rerun_of,omitempty"`
	Worker          string            `json:"worker,omitempty"`
	ToolVersion     string            `json:"tool_version,omitempty"`
	// IsolationProfile was asked for, Isolation is what the processes had.
	IsolationProfile string          `json:"isolation_profile,omitempty"`
	Isolation        runs.Isolation  `json:"isolation,omitzero"`
	HostKeys         []runs.HostKey  `json:"accepted_host_keys,omitempty"`
	Hosts            runs.HostCounts `json:"hosts"`
	HostsTouched     int             `json:"hosts_touched"`
	EventCount       int64           `json:"event_count"`
	LogBytes         int64           `json:"log_bytes"`
	LogOmitted       int64           `json:"log_omitted,omitempty"`
	Parts            []Part          `json:"parts,omitempty"`
}

// Shown returns the status of the run or of one of its parts as readers see it.
func (r *Run) Shown(s runs.Status) string { return s.Shown(r.DryRun) }

// Part is a shard of a split or a step of a pipeline.
type Part struct {
	ID        string      `json:"id"`
	Name      string      `json:"name,omitempty"`
	Status    runs.Status `json:"status"`
	StartedAt time.Time   `json:"started_at,omitzero"`
	EndedAt   time.Time   `json:"ended_at,omitzero"`
	ExitCode  *int        `json:"exit_code,omitempty"`
}

// Who is an actor. The name is absent after its erasure.
type Who struct {
	Type string `json:"type,omitempty"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Hold is a policy that requires a decision.
type Hold struct {
	At      time.Time `json:"at,omitzero"`
	ID      string    `json:"id,omitempty"`
	Name    string    `json:"name,omitempty"`
	Receipt string    `json:"receipt,omitempty"`
}

// Decision is an approval, a rejection or a cancellation by a person.
type Decision struct {
	At      time.Time `json:"at"`
	By      Who       `json:"by"`
	Verdict string    `json:"verdict"` // approved, rejected or canceled
	Reason  string    `json:"reason,omitempty"`
	Receipt string    `json:"receipt,omitempty"` // absent if the trail has no entry
}

// Host is the result of the run on one host.
type Host struct {
	Host        string       `json:"host"`
	Worst       runs.Outcome `json:"worst"`
	OK          int          `json:"ok"`
	Changed     int          `json:"changed"`
	Failed      int          `json:"failed"`
	Unreachable int          `json:"unreachable"`
	Skipped     int          `json:"skipped"`
	Rescued     int          `json:"rescued"`
	Ignored     int          `json:"ignored"`
	DurationMS  int64        `json:"duration_ms"`
}

// Task is the result of one task of the run.
type Task struct {
	Play       string `json:"play,omitempty"`
	Task       string `json:"task"`
	Hosts      int    `json:"hosts"`
	OK         int    `json:"ok"`
	Changed    int    `json:"changed"`
	Failed     int    `json:"failed"`
	Skipped    int    `json:"skipped"`
	DurationMS int64  `json:"duration_ms"`
}

// Entry is an entry of the trail. An entry without an action was changed after it was recorded.
type Entry struct {
	Receipt     string        `json:"receipt"` // <seq>:<leaf hash>
	At          time.Time     `json:"at,omitzero"`
	Action      audit.Action  `json:"action,omitempty"`
	By          Who           `json:"by,omitzero"`
	Object      string        `json:"object,omitempty"` // kind/id
	Outcome     audit.Outcome `json:"outcome,omitempty"`
	DetailsHash string        `json:"details_hash,omitempty"`
}

// Anchor is the newest head of its kind.
type Anchor struct {
	ID     string    `json:"id"`
	Kind   string    `json:"kind"`
	Size   int64     `json:"size"`
	Root   string    `json:"root"` // base64
	MadeAt time.Time `json:"made_at"`
	Source string    `json:"source,omitempty"`
	Covers bool      `json:"covers"` // whether it covers every entry of the run
}

// Problem is a warning that readers need before they trust the rest.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
