package estate

import (
	"strconv"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
)

const nothingDrifts = "Drift is known of what dry runs checked. A host that none checked, and tasks that cannot be " +
	"checked, are not known to be as they should be."

func etag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// driftText is the sentence of the page.
func driftText(v driftView, p estate.DriftPage) string {
	where := ""
	if v.Host != "" {
		where = " on " + v.Host
	}
	switch {
	case p.Total == 0 && p.Hosts == 0:
		return "No dry run has checked anything" + where + ", so drift is not known."
	case p.Total == 0 && p.Drifting > 0:
		return "Nothing that the run was made to repair drifts now."
	case p.Total == 0 && p.Checked == 0:
		return "Dry runs could check no task" + where + ", so drift is not known" + uncheckedText(p.Unknown) + "."
	case p.Total == 0:
		return "No drift was found" + where + " in the " + checkedText(p) + uncheckedText(p.Unknown) + "."
	}
	return shell.Plural(p.Total, "resource") + " " + form(p.Total == 1, "drifts", "drift") + where + ", of the " +
		checkedText(p) + uncheckedText(p.Unknown) + "."
}

func checkedText(p estate.DriftPage) string {
	return shell.Plural(p.Checked, "task") + " that dry runs checked on " + shell.Plural(p.Hosts, "host")
}

func uncheckedText(n int) string {
	if n == 0 {
		return ""
	}
	return "; " + shell.Plural(n, "task") + " could not be checked"
}

// driftRemarks says what is left out.
func driftRemarks(p estate.DriftPage) []string {
	var out []string
	if p.Ignored > 0 {
		out = append(out, shell.Plural(p.Ignored, "resource")+" "+form(p.Ignored == 1, "is",
			"are")+" left out by rules, below.")
	}
	if p.Withheld > 0 {
		out = append(out, shell.Plural(p.Withheld, "resource")+" "+form(p.Withheld == 1, "is", "are")+
			" withheld: you may not read the run that found "+form(p.Withheld == 1, "it", "them")+".")
	}
	return out
}

func findingsRange(offset, shown, total int) string {
	if total == 0 {
		return "none"
	}
	return rangeText(offset, shown, total, "resource") + ", equal drift folded"
}

func targetState(t targetRow) shell.State {
	switch {
	case t.Findings > 0:
		return shell.State{Glyph: "drift", Word: "Drifting"}
	case t.Checked == 0:
		return shell.State{Glyph: "skip", Word: "Not checked"}
	case t.Clean < t.hosts():
		return shell.State{Glyph: "wait", Word: "Partly checked"}
	}
	return shell.State{Glyph: "done", Word: "No drift found"}
}

// hosts counts those of the stored inventory, or those that dry runs reached.
func (t targetRow) hosts() int { return max(t.Hosts, t.Reached) }

// unknown counts the hosts that are neither known to drift nor known not to.
func (t targetRow) unknown() int { return max(0, t.hosts()-t.Drifting-t.Clean) }

func targetText(t targetRow) string {
	text := t.Playbook
	if t.Inventory != "" {
		text += " on " + t.Inventory
	}
	if t.Findings > 0 {
		text += ", " + shell.Plural(t.Findings, "resource")
	}
	return text + uncheckedText(t.Unknown)
}

func confidenceText(f estate.Finding) string {
	text := map[estate.Confidence]string{
		estate.ConfidentDiff:      "The dry run showed the difference.",
		estate.ConfidentPredicted: "The dry run predicts a change without a difference.",
		estate.ConfidentNone:      "A real run had just made this change; the task may always report one.",
	}[f.Confidence]
	if f.Unconfirmed {
		text += " A later dry run could not tell whether it drifts still."
	}
	return text
}

func tierText(tier string) string {
	return "Reconciling drift with a held run needs a licence of the tier " + tier + "."
}

func heldText(host string) string {
	return "The run that repairs " + host + " is held until somebody approves it."
}

func reconcileText(n int) string {
	if n > foldedHosts {
		return "Reconcile the first " + shell.Count(foldedHosts) + " of " + shell.Plural(n, "host")
	}
	return "Reconcile " + shell.Plural(n, "host")
}

func outcomesText(list []outcome) string {
	made := 0
	for _, o := range list {
		if o.Run != "" {
			made++
		}
	}
	return shell.Plural(made, "held run") + " made for " + shell.Plural(len(list), "host")
}
