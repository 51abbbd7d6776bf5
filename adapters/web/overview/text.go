package overview

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

// The texts of the page.
const (
	needsText   = "Needs attention"
	putOffText  = "Put off for a day"
	putBackText = "Show them again"
	dayText     = "Last 24 hours"
	nowText     = "Running now"
	nextText    = "Next"
	fleetText   = "Fleet"
	trailText   = "Trail"
	nothingRuns = "Nothing runs now."
	nothingDue  = "No schedule fires."
	noHosts     = "No run has touched a host yet."
	firstText   = "No run was made here yet."
	firstLink   = "Make the first one"

	verifiedText  = "This server checked it "
	uncheckedText = "Not checked for this page."
)

// headText says how many things need the viewer.
func headText(n int) string {
	words := []string{"Nothing", "One thing", "Two things", "Three things", "Four things", "Five things", "Six things",
		"Seven things", "Eight things", "Nine things", "Ten things", "Eleven things", "Twelve things"}
	switch {
	case n == 0:
		return "Nothing needs you"
	case n == 1:
		return "One thing needs you"
	case n < len(words):
		return words[n] + " need you"
	}
	return shell.Count(n) + " things need you"
}

// checkedText goes before the time of the page.
func checkedText(needs int) string {
	if needs > 0 {
		return "Everything else runs as asked. Checked "
	}
	return "Checked "
}

// sentence begins a text with a capital letter and ends it with a full stop, in one line.
func sentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if text == "" {
		return ""
	}
	list := []rune(text)
	if len(list) > maxText {
		return strings.ToUpper(string(list[:1])) + string(list[1:maxText]) + "…"
	}
	return strings.TrimSuffix(strings.ToUpper(string(list[:1]))+string(list[1:]), ".") + "."
}

const maxText = 200

func heldText(n int) string {
	return shell.Plural(n, "run waits for approval", "runs wait for approval")
}

func oldestHeld(ctx context.Context, r *runs.Run) string {
	return "The oldest, " + short(shell.RunName(r)) + ", was asked for by " + r.Actor.Shown() + " " +
		shell.When(ctx, r.CreatedAt) + "."
}

// short bounds a name within a sentence.
func short(name string) string {
	if list := []rune(name); len(list) > 80 {
		return string(list[:79]) + "…"
	}
	return name
}

func brokenText(r *runs.Run) string {
	name := short(shell.RunName(r))
	if r.Status == runs.Interrupted {
		return name + " was interrupted"
	}
	total, bad := 0, r.Hosts[runs.HostFailed]+r.Hosts[runs.HostUnreachable]
	for _, n := range r.Hosts {
		total += n
	}
	if bad == 0 {
		return name + " failed"
	}
	return name + " failed on " + shell.Count(bad) + " of " + shell.Plural(total, "host")
}

// causeText says why a run failed: the largest groups of its failures, or its error.
func causeText(r *runs.Run, groups []runs.FailureGroup) string {
	const shown = 2
	if len(groups) == 0 {
		if r.Error != "" {
			return sentence(r.Error)
		}
		return "The page of the run has its output."
	}
	var parts []string
	for _, g := range groups[:min(len(groups), shown)] {
		line, _, _ := strings.Cut(strings.TrimSpace(g.Message), "\n")
		parts = append(parts, short(line)+" on "+shell.Plural(g.Count, "host"))
	}
	text := strings.Join(parts, "; ")
	if more := len(groups) - shown; more > 0 {
		text += "; " + shell.Plural(more, "more cause")
	}
	return sentence(text)
}

func stuckText(q execution.Queue) string {
	if q.Workers == 0 {
		return "Queue " + q.Name + " stands still"
	}
	return "Runs of queue " + q.Name + " wait for long"
}

func stuckWhy(q execution.Queue, waits time.Duration) string {
	text := shell.Plural(q.Pending, "run waits", "runs wait") + ", the oldest for " + shell.Duration(waits) + "."
	if q.Workers == 0 {
		return text + " No worker of that queue answers."
	}
	return text + " " + shell.Plural(q.Workers, "executor takes", "executors take") + " runs of it."
}

