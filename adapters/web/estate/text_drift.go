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
	case p.Total == 0:
		return "No drift was found" + where + " on the " + shell.Plural(p.Hosts, "host") + " that dry runs checked."
	}
	return shell.Plural(p.Total, "resource") + " " + form(p.Total == 1, "drifts", "drift") + where +
		"; dry runs checked " +
		shell.Plural(p.Hosts, "host") + "."
}

// driftRemarks says what is not known and what is left out.
func driftRemarks(p estate.DriftPage) []string {
	var out []string
	unsure := 0
	for _, c := range p.Coverage {
		if c.Unknown > 0 {
			unsure++
		}
	}
	if unsure > 0 {
		least := ""
		if p.Hosts > len(p.Coverage) {
			least = "At least "
		}
		out = append(out, least+shell.Plural(unsure, "host")+" "+form(unsure == 1, "has", "have")+
			" tasks that a dry run could not check.")
	}
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
	case t.Checked < t.Hosts:
		return shell.State{Glyph: "wait", Word: "Partly checked"}
	}
	return shell.State{Glyph: "done", Word: "No drift found"}
}

func targetText(t targetRow) string {
	text := t.Playbook
	if t.Inventory != "" {
		text += " on " + t.Inventory
	}
	if t.Findings > 0 {
		text += ", " + shell.Plural(t.Findings, "resource")
	}
	return text
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
