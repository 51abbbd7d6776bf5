package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/plaintext"
)

// The faults of plans. RunNotPlanned is the report of a plan by a run that is no dry run, PlanConflict a second plan of
// the same run.
var (
	PlanNotFound  = fault.Code{Name: "plan_not_found", Kind: fault.NotFound}
	PlanConflict  = fault.Code{Name: "plan_conflict", Kind: fault.Conflict}
	RunNotPlanned = fault.Code{Name: "run_not_dry_run", Kind: fault.Conflict}
)

// Plan is what a dry run of a tool found that it would change. Its texts are masked.
type Plan struct {
	Summary  string        `json:"summary"`
	Digest   string        `json:"digest"`
	Findings []PlanFinding `json:"findings"`
}

// PlanFinding is a resource that a plan would change. Diff is text, empty for none.
type PlanFinding struct {
	Resource string `json:"resource"`
	Action   string `json:"action"`
	Diff     string `json:"diff,omitempty"`
}

// Check returns an Invalid fault that names the first member that exceeds a bound of package extension or is no text.
func (p *Plan) Check() error {
	switch {
	case !extension.ValidPlanDigest(p.Digest):
		return fault.BadField("digest", "expected 1 to 128 letters, digits and the signs : . _ - + / =")
	case len(p.Findings) > extension.PlanFindings:
		return fault.BadField("findings", "has more than %d members", extension.PlanFindings)
	}
	if err := planLine("summary", p.Summary, true); err != nil {
		return err
	}
	size := len(p.Summary)
	for i := range p.Findings {
		f, at := &p.Findings[i], fmt.Sprintf("findings[%d].", i)
		if err := planLine(at+"resource", f.Resource, false); err != nil {
			return err
		}
		if err := planLine(at+"action", f.Action, false); err != nil {
			return err
		}
		if !plainText(f.Diff, true) {
			return fault.BadField(at+"diff", "expected text without "+unseen)
		}
		if size += len(f.Resource) + len(f.Action) + len(f.Diff); size > extension.PlanSize {
			return fault.BadField(at+"diff", "the texts have more than %d bytes together", extension.PlanSize)
		}
	}
	return nil
}

// unseen names what no text of a plan has.
const unseen = "control characters and those that hide or reorder others"

func planLine(at, s string, empty bool) error {
	if s == "" && !empty || len(s) > extension.PlanText || !plainText(s, false) {
		return fault.BadField(at, "expected a line of at most %d bytes without %s", extension.PlanText, unseen)
	}
	return nil
}

// plainText reports whether CleanPlanText leaves a text as it is.
func plainText(s string, lines bool) bool { return CleanPlanText(s, lines) == s }

// CleanPlanText returns a text as plans have it: UTF-8 in which U+FFFD stands for control characters and for those that
// hide or reorder others, since people decide by what they see. Line feeds and tabs stay in a text of several lines.
func CleanPlanText(s string, lines bool) string {
	s = plaintext.Lines(s, unicode.ReplacementChar)
	if !lines {
		s = strings.NewReplacer("\n", "\ufffd", "\t", "\ufffd").Replace(s)
	}
	return s
}

// Plannable reports whether dry runs of the tool may have plans: those of built-in tools have none.
func (s *Spec) Plannable() bool { return !slices.Contains(extension.BuiltinTools(), s.Tool) }

// StoredPlan is the plan of a run: of a dry run that reported it, or of a run that applies it.
type StoredPlan struct {
	Plan
	RunID string
	// Target is a digest of what is planned: runs with the same settings have the same target.
	Target string
	// PlannedBy is the dry run that reported the plan, empty for that run itself.
	PlannedBy string
	// ApplyID is the run that applies the plan, empty for none.
	ApplyID string
	// At is when the dry run reported it.
	At time.Time
}

// Planner takes the plans of dry runs.
type Planner interface {
	// ProposeApply stores the plan of a running dry run and makes the run that applies it, which is held. It returns the
	// id of that run. A held run that applies a plan of the same target with the same digest is that run; others of the
	// target are rejected. The id is empty for a plan without findings, for a run that a policy denies, of which the dry
	// run has a warning, for the preview of a held run, which replaces nothing, and if a server makes the run later. A
	// repetition with the same digest returns the same run.
	// Errors: LeaseLost; RunNotPlanned; PlanConflict for another digest; Invalid faults name the member.
	ProposeApply(ctx context.Context, l Lease, p Plan) (runID string, err error)
}

// PlanTargets tells runs apart by what they work on.
type PlanTargets interface {
	// PlanTarget returns what StoredPlan.Target of a plan of the run is, or would be.
	PlanTarget(r *Run) (string, error)
}

// Plans shows plans.
type Plans interface {
	// Plan returns the plan of a run. Errors: RunNotFound also for a run that the caller may not read, PlanNotFound.
	Plan(ctx context.Context, runID string) (*StoredPlan, error)
}

// PlanStore stores plans. Writes join the unit of ctx. Plans are deleted with their runs.
type PlanStore interface {
	// PutPlan stores the plan of a run that has none.
	PutPlan(ctx context.Context, p *StoredPlan) error
	// PlanOf returns the plan of a run, or PlanNotFound.
	PlanOf(ctx context.Context, runID string) (*StoredPlan, error)
	// LinkPlan stores which run applies the plan of a dry run.
	LinkPlan(ctx context.Context, runID, applyID string) error
	// HeldApplies returns the held runs that apply a plan of a target, the oldest first, without findings. It locks the
	// target until the unit ends, whether or not there are any. A unit locks one target at most.
	HeldApplies(ctx context.Context, target string) ([]StoredPlan, error)
}

// Planned is the event that a dry run reported a plan.
type Planned struct {
	RunID string    `json:"run_id"`
	At    time.Time `json:"at"`
}

func (Planned) EventName() string { return "runs.run_planned" }

func (Planned) EventVersion() int { return 1 }
