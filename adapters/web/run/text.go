package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// The labels of the pages.
const (
	reviewText   = "Review and decide"
	cancelText   = "Cancel"
	rerunText    = "Rerun"
	moveText     = "Move to another queue"
	previewText  = "Dry run now"
	keepText     = "Leave it as it is"
	showText     = "Show"
	explainText  = "Explain"
	explainHint  = "A language model reads its failures and the end of its masked output."
	readOnlyText = "This install is read-only."

	unsealedText = "The audit trail has no entry of this run that you may read."
	suspectText  = "A page from the server that is to be checked proves little. The same check on another machine:"
)

// The texts of the plan of a run.
const (
	planHead  = "What it would change"
	planNone  = "This run has no plan."
	planApply = "Open the run that applies it"
)

// views are the views of a run, in the order of their keys.
func views() []view {
	return []view{{"matrix", "Matrix"}, {"table", "Table"}, {"timeline", "Timeline"}, {"diff", "Diff"},
		{"compare", "Compare"}, {"evidence", "Evidence"}, {"inputs", "Inputs"}, {"plan", "Plan"}}
}

type view struct{ id, name string }

// title is the title of the document: "Failed: Patch web fleet #x".
func title(r *runs.Run) string {
	return shell.StateOf(r.Status, r.Spec.DryRun).Word + ": " + shell.RunName(r) + " #" + shell.ShortID(r.ID)
}

// hosts is the number of hosts with a result.
func hosts(r *runs.Run) int {
	n := 0
	for _, c := range r.Hosts {
		n += c
	}
	return n
}

// results says in words how the hosts are: "12 of 5,000 hosts failed, 5 could not be reached".
func results(r *runs.Run) string {
	total := hosts(r)
	if total == 0 {
		return ""
	}
	changed := "were changed"
	if r.Spec.DryRun {
		changed = "would change"
	}
	var parts []string
	first := true
	add := func(o runs.Outcome, words string) {
		n := r.Hosts[o]
		if n == 0 {
			return
		}
		if first {
			parts = append(parts, fmt.Sprintf("%s of %s %s", shell.Count(n), shell.Plural(total, "host"), words))
		} else {
			parts = append(parts, shell.Count(n)+" "+words)
		}
		first = false
	}
	add(runs.HostFailed, "failed")
	add(runs.HostUnreachable, "could not be reached")
	add(runs.HostIncomplete, "did not finish")
	add(runs.HostRescued, "were rescued")
	add(runs.HostChanged, changed)
	if len(parts) == 0 {
		return "nothing changed on " + shell.Plural(total, "host")
	}
	if r.Hosts[runs.HostFailed]+r.Hosts[runs.HostUnreachable]+r.Hosts[runs.HostIncomplete] == 0 {
		parts = append(parts, "none failed")
	}
	return strings.Join(parts, ", ")
}

// sentence says how the run is, after the word of its state.
func sentence(h *head, now time.Time) string {
	r := h.Run
	took := shell.Duration(r.Duration(now))
	switch r.Status {
	case runs.PendingApproval:
		return "for " + shell.Duration(now.Sub(r.CreatedAt)) + ". Nothing has run."
	case runs.Pending:
		return "for " + shell.Duration(now.Sub(later(r.QueuedAt, r.CreatedAt))) + ". Nothing has run."
	case runs.Running:
		return ""
	case runs.Canceled:
		return by(r) + after(r, took) + detail(r)
	case runs.Rejected:
		if r.Decision != nil {
			return "by " + r.Decision.By.Shown() + colon(r.Decision.Reason) + ". Nothing has run."
		}
		return ". Nothing has run."
	}
	if r.StartedAt.IsZero() {
		return "before it started" + colon(r.Error) + "."
	}
	return "after " + took + detail(r)
}

func by(r *runs.Run) string {
	if r.Canceled == nil {
		return ""
	}
	return "by " + r.Canceled.By.Shown() + " "
}

