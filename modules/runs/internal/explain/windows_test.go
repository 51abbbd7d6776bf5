package explain

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// waits has what the windows say about every run.
type waits struct {
	runs.WaitStore
	now  time.Time
	wait *runs.Wait
}

func (w waits) WaitOf(context.Context, string) (*runs.Wait, error) { return w.wait, nil }

func (w waits) Now() time.Time { return w.now }

// TestWhyWindow says in words when the run may start.
func TestWhyWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) runs.Wait { return runs.Wait{Opens: now.Add(d), Again: now.Add(d)} }
	for next, w := range map[string]runs.Wait{
		"in 1 second, at 2026-05-01T12:00:01Z":                in(time.Second),
		"in 2 minutes and 5 seconds, at 2026-05-01T12:02:05Z": in(125 * time.Second),
		"in 1 hour, at 2026-05-01T13:00:00Z":                  in(time.Hour + 400*time.Millisecond),
		"in 10 days and 1 hour, at 2026-05-11T13:30:00Z":      in(241*time.Hour + 30*time.Minute),
		"in a moment": in(-time.Second),
		"the window never opens: an administrator changes it, or lets the run pass it": {},
	} {
		want := next
		if strings.HasPrefix(next, "in ") {
			want = "the run may start " + next
		}
		if strings.Contains(next, ", at ") {
			want += ", or an administrator lets it pass the window"
		}
		w.WindowID, w.Window, w.Since = "win_1", "freeze", now
		s := waits{now: now, wait: &w}
		x := (&stored{run: runs.Run{Status: runs.Pending, Gated: true}}).explainer()
		x.Waits, x.Clock = s, s
		e, err := x.Why(t.Context(), "run")
		if err != nil || len(e.Reasons) != 1 || e.Reasons[0].Next != want || e.Reasons[0].Object != "win_1" ||
			e.Reasons[0].Code != "window" || !e.Reasons[0].Since.Equal(now) {
			t.Errorf("%+v %v, want %q", e, err, want)
		}
	}
}
