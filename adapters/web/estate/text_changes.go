package estate

import (
	"context"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

const noChangesText = "A run names a change with the member change. Everything of the change is then one report here:"

func changeState(o estate.ChangeOutcome) shell.State {
	switch o {
	case estate.ChangeFailed:
		return shell.State{Glyph: "fail", Word: "Failed"}
	case estate.ChangeInProgress:
		return shell.State{Glyph: "now", Word: "In progress"}
	case estate.ChangePartial:
		return shell.State{Glyph: "stop", Word: "Partly done"}
	}
	return shell.State{Glyph: "done", Word: "Succeeded"}
}

func changesText(l estate.ChangeList) string {
	if l.Total == 0 {
		return "No run that you may read names a change."
	}
	failed, open := 0, 0
	for _, c := range l.Changes {
		switch c.Outcome {
		case estate.ChangeFailed:
			failed++
		case estate.ChangeInProgress:
			open++
		}
	}
	text := shell.Plural(l.Total, "change")
	if len(l.Changes) == l.Total {
		text += "; " + shell.Count(open) + " in progress, " + shell.Count(failed) + " failed"
	}
	return text + "."
}

func partialText(scanned int) string {
	return "The list is made of the newest " + shell.Plural(scanned, "run") +
		" with a change. Changes with older runs alone " +
		"are not listed, and of others those runs do not count."
}

func registerTierText(tier string) string {
	return "The change register needs a licence of the tier " + tier + "."
}

const shownActors = 6

func actorNames(names []string) string {
	if len(names) > shownActors {
		return strings.Join(names[:shownActors], ", ") + " and " + shell.Plural(len(names)-shownActors, "other")
	}
	return strings.Join(names, ", ")
}

// changeText is the sentence of a report.
func changeText(ctx context.Context, c estate.ChangeDetail) string {
	took := shell.Duration(c.LastAt.Sub(c.FirstAt))
	head := map[estate.ChangeOutcome]string{
		estate.ChangeFailed:     "Failed after " + took,
		estate.ChangeInProgress: "In progress for " + shell.Duration(shell.Now(ctx).Sub(c.FirstAt)),
		estate.ChangePartial:    "Over after " + took + ", not all of it was done",
		estate.ChangeSucceeded:  "Succeeded after " + took,
	}[c.Outcome]
	return head + ": " + shell.Plural(c.Runs, "run") + " touched " + shell.Plural(c.Change.Hosts, "host") + ", begun " +
		shell.Instant(ctx, c.FirstAt) + " by " + actorNames(c.Actors) + "."
}

func changeRemarks(c estate.ChangeDetail) []string {
	var out []string
	if c.Withheld > 0 {
		out = append(out, shell.Plural(c.Withheld, "run")+" of the change "+form(c.Withheld == 1, "is", "are")+
			" withheld: you may not read "+form(c.Withheld == 1, "it", "them")+". All else is about the others.")
	}
	if c.Partial {
		out = append(out,
			"The change has older runs than the "+shell.Count(estate.MaxScanned)+" newest: outcome, people and hosts "+
				"are of the newest ones alone.")
	}
	return out
}

func touchedText(c estate.ChangeDetail) string {
	if c.Change.Hosts > len(c.Touched) {
		return "the first " + shell.Count(len(c.Touched)) + " of " + shell.Count(c.Change.Hosts)
	}
	return shell.Plural(c.Change.Hosts, "host")
}

func memberText(ctx context.Context, x *runs.Run) string {
	text := x.Actor.Name + " asked for it"
	if d := x.Duration(shell.Now(ctx)); d > 0 {
		text += ", it took " + shell.Duration(d)
	}
	if x.HostsTouched > 0 {
		text += ", on " + shell.Plural(x.HostsTouched, "host")
	}
	if x.Spec.DryRun {
		text += ", a dry run"
	}
	switch {
	case x.Origin.RetryOf != "":
		text += ", a retry"
	case x.Origin.RerunOf != "":
		text += ", a rerun"
	}
	return text + "."
}

func decisionText(d *runs.Decision) string {
	verb := "approved it"
	if d.Verdict != runs.Approved {
		verb = "rejected it"
	}
	if d.Reason != "" {
		return d.By.Name + " " + verb + ": " + d.Reason
	}
	return d.By.Name + " " + verb
}