func after(r *runs.Run, took string) string {
	if r.StartedAt.IsZero() {
		return "before it started"
	}
	return "after " + took
}

// detail says what the hosts did, or without hosts why the run ended.
func detail(r *runs.Run) string {
	switch text := results(r); {
	case text != "":
		return ": " + text + "."
	case r.Status == runs.Succeeded:
		return "."
	case r.Error != "":
		return colon(r.Error) + "."
	case r.ExitCode != nil:
		return fmt.Sprintf(": exit code %d.", *r.ExitCode)
	}
	return "."
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + strings.TrimRight(text, ". \n")
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// progress says of a running run where it is, and how long it will take by the runs before.
func progress(h *head, now time.Time) string {
	text := ""
	if h.Task != "" {
		text = ", at " + h.Task
	}
	text += "."
	if h.Median > 0 {
		switch left := h.Median - h.Run.Duration(now); {
		case left > 0:
			text += " About " + shell.Duration(left) + " left, by the last " + shell.Plural(h.Ended, "run") + "."
		default:
			text += " The last " + shell.Plural(h.Ended, "run") + " took about " + shell.Duration(h.Median) + "."
		}
	}
	return text
}

// outcomeOf returns how the outcome of a host is shown.
func outcomeOf(o runs.Outcome) shell.State {
	switch o {
	case runs.HostOK:
		return shell.State{Glyph: "done", Word: "ok"}
	case runs.HostChanged:
		return shell.State{Glyph: "chg", Word: "changed"}
	case runs.HostFailed:
		return shell.State{Glyph: "fail", Word: "failed"}
	case runs.HostUnreachable:
		return shell.State{Glyph: "lost", Word: "unreachable"}
	case runs.HostIncomplete:
		return shell.State{Glyph: "lost", Word: "did not finish"}
	case runs.HostRescued:
		return shell.State{Glyph: "chg", Word: "rescued"}
	case runs.HostIgnored:
		return shell.State{Glyph: "chg", Word: "failure ignored"}
	case runs.HostSkipped:
		return shell.State{Glyph: "skip", Word: "skipped"}
	}
	return shell.State{Glyph: "wait", Word: "no result"}
}

// warningText adds to a warning what it means for the reader.
func warningText(r *runs.Run, w runs.Warning) string {
	switch {
	case w.Code != runs.WarnNoHostsMatched:
		return w.Message
	case r.Spec.Limit != "":
		return "Touched no host: the limit " + r.Spec.Limit + " matched nothing."
	}
	return "Touched no host."
}

// shownWarnings leaves out what the reasons of a pending run say as well.
func shownWarnings(h *head) []runs.Warning {
	return slices.DeleteFunc(slices.Clone(h.Run.Warnings), func(w runs.Warning) bool {
		return w.Code == runs.WarnQueueUnserved && h.Run.Status == runs.Pending && len(h.Reasons) > 0
	})
}

// sourceText says what made the run, for runs without a template.
func sourceText(s runs.Source) string {
	switch s {
	case runs.FromSchedule:
		return "a schedule"
	case runs.FromTrigger:
		return "a trigger"
	case runs.FromReconcile:
		return "drift"
	case runs.FromProposal:
		return "a language model"
	case runs.FromPlan:
		return "a plan"
	case runs.FromImport:
		return "an import"
	}
	return "ad hoc"
}

// verdictText is the head of a group of hosts in a comparison.
func verdictText(v runs.Verdict, n int) string {
	words := map[runs.Verdict]string{runs.Broke: "broke", runs.Recovered: "recovered", runs.StillFailing: "still fail",
		runs.Added: "added", runs.Gone: "gone", runs.Same: "as before"}
	return shell.Plural(n, "host") + " " + words[v]
}

// fieldText is the name of a changed setting in words.
func fieldText(name string) string { return strings.ReplaceAll(name, "_", " ") }
