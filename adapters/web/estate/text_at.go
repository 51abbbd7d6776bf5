package estate

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
)

const (
	emptyText    = "No run has gathered facts that you may read."
	emptyHelp    = "A playbook gathers facts unless it has gather_facts: false. Its hosts are here a second later."
	badInstant   = "An instant is a date with a time, such as 2026-11-26T14:10, or one of RFC 3339."
	noFactText   = "the fact is not known"
	noCourseText = "With more than 1,000 hosts the course of each group is not drawn."
	sliderHelp   = "Arrow keys move by one bar, Page keys by a day. The fields below do the same."
)

func doOf(v atView) string {
	if v.Diff != nil {
		return "compare"
	}
	return "show"
}

func firstLabel(v atView) string {
	if v.Diff != nil {
		return "From"
	}
	return "At"
}

// atText is the sentence of the estate at an instant.
func atText(ctx context.Context, s estate.AtSummary, groups int, by string) string {
	when := "at " + shell.Instant(ctx, s.At)
	if !s.At.Before(shell.Now(ctx)) {
		when = "now"
	}
	if s.Count == 0 {
		return "No host is known " + when + "."
	}
	return shell.Plural(s.Count, "host") + " " + when + ", with " + shell.Plural(groups, "value") + " of " + by + "."
}

func history(ctx context.Context, withheld int, s estate.AtSummary) []string {
	var out []string
	if s.BeforeHistory {
		out = append(out, "The instant is before the oldest reading of "+shell.Instant(ctx, s.Horizon)+
			": nothing is known of it.")
	}
	if withheld > 0 {
		out = append(out, shell.Plural(withheld, "host")+" "+form(withheld == 1, "is", "are")+
			" left out: you may not read the run that gathered their facts.")
	}
	return out
}

// atRemarks says what is left out and how old the readings are.
func atRemarks(ctx context.Context, s estate.AtSummary, f folder) []string {
	out := history(ctx, s.Withheld, s)
	if s.Count > 0 {
		newest, oldest := shell.Duration(s.At.Sub(f.newest)), shell.Duration(s.At.Sub(f.oldest))
		if newest != oldest {
			newest += " to " + oldest
		}
		out = append(out, "The readings are "+newest+" older than the instant; nothing says that a host is "+
			"still as it was read.")
	}
	if s.HasMore {
		out = append(out, "Only the first "+shell.Count(s.Count)+" hosts by name are counted; there are more.")
	}
	if f.others > 0 {
		out = append(out, shell.Plural(f.others, "host")+" with further values "+form(f.others == 1, "is", "are")+
			" not listed: "+shell.Count(maxValues)+" values are kept apart.")
	}
	return out
}

func diffText(ctx context.Context, d *diffView) string {
	between := "between " + shell.Instant(ctx, d.From) + " and " + shell.Instant(ctx, d.To)
	if d.Changed == 0 {
		return "No host changed " + between + "."
	}
	return shell.Plural(d.Changed, "host") + " changed " + between + "."
}

func diffRemarks(ctx context.Context, d *diffView) []string {
	return history(ctx, d.Withheld, estate.AtSummary{Horizon: d.Horizon, BeforeHistory: d.BeforeHistory})
}

func foldsText(d diffView) string {
	n := len(d.Folds) + d.More
	return shell.Plural(n, "different change") + " on " + shell.Plural(d.Changed, "host")
}

func moreFoldsText(d diffView) string {
	text := ""
	if d.More > 0 {
		text = shell.Plural(d.More, "further change") + " of fewer hosts are not shown. "
	}
	if d.Others > 0 {
		text += shell.Plural(d.Others, "change") + " beyond the first " + shell.Count(maxFolds) +
			" different ones are not folded."
	}
	return text
}

func addedText(n int) string {
	if n == 0 {
		return "No host was gathered for the first time."
	}
	return shell.Plural(n, "host") + " " + form(n == 1, "was", "were") + " gathered for the first time."
}

func unobservedText(n int) string {
	if n == 0 {
		return "Every host was gathered in the time."
	}
	return shell.Plural(n, "host") + " " + form(n == 1, "was", "were") +
		" not gathered in the time, so nobody knows whether they changed."
}

func unchangedText(n int) string {
	if n == 0 {
		return "No host was gathered and found as before."
	}
	return shell.Plural(n, "host") + " " + form(n == 1, "was", "were") + " gathered and found as before."
}

func moreGroupsText(n int) string {
	return shell.Plural(n, "value") + " with fewer hosts " + form(n == 1, "is", "are") + " not shown."
}

func histogramText(t timeline) string {
	readings, gaps, changed := int64(0), 0, 0
	for _, b := range t.Buckets {
		readings += b.Readings
		if b.Readings == 0 {
			gaps++
		}
		if b.Changed > 0 {
			changed++
		}
	}
	return fmt.Sprintf("%s in %s; nothing was gathered in %d of them, and facts changed in %d",
		shell.Plural(readings, "reading"), shell.Plural(len(t.Buckets), "part"), gaps, changed)
}

func barHeight(t timeline, n int64) int64 {
	const high = 44
	most := int64(1)
	for _, b := range t.Buckets {
		most = max(most, b.Readings)
	}
	return max(2, n*high/most)
}

func courseHeight(g group, n int) float64 {
	const high = 20.0
	most := 1
	for _, c := range g.Course {
		most = max(most, c)
	}
	return float64(n) / float64(most) * high
}

func courseText(g group) string {
	return fmt.Sprintf("Hosts over the kept time: %v", g.Course)
}
