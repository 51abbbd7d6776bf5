package estate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Confidence is how sure it is that a resource drifts.
type Confidence string

// ConfidentDiff is a difference that the dry run showed. ConfidentPredicted is a change that was predicted without one.
// ConfidentNone is a change that a dry run predicted again right after a real run had made it: the task may always
// report a change.
const (
	ConfidentDiff      Confidence = "diff"
	ConfidentPredicted Confidence = "predicted"
	ConfidentNone      Confidence = "none"
)

// Confidences returns all of them, the surest first.
func Confidences() []Confidence {
	return []Confidence{ConfidentDiff, ConfidentPredicted, ConfidentNone}
}

// FeatureReconcile is the licensed feature of Drift.Reconcile.
const FeatureReconcile = "drift_reconcile"

// Bounds of findings. Of a finding with a larger diff, and of those of a run beyond MaxDiffs, the diff is in the run
// alone.
const (
	MaxDiff     = 16 << 10
	MaxDiffs    = 32 << 20
	MaxResource = 1024
)

// KeepUnchecked is how long findings of a target, or of a host of a target, are kept that no dry run checks any more.
const KeepUnchecked = 90 * 24 * time.Hour

// Target is what is compared with a fleet: a playbook of a template, or of a project, with an inventory.
type Target struct {
	ID          string // a digest of the rest, and of the text of an inventory that is not stored
	TemplateID  string
	ProjectID   string
	Playbook    string // for a plan, the name of what is planned
	InventoryID string
}

// TargetOf returns what a run of a playbook is compared with. A shard or a step has its own settings.
func TargetOf(s *runs.Spec) Target {
	t := Target{TemplateID: s.TemplateID, ProjectID: s.ProjectID, Playbook: s.Playbook, InventoryID: s.InventoryID}
	parts := []string{t.TemplateID, t.ProjectID, t.Playbook, t.InventoryID}
	if t.InventoryID == "" {
		parts = append(parts, s.Inventory)
	}
	t.ID = "tgt_" + digest(parts...)
	return t
}

// PlannedTarget returns what a run with a plan is compared with: of is a digest of what is planned, and name is for
// people.
func PlannedTarget(s *runs.Spec, of, name string) Target {
	return Target{ID: "tgt_" + digest("plan", of), TemplateID: s.TemplateID, ProjectID: s.ProjectID, Playbook: name,
		InventoryID: s.InventoryID}
}

// digest returns a short digest of texts, each with its length.
func digest(parts ...string) string {
	sum := sha256.Sum256(must(json.Marshal(parts)))
	return hex.EncodeToString(sum[:16])
}

// must drops the error of an encoding of texts, which has none.
func must(b []byte, _ error) []byte { return b }

// Finding is a resource of a host that a task of a target would change.
type Finding struct {
	ID   string
	Host string
	Target
	// Key names the task and the resource, and Task the task. They stay when the task moves within its file.
	Key, Task string
	// Resource is the module and what it manages: a path or a name, else the task, and the item of a loop.
	Resource string
	// Tasks has the task, as "role : task", and the handlers that it would notify. Path is its file and line.
	Tasks      []string
	Path       string
	Diff       json.RawMessage // masked and capped
	Confidence Confidence
	RunID      string    // of the newest dry run that found it
	CheckedAt  time.Time // by a dry run that found it, or that could not tell
	FirstSeen  time.Time
	LastSeen   time.Time
	// Unconfirmed means that a later dry run could not tell whether it drifts still.
	Unconfirmed bool
	// ReconcileRunID is the newest run that was made to repair it, empty for none.
	ReconcileRunID string
}

// TaskKey names a task by the file that has it, without the line, and its name.
func TaskKey(path, name string) string {
	file, _, _ := strings.Cut(path, ":")
	return digest(file, name)
}

// FindingKey names a resource of a task.
func FindingKey(task, resource string) string { return digest(task, resource) }

// HostDrift counts, of the newest dry runs on a host, the tasks that were checked and those that could not be: so that
// no drift is only known of what was checked. Drifted counts the findings that are listed.
type HostDrift struct {
	Host                      string
	Checked, Drifted, Unknown int
	CheckedAt                 time.Time
}

