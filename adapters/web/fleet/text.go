package fleet

import (
	"context"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
)

const (
	noHosts        = "No run has reached a host yet"
	noHostsText    = "A host is listed here with its results as soon as a run has reached it or tried to."
	noHostFitsText = "The search looks for a part of the name, in any case, among hosts of runs that you may read."
	noTasks        = "No task has run yet"
	noTasksText    = "Tasks of playbooks are listed here with their durations after a run that you may read."
	noFacts        = "No facts were gathered that you may read."
	noDrift        = "No dry run has checked this host."
	readsOnly      = "Counted are runs that you may read."
)

// hostsText is the sentence of the list.
func hostsText(query string, p estate.FleetPage[estate.HostRank]) string {
	failing, flaky := 0, 0
	for _, x := range p.Rows {
		if x.Failures > 0 {
			failing++
		}
		if x.Flaky {
			flaky++
		}
	}
	least := ""
	if failing == len(p.Rows) && p.Total > len(p.Rows) {
		least = "At least "
	}
	which := ""
	if query != "" {
		which = " whose name has “" + query + "”"
	}
	of := shell.Plural(p.Total, "host") + which
	switch {
	case p.Total == 0 && query == "":
		return noHosts + "."
	case p.Total == 0:
		return noHostFits(query) + "."
	case failing == 0 && p.Total == 1:
		return "The only host" + which + " did not fail in its last " + shell.Plural(window, "run") + "."
	case failing == 0:
		return "None of " + of + " failed in the last " + shell.Plural(window, "run") + " of each."
	}
	text := least + shell.Count(failing) + " of " + of + " failed within the last " + shell.Plural(window, "run") +
		" of each"
	switch flaky {
	case 0:
		return text + "; none is flaky."
	case 1:
		return text + "; 1 is flaky."
	}
	return text + "; " + shell.Count(flaky) + " are flaky."
}

func noHostFits(query string) string { return "No host has “" + query + "” in its name" }

func foldedText(shown, total int) string {
	if shown < total {
		return "The first " + shell.Count(shown) + " of " + shell.Plural(total, "host") + ", equal recent outcomes folded"
	}
	return shell.Plural(total, "host") + ", equal recent outcomes folded"
}

func rangeText(offset, shown, total int, noun string) string {
	if shown == 0 {
		return "Nothing here of " + shell.Plural(total, noun)
	}
	if shown == total {
		return shell.Plural(total, noun)
	}
	return shell.Count(offset+1) + " to " + shell.Count(offset+shown) + " of " + shell.Plural(total, noun)
}

func moreHosts(n int) string { return shell.Count(n) + " more; list one a row to see them." }

// rankText says what is wrong with a host, empty if nothing is.
func rankText(x estate.HostRank) string {
	if x.Failures == 0 {
		return ""
	}
	text := "failed in " + shell.Count(x.Failures) + " of " + shell.Plural(x.Total, "run")
	if x.Flaky {
		text = "Flaky: " + shell.Plural(x.Flips, "flip") + ", " + text
	}
	return text
}

// hostText is the sentence of a host.
func hostText(ctx context.Context, s streak, cause string) string {
	if s.Length == 0 {
		return "No run of this host is kept that you may read."
	}
	first := at(ctx, s.First.EndedAt)
	switch {
	case s.Failing && s.Before == 0:
		return "Fails in each of its " + shell.Plural(s.Length, "kept run") + ", since " + first + cause + "."
	case s.Failing:
		return "Fails since " + first + cause + ", after " + atLeast(s.Whole) + shell.Plural(s.Before, "good run") + "."
	case s.Before == 0:
		return "Did not fail in " + atLeast(s.Length >= estate.MaxHostRuns) + shell.Plural(s.Length, "run") +
			", the oldest of " + first + "."
	}
	return "Has not failed since " + first + ", in " + shell.Plural(s.Length, "run") + ", after " + atLeast(s.Whole) +
		shell.Plural(s.Before, "failed run") + "."
}

func atLeast(unsure bool) string {
	if unsure {
		return "at least "
	}
	return ""
}

// at writes an instant as a person says it: today, yesterday, or the date.
func at(ctx context.Context, t time.Time) string {
	zone := shell.Of(ctx).Zone
	t, now := t.In(zone), shell.Now(ctx).In(zone)
	switch day := t.Format(time.DateOnly); day {
	case now.Format(time.DateOnly):
		return "today " + t.Format("15:04")
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return "yesterday " + t.Format("15:04")
	}
	return t.Format("2 Jan 2006 15:04")
}

func driftText(d *estate.HostDrift) string {
	if d == nil {
		return noDrift
	}
	checked := shell.Plural(d.Checked, "task") + " checked"
	unknown := ""
	if d.Unknown > 0 {
		unknown = "; " + shell.Plural(d.Unknown, "task") + " could not be checked"
	}
	if d.Drifted == 0 && d.Checked == 0 {
		return "Drift is not known: no task was checked" + unknown + "."
	}
	if d.Drifted == 0 {
		return "No drift in " + checked + unknown + "."
	}
	if d.Drifted == 1 {
		return "1 resource drifts, " + checked + unknown + "."
	}
	return shell.Count(d.Drifted) + " resources drift, " + checked + unknown + "."
}

func tasksText(p estate.FleetPage[estate.TaskTrend], first bool, query string) string {
	if p.Total == 0 {
		return noTasks + "."
	}
	text := shell.Plural(p.Total, "task")
	if query != "" {
		text += " with “" + query + "” in the name"
	}
	if first && len(p.Rows) > 0 {
		text += "; “" + p.Rows[0].Task + "” takes longest, " + shell.Duration(p.Rows[0].Mean) + " on average"
	}
	return text + "."
}

func trendState(t estate.Trend) shell.State {
	switch t {
	case estate.Slower:
		return shell.State{Glyph: "chg", Word: "Slower"}
	case estate.Faster:
		return shell.State{Glyph: "done", Word: "Faster"}
	}
	return shell.State{Glyph: "skip", Word: "Steady"}
}

func workerState(w execution.Worker) shell.State {
	if w.Fresh {
		return shell.State{Glyph: "done", Word: "Fresh"}
	}
	return shell.State{Glyph: "lost", Word: "Stale"}
}

const (
	noFactsText = "A playbook gathers facts unless it has gather_facts: false; the module setup gathers them too."
	noHolder    = "No stored inventory of its recent runs has the host, or none that you may read."
)

func historyText(list []estate.HostRun) string {
	kept := shell.Plural(len(list), "run")
	if len(list) == estate.MaxHostRuns {
		kept = "the newest " + kept
	}
	return kept + ", " + shell.Count(failing(list)) + " failed"
}
