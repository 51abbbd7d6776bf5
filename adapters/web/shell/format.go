package shell

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// Count writes a number with separators of thousands.
func Count[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural writes a number with its noun: Plural(2, "host") is "2 hosts". A third word is an irregular plural.
func Plural[N int | int64](n N, noun string, irregular ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(irregular) > 0:
		return Count(n) + " " + irregular[0]
	}
	return Count(n) + " " + noun + "s"
}

// Duration writes a duration in at most two units: "6 min 12 s", "0.4 s".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return Duration(-d)
	case d < 10*time.Second:
		return strings.TrimSuffix(strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', 1, 64), ".0") + " s"
	}
	d = d.Round(time.Second)
	days, hours, minutes, seconds := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case days > 0:
		return two(days, "d", hours, "h")
	case hours > 0:
		return two(hours, "h", minutes, "min")
	case minutes > 0:
		return two(minutes, "min", seconds, "s")
	}
	return fmt.Sprintf("%d s", seconds)
}

func two(a int, unitA string, b int, unitB string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unitA)
	}
	return fmt.Sprintf("%d %s %d %s", a, unitA, b, unitB)
}

// Bytes writes a size: "1.2 MiB".
func Bytes(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	if n < 1<<10 {
		return Plural(n, "byte")
	}
	v, unit := float64(n)/(1<<10), 0
	for v >= 1<<10 && unit < len(units)-1 {
		v, unit = v/(1<<10), unit+1
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + units[unit]
}

// relativeFor is for how long times are shown as so much before now.
const relativeFor = 7 * 24 * time.Hour

// When writes a time for a reader: relative to now within seven days, else the date in the reader's zone.
func When(ctx context.Context, t time.Time) string {
	now := Now(ctx)
	ago := now.Sub(t)
	switch {
	case ago < 0 && ago > -relativeFor:
		return "in " + span(-ago)
	case ago < 5*time.Second && ago >= 0:
		return "just now"
	case ago < relativeFor && ago > 0:
		return span(ago) + " ago"
	}
	t, now = t.In(Of(ctx).Zone), now.In(Of(ctx).Zone)
	if t.Year() == now.Year() {
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006")
}

// span writes a duration in one unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// Instant writes a time with its zone, to the second.
func Instant(ctx context.Context, t time.Time) string {
	return t.In(Of(ctx).Zone).Format("2006-01-02 15:04:05 MST")
}

// shownID is how many characters of an id are shown.
const shownID = 6

// ShortID returns the end of an id, which tells records of a page apart.
func ShortID(id string) string { return id[max(len(id)-shownID, 0):] }

// State is how a state is shown: its glyph, which has a hue, and its word.
type State struct{ Glyph, Word string }

// StateOf returns how the state of a run is shown.
func StateOf(s runs.Status, dryRun bool) State {
	switch s {
	case runs.PendingApproval:
		return State{"hold", "Held"}
	case runs.Pending:
		return State{"wait", "Pending"}
	case runs.Running:
		return State{"now", "Running"}
	case runs.Succeeded:
		if dryRun {
			return State{"done", "Checked"}
		}
		return State{"done", "Succeeded"}
	case runs.Failed:
		return State{"fail", "Failed"}
	case runs.Canceled:
		return State{"stop", "Canceled"}
	case runs.Interrupted:
		return State{"lost", "Interrupted"}
	case runs.Rejected:
		return State{"deny", "Rejected"}
	case runs.Skipped:
		return State{"skip", "Skipped"}
	}
	return State{"wait", string(s)}
}

// RunName returns the name of a run: its own, or what it executes.
func RunName(r *runs.Run) string {
	for _, name := range []string{r.Name, r.StepName, r.Spec.Playbook, firstLine(r.Spec.Command)} {
		if name != "" {
			return name
		}
	}
	return string(r.Kind)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
