package runs

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/runs"
)

// row is a run as the list shows it.
type row struct {
	Run   *runs.Run
	State shell.State
	Name  string
	// Why says why the run is not well, in the colours of Hue; What is what it executes.
	Hue, Why, What string
	By             string
	Hosts          []shell.Share
	HostText       string
	// Child is a shard or a step below its parent. Open means that the children are shown.
	Child, Open bool
	// Left means that the run does not fit the search any more.
	Left bool
}

// waitsExplained bounds the runs of a page of which the reason of waiting is looked up.
const waitsExplained = 10

// rowsOf makes the rows of a page.
func (h *handlers) rowsOf(ctx context.Context, list []*runs.Run) []row {
	out := make([]row, len(list))
	explained := 0
	for i, r := range list {
		out[i] = rowOf(r)
		if r.Status != runs.Pending || h.Insight == nil || explained == waitsExplained {
			continue
		}
		explained++
		// The row is shown without its reason if that cannot be read.
		if e, err := h.Insight.Why(ctx, r.ID); err == nil && len(e.Reasons) > 0 {
			out[i].Hue, out[i].Why = "idle", sentence(e.Reasons[0].Text)
		}
	}
	return out
}

func rowOf(r *runs.Run) row {
	out := row{Run: r, State: shell.StateOf(r.Status, r.Spec.DryRun), Name: shell.RunName(r), By: askedBy(r),
		What: executes(r), Child: r.Kind.Child()}
	out.Hue, out.Why = whyNot(r)
	out.Hosts, out.HostText = hostsOf(r.Hosts)
	return out
}

func askedBy(r *runs.Run) string {
	switch r.Origin.Source {
	case runs.FromSchedule, runs.FromTrigger:
		return string(r.Origin.Source)
	}
	return r.Actor.Shown()
}

// executes says what a run executes: its tool, and the playbook or the first line of the command.
func executes(r *runs.Run) string {
	what, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(r.Spec.Playbook, r.Spec.Command)), "\n")
	switch {
	case r.Kind == runs.Pipeline:
		what = "workflow"
	case what != "":
		what = r.Spec.Tool + " · " + what
	default:
		what = r.Spec.Tool
	}
	if r.Spec.DryRun {
		what += " · dry run"
	}
	if r.Spec.Limit != "" {
		what += " · limit " + r.Spec.Limit
	}
	return cut(what)
}

// maxText bounds what a row shows of a text.
const maxText = 160

func cut(text string) string { return plaintext.Cut(text, maxText) }

// sentence begins a text with a capital letter, in one line.
func sentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if text == "" {
		return ""
	}
	list := []rune(text)
	return cut(strings.ToUpper(string(list[:1])) + string(list[1:]))
}

// whyNot says why a run is not well, with its hue. Both are empty for a run that is well.
func whyNot(r *runs.Run) (hue, text string) {
	hue = shell.Hue(shell.StateOf(r.Status, false).Glyph)
	switch r.Status {
	case runs.PendingApproval:
		return hue, heldText(r.HeldBy())
	case runs.Failed:
		return hue, failedText(r)
	case runs.Interrupted:
		return hue, sentence(cmp.Or(r.Error, "its executor stopped answering"))
	case runs.Rejected:
		if d := r.Decision; d != nil {
			return hue, sentence(strings.TrimSuffix("rejected by "+d.By.Shown()+": "+d.Reason, ": "))
		}
	case runs.Canceled:
		if c := r.Canceled; c != nil {
			return hue, "Canceled by " + c.By.Shown()
		}
		return hue, sentence(r.Error)
	case runs.Running:
		if r.CancelRequested {
			return "hold", "Is being canceled"
		}
		if n := r.Hosts[runs.HostFailed] + r.Hosts[runs.HostUnreachable]; n > 0 {
			return "fail", problems(r.Hosts)
		}
	}
	if len(r.Warnings) > 0 {
		return "chg", sentence(r.Warnings[0].Message)
	}
	return "", ""
}

func heldText(h *runs.Hold) string {
	switch {
	case h == nil:
		return "Held"
	case h.Name == runs.RequestedApproval:
		return "The request asks for approval"
	case h.Message != "":
		return cut("Held by " + h.Name + ": " + h.Message)
	}
	return cut("Held by " + h.Name)
}

func failedText(r *runs.Run) string {
	switch {
	case r.Hosts[runs.HostFailed]+r.Hosts[runs.HostUnreachable] > 0:
		return problems(r.Hosts)
	case r.Error != "":
		return sentence(r.Error)
	case r.ExitCode != nil:
		return fmt.Sprintf("Exit code %d", *r.ExitCode)
	}
	return "Failed"
}

// problems says how many hosts failed and were out of reach.
func problems(c runs.HostCounts) string {
	var parts []string
	if n := c[runs.HostFailed]; n > 0 {
		parts = append(parts, shell.Plural(n, "host")+" failed")
	}
	if n := c[runs.HostUnreachable]; n > 0 {
		parts = append(parts, shell.Count(n)+" out of reach")
	}
	return strings.Join(parts, ", ")
}

// hostsOf returns the bar of a run's hosts, and the count below it.
func hostsOf(c runs.HostCounts) ([]shell.Share, string) {
	total := 0
	for _, n := range c {
		total += n
	}
	if total == 0 {
		return nil, ""
	}
	bad := c[runs.HostFailed] + c[runs.HostUnreachable]
	text := shell.Plural(total, "host")
	if bad > 0 {
		text = shell.Count(bad) + " of " + text
	}
	return []shell.Share{
		{Hue: "done", Size: c[runs.HostOK] + c[runs.HostSkipped] + c[runs.HostIgnored]},
		{Hue: "chg", Size: c[runs.HostChanged] + c[runs.HostRescued]},
		{Hue: "fail", Size: c[runs.HostFailed]},
		{Hue: "lost", Size: c[runs.HostUnreachable]},
		{Hue: "idle", Size: c[runs.HostIncomplete]},
	}, text
}

// hostLabel says in words what the bar of a run shows.
func hostLabel(c runs.HostCounts) string {
	var parts []string
	for _, o := range runs.Outcomes() {
		if n := c[o]; n > 0 {
			parts = append(parts, shell.Count(n)+" "+string(o))
		}
	}
	return "Hosts: " + strings.Join(parts, ", ")
}

// took writes how long a run executed, empty for one that has not ended.
func took(r *runs.Run, now time.Time) string {
	if r.StartedAt.IsZero() || r.EndedAt.IsZero() {
		return ""
	}
	return shell.Duration(r.Duration(now))
}

// day is a group of runs by the day on which they were made.
type day struct {
	Name string
	Rows []row
}

// daysOf groups rows by day in the viewer's zone.
func daysOf(ctx context.Context, list []row) []day {
	var out []day
	for _, r := range list {
		name := dayOf(ctx, r.Run.CreatedAt)
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, day{Name: name})
		}
		out[len(out)-1].Rows = append(out[len(out)-1].Rows, r)
	}
	return out
}

// dayOf names a day: Today, Yesterday, a day of the last week, else the date.
func dayOf(ctx context.Context, t time.Time) string {
	zone := shell.Of(ctx).Zone
	t, now := t.In(zone), shell.Now(ctx).In(zone)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, zone)
	switch {
	case !t.Before(midnight):
		return "Today"
	case !t.Before(midnight.AddDate(0, 0, -1)):
		return "Yesterday"
	case !t.Before(midnight.AddDate(0, 0, -6)):
		return t.Weekday().String()
	case t.Year() == now.Year():
		return t.Format("Monday, 2 January")
	}
	return t.Format("2 January 2006")
}
