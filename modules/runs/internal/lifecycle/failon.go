package lifecycle

import (
	"slices"

	"github.com/writ-automation/writ/ports/runs"
)

// FailOn makes a success a failure if r, the record before the move, fails on one of its warnings or of those of the
// move. The error names what the run fails on.
func FailOn(r *runs.Run, mv *runs.Move) {
	if mv.To != runs.Succeeded {
		return
	}
	for _, name := range r.Spec.FailOn {
		for _, w := range slices.Concat(r.Warnings, mv.Warnings) {
			if runs.FailsOn(name, w.Code) {
				mv.To, mv.Error = runs.Failed, "fail_on: "+name+": "+w.Message
				return
			}
		}
	}
}
