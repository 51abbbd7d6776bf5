package workflows

import (
	"cmp"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	graphText  = "Graph"
	listText   = "List"
	viewsText  = "Views of the steps"
	openText   = "Open its run"
	resultText = "Results"
	foldText   = "Fold equal steps"
	helpText   = "Arrow keys follow the dependencies. Enter opens the run of a step, or unfolds equal steps."
	nothing    = "nothing, it starts at once"
	noneAfter  = "nothing"
)

// sentence says how the pipeline stands.
func sentence(v stepsView) string {
	state := shell.StateOf(v.Run.Status, v.Run.Spec.DryRun)
	out := state.Word + ": " + shell.Count(v.ended()) + " of " + shell.Plural(len(v.Steps), "step") + " over."
	if len(v.Path) > 1 {
		out += " The longest path is " + join(v.Path) + "."
	}
	return out
}

// maxNames bounds the names in a sentence.
const maxNames = 12

func join(names []string) string {
	if len(names) > maxNames {
		return strings.Join(names[:maxNames], ", ") + " and " + shell.Count(len(names)-maxNames) + " more"
	}
	return strings.Join(names, ", ")
}

// stateOf returns the word of a step, with why it was skipped.
func stateOf(s step) string {
	word := shell.StateOf(s.Status, false).Word
	if s.Status != runs.Skipped {
		return word
	}
	switch s.Spec.On {
	case runs.OnFailure:
		return word + ", since nothing before it failed"
	case runs.OnAlways:
		return word
	}
	return word + ", since a step before it did not succeed"
}

// failureText says what a failure of the step does.
func failureText(s step) string {
	if s.Spec.ContinueOnFailure {
		return "the steps after it run all the same"
	}
	return "the steps after it are skipped, but for those that run on a failure"
}

func onText(on string) string {
	switch on {
	case runs.OnFailure:
		return "when one before it failed"
	case runs.OnAlways:
		return "when those before it ended, whatever their end"
	}
	return "when those before it succeeded"
}

// nameLetters is how many letters of a name fit into a box.
const nameLetters = 18

// label says to assistive tools what is not written in a box.
func label(n node) string {
	s := n.first()
	out := stateOf(s) + ", after " + cmp.Or(join(s.Waits), nothing)
	switch {
	case len(n.Steps) > 1:
		return stateOf(s) + ", folded. Enter shows each."
	case cut(s.Spec.Name, nameLetters) != s.Spec.Name:
		return s.Spec.Name + ", " + out
	}
	return out
}

// names lists the steps of a box.
func names(n node) string {
	var out []string
	for i := range n.Steps {
		out = append(out, n.Steps[i].Spec.Name)
	}
	return join(out)
}

func wholeText(steps int) string { return "Show all " + shell.Plural(steps, "step") }