// DriftQuery selects findings.
type DriftQuery struct {
	Host, Target string // empty for any
	// ReconcileRunID selects those that a run was made to repair, empty for any.
	ReconcileRunID string
	page.Window
}

// DriftPage is a page of findings, by host and resource. Ignored counts those that a rule leaves out of the selection.
// Withheld counts those, of any host and target, whose run the caller may not read.
type DriftPage struct {
	Findings []Finding
	Total    int
	// Coverage has the hosts that dry runs reached, by name: a page of them, by the same window.
	Coverage []HostDrift
	// Hosts counts those that dry runs reached, which does not mean that they could check a task there. Drifting counts
	// the hosts with findings that no rule leaves out, and Clean those of which something was checked, nothing is unknown
	// and nothing drifts. Checked and Unknown are the sums of their tasks. All are of the selected host and target.
	Hosts, Drifting, Clean int
	Checked, Unknown       int
	Ignored                int
	Withheld               int
}

// DriftCounts are numbers of all drift: the findings, and the hosts as in DriftPage. Rules leave nothing out, since who
// writes one may not read everything, and would learn from the numbers what it fits.
type DriftCounts struct {
	Findings               map[Confidence]int64 // a confidence without findings may be absent
	Hosts, Drifting, Clean int
}

// Drift answers what differs from what should be, and repairs it.
type Drift interface {
	Drift(ctx context.Context, q DriftQuery) (DriftPage, error)
	// Reconcile makes a held run of the newest dry run that found drift of a host and a target, limited to the host, and
	// bound to the findings of this dry run that the caller may read. With an empty target the host must have findings of
	// only one. Errors: Unlicensed; HostNotFound; NoDrift; Reconciling, which names the run; Invalid faults name the
	// field; those of runs.Reconciler.
	Reconcile(ctx context.Context, host, target string) (*runs.Run, error)
}

// TaskState is the result of a task on a host, as drift needs it.
type TaskState uint8

// The states. Only Known clears what was found before; a dry run that leaves a finding without it makes it unconfirmed.
const (
	Untold  TaskState = iota // not reached, or skipped since it does not apply
	Known                    // checked; in a real run: it is as it should be now
	Unknown                  // skipped by the check mode, failed, or done in spite of it
)

// HostCheck is the result of a run on a host.
type HostCheck struct {
	Host string
	At   time.Time // of the last result
	// States are those of Checked.Tasks, and may be fewer.
	States           []TaskState
	Checked, Unknown int // tasks
	// Changed are the tasks of which a real run changed something, of Checked.Tasks.
	Changed  []int
	Findings []Finding
	// Whole means that the host reached the end of a run of every task, so that a task which is not in Checked.Tasks is
	// no part of the target any more.
	Whole bool
}

// Checked is the result of a run of a target on its hosts.
type Checked struct {
	Run    *runs.Run
	Target Target
	// Real is a run that is no dry run: it clears what it repaired and finds nothing.
	Real bool
	// Partial is a run of some tags, which tells nothing about tasks that it has not reached.
	Partial bool
	// AllHosts is a dry run of every task on every host. Inventory has the hosts of its stored inventory then, nil if
	// there is none. A host that neither the run nor its stored inventory has is no part of the target any more.
	AllHosts  bool
	Inventory []string
	Tasks     []string // their keys
	Hosts     []HostCheck
}

// DriftStore keeps findings.
type DriftStore interface {
	// Apply stores the result of a run, in a unit. Of a host that was told of a later instant already it changes nothing.
	// It returns the findings that are new.
	Apply(ctx context.Context, c Checked, now time.Time) ([]Finding, error)
	// Drifting reports whether a target has findings, so that a real run need be read. It locks the target until the
	// unit ends.
	Drifting(ctx context.Context, target string) (bool, error)
	// Findings returns the findings that the reader may read and no active rule leaves out.
	Findings(ctx context.Context, q DriftQuery, reader access.Scope, now time.Time) (DriftPage, error)
	// Counts returns the numbers that a reader of everything finds without rules, for metrics.
	Counts(ctx context.Context) (DriftCounts, error)
	// Bind stores that a run was made to repair findings, in a unit.
	Bind(ctx context.Context, runID string, findings []string) error
	runs.Repairs
}
