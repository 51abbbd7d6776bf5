package engine

import (
	"context"
	"strings"
	"unicode"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
)

// propose reports the plan of a dry run that succeeded. A plan that is refused fails the run.
func (w *work) propose(p *extension.Plan, end *runs.Ending) {
	if p == nil || !w.run.Spec.DryRun || end.Status != runs.Succeeded {
		return
	}
	plan := w.plan(p)
	err := plan.Check()
	if err == nil {
		err = w.e.retry(w.lease.RunID, func(ctx context.Context) error {
			_, err := w.e.Plane.ProposeApply(ctx, w.lease, plan)
			return err
		})
	}
	switch {
	case runs.LeaseLost.Is(err):
		w.giveUp()
	case err != nil:
		end.Status, end.Error = runs.Failed, w.text("the plan of the tool was refused: "+err.Error())
	}
}

// plan returns the plan of a tool with masked texts. Control characters are replaced, since people read the texts on
// terminals.
func (w *work) plan(p *extension.Plan) runs.Plan {
	out := runs.Plan{Summary: w.planText(p.Summary, ""), Digest: p.Digest}
	for _, f := range p.Findings[:min(len(p.Findings), extension.PlanFindings+1)] { // one more is refused
		out.Findings = append(out.Findings, runs.PlanFinding{Resource: w.planText(f.Resource, ""),
			Action: w.planText(f.Action, ""), Diff: w.planText(f.Diff, "\n\r\t")})
	}
	return out
}

// planText masks a text and replaces its control characters except the kept ones.
func (w *work) planText(s, kept string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && !strings.ContainsRune(kept, c) {
			return unicode.ReplacementChar
		}
		return c
	}, strings.ToValidUTF8(w.masker.String(s), string(unicode.ReplacementChar)))
}