func flakyText(x estate.HostRank) string { return short(x.Host) + " comes and goes" }

func flakyWhy(x estate.HostRank, others int) string {
	text := "Its last " + shell.Plural(x.Total, "run") + " changed " + strconv.Itoa(x.Flips) +
		" times between success and failure."
	if others > 0 {
		text += " " + shell.Plural(others, "more host behaves", "more hosts behave") + " like it."
	}
	return text
}

func driftText(p estate.DriftPage) string {
	return shell.Plural(p.Total, "resource drifts", "resources drift")
}

func driftWhy(p estate.DriftPage) string {
	text := "Found by dry runs of " + shell.Plural(p.Hosts, "host") + ". Hosts that no dry run checks are not counted."
	if p.Withheld > 0 {
		text += " " + shell.Plural(p.Withheld, "finding is", "findings are") + " of runs that you may not read."
	}
	return text
}

func findingText(f system.Finding) string {
	if f.Object.Name != "" {
		return sentence(f.Object.Kind + " " + f.Object.Name + ": " + f.Problem)
	}
	return sentence(f.Problem)
}

// dayLabel says in words what the chart shows.
func dayLabel(ctx context.Context, d *day) string {
	text := "Runs per quarter hour: " + shell.Count(d.Total.Done) + " succeeded, " + shell.Count(d.Total.Fail) +
		" failed, " + shell.Count(d.Total.Lost) + " interrupted."
	if at, n := d.busiest(ctx); n > 0 {
		text += " The most, " + shell.Count(n) + ", ended in the quarter hour from " + at.Format("15:04") + "."
	}
	return text
}

// cappedText says that the figures are not those of all runs.
func cappedText() string {
	return "There were more than " + shell.Count(dayLimit) + " runs. The figures are those of the newest " +
		shell.Count(dayLimit) + "."
}

// fleetLabel says in words what the bar of the fleet shows.
func fleetLabel(x hosts) string {
	text := shell.Count(x.Total-x.Failed-x.Lost) + " fine"
	if x.More {
		text = "The rest fine"
	}
	return text + ", " + atLeast(x.Failed, x.More) + " failed, " + atLeast(x.Lost, x.More) + " out of reach"
}

func atLeast(n int, more bool) string {
	if more {
		return "at least " + shell.Count(n)
	}
	return shell.Count(n)
}

// trailState says how the trail stands, and claims no more than was checked.
func trailState(size int64, c *checks) (glyph, text string) {
	switch {
	case c == nil || !c.Verified:
		return "idle", shell.Plural(size, "entry", "entries")
	case c.Trail.OK && len(c.Trail.AnchorProblems) == 0:
		return "done", "Intact to entry " + shell.Count(c.Trail.Count)
	}
	return "fail", "Broken: " + string(c.Trail.Reason)
}

func problems(c runs.HostCounts) (failed, lost int) {
	return c[runs.HostFailed], c[runs.HostUnreachable]
}

// leftText says when a run is likely to end.
func leftText(x liveRun) string {
	if !x.Known {
		return ""
	}
	if x.Left < time.Minute {
		return "less than a minute left"
	}
	return "about " + shell.Duration(x.Left.Round(time.Minute)) + " left"
}

func fired(ctx context.Context, t time.Time) string { return t.In(shell.Of(ctx).Zone).Format("15:04") }

func zone(ctx context.Context) string { return shell.Of(ctx).Zone.String() }

// The texts of the search of everything.
const (
	findTitle = "Find or do anything"
	pageKind  = "page"
)

func findCount(v findView) string {
	switch {
	case v.Q == "":
		return "The pages of this install. A word also finds runs, hosts, templates and more."
	case len(v.Found) == 0:
		return "Nothing has the name " + short(v.Q) + "."
	}
	return shell.Plural(len(v.Found), "match is", "matches are") + " shown, at most " + shell.Count(foundShown) + "."
}
