package policies

import (
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/policyview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/policy"
)

const (
	policiesText  = "Policies"
	windowsText   = "Windows"
	newPolicyText = "New policy"
	newWindowText = "New window"
	editText      = "Edit"
	orderText     = "In this order"
	denyText      = "First, what is denied"
	holdText      = "Then, what is held"
	freeText      = "Everything else starts at once."
	offText       = "Switched off"
	emptyTitle    = "No policy holds or denies anything"
	emptyHint     = "A policy holds runs until somebody approves them, such as those on more than 100 hosts."
	emptyWindows  = "Runs may start at any time"
	windowsHint   = "A window says when runs may start, such as on weekdays between 20:00 and 06:00."
	tryText       = "Try it on the last 30 days"
	triedText     = "On the last 30 days"
	recordText    = "The record"
	whenText      = "When"
	nextText      = "Next five times"
	tableText     = "All windows, by name"
	fileText      = "The policies come from a file of the server. They change there, and not on this page."
	fileAtText    = "The file is"
)

// listSentence says how many policies are in force.
func listSentence(v listView) string {
	on := len(v.Deny) + len(v.Hold)
	if on == 0 {
		return "No policy is in force: every run starts at once."
	}
	return shell.Plural(on, "policy is", "policies are") + " in force."
}

// windowSentence says in words what a window does.
func windowSentence(w policy.Window) string {
	what := "Runs"
	if parts := policyview.Criteria(w.Match, nil); len(parts) > 0 {
		what += " " + strings.Join(parts, ", ")
	}
	verb := " start only within it"
	if w.Mode == policy.DenyWindow {
		verb = " do not start within it"
	}
	outside := "; requests outside of that wait."
	if w.Outside == policy.OutsideDeny {
		outside = "; requests outside of that are refused."
	}
	if !w.Enabled {
		return "Switched off. " + what + verb + outside
	}
	return what + verb + outside
}

// spanText says when a window is open.
func spanText(w policy.Window) string {
	if w.Cron == "" {
		return w.From + " to " + w.To + " " + w.Timezone
	}
	return w.Cron + " for " + shell.Duration(time.Duration(w.Duration)*time.Second) + " " + w.Timezone
}
