package adviceview

import (
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
)

// The texts about advice. Its script has those that change: advice.js.
const (
	// Marked is with all advice.
	Marked      = "Advice of a language model. It can be wrong, and does nothing."
	answerLabel = "The answer"
	busyText    = "The model is asked. This may take up to two minutes."
	stopText    = "Stop"
	cutText     = "The answer reached its limit: its end is missing."
	stoppedText = "You stopped the answer: its end is missing."
)

// byOf names who answered.
func byOf(a *Advice) string {
	if a == nil || a.By == "" {
		return ""
	}
	return "From " + a.By + "."
}

func textOf(a *Advice) string {
	if a == nil {
		return ""
	}
	return a.Text
}

// problemText is a sentence about why there is no answer.
func problemText(a *Advice) string {
	if a == nil || a.Problem == nil {
		return ""
	}
	return strings.TrimSuffix(a.Problem.Text, ".") + "."
}

// waitText says when to ask again.
func waitText(a *Advice) string {
	if a == nil || a.Wait == 0 {
		return ""
	}
	return "Try again in " + shell.Plural(a.Wait, "second") + "."
}
