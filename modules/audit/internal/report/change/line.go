package change

import (
	"slices"

	"github.com/writ-automation/writ/modules/audit/internal/report/evidence"
	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
)

// repeats are the runs that a run repeats.
func repeats(d *evidence.Document) []string {
	return slices.DeleteFunc([]string{d.Run.RetryOf, d.Run.RerunOf}, func(id string) bool { return id == "" })
}

// decisions say who held a run and who decided.
func decisions(d *evidence.Document) (out []string) {
	for _, h := range d.Holds {
		out = append(out, paper.When(h.At)+" held by "+h.Name)
	}
	for _, x := range d.Decisions {
		text := paper.When(x.At) + " " + x.Verdict + " by " + x.By.String()
		if x.Reason != "" {
			text += ": " + x.Reason
		}
		out = append(out, text)
	}
	return out
}

func outcome(d *evidence.Document) string {
	out := string(d.Run.Shown(d.Run.Status))
	if d.Run.DryRun {
		out += " (dry run)"
	}
	return out
}
