package shell

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of a plan on a page: its findings, and the lines of a difference.
const (
	maxPlanFindings = 200
	maxPlanLines    = 100
)

// Plan is the plan of a run as pages show it.
type Plan struct {
	runs.StoredPlan
	DryRun   string // the run that reported it
	Findings []PlanChange
	More     int // findings that are left out
}

// PlanChange is a finding with the lines of its difference.
type PlanChange struct {
	runs.PlanFinding
	Lines []string
	More  int // lines that are left out
}

// PlanOf returns the form of a plan for pages: what destroys something first. It is nil for a run without a plan.
func PlanOf(p *runs.StoredPlan, err error) (*Plan, error) {
	if runs.PlanNotFound.Is(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := &Plan{StoredPlan: *p, DryRun: cmp.Or(p.PlannedBy, p.RunID)}
	list := slices.Clone(p.Findings)
	slices.SortStableFunc(list, func(a, b runs.PlanFinding) int { return cmp.Compare(planRank(a), planRank(b)) })
	out.More = max(len(list)-maxPlanFindings, 0)
	for _, f := range list[:len(list)-out.More] {
		c := PlanChange{PlanFinding: f}
		if f.Diff != "" {
			c.Lines = strings.Split(strings.TrimRight(f.Diff, "\n"), "\n")
		}
		c.More = max(len(c.Lines)-maxPlanLines, 0)
		c.Lines = c.Lines[:len(c.Lines)-c.More]
		out.Findings = append(out.Findings, c)
	}
	return out, nil
}

// planRank orders actions: those that destroy something first.
func planRank(f runs.PlanFinding) int {
	switch {
	case Destroys(f.Action):
		return 0
	case f.Action == "update":
		return 1
	default:
		return 2
	}
}

// Destroys reports whether an action of a plan destroys a resource.
func Destroys(action string) bool { return action == "delete" || action == "replace" }

// planLine returns the class of a line of a difference: added, removed or neither.
func planLine(line string) string {
	switch trimmed := strings.TrimLeft(line, " "); {
	case strings.HasPrefix(trimmed, "+"):
		return "p"
	case strings.HasPrefix(trimmed, "-"):
		return "m"
	default:
		return ""
	}
}

// planGlyph returns the glyph and the class of an action.
func planGlyph(action string) (glyph, class string) {
	if Destroys(action) {
		return "risk", "fail"
	}
	return "chg", "chg"
}

// planCount says how many findings there are, and how many destroy something.
func planCount(p *Plan) string {
	if len(p.StoredPlan.Findings) == 0 {
		return planNothing
	}
	n := 0
	for i := range p.StoredPlan.Findings {
		if Destroys(p.StoredPlan.Findings[i].Action) {
			n++
		}
	}
	text := "It would change " + Plural(len(p.StoredPlan.Findings), "resource")
	if n == 0 {
		return text + " and destroy none."
	}
	return text + " and destroy " + Count(n) + " of them."
}

// The texts of plans.
const (
	planNothing = "Nothing differs."
	planBound   = "If the plan differs when it is applied, nothing is changed."
	planOfRun   = "Planned by this dry run"
	planMore    = "further resource"
	planLines   = "further line"
)
