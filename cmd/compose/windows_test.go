package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	policymodule "github.com/writ-automation/writ/modules/policy"
	schedulingmodule "github.com/writ-automation/writ/modules/scheduling"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// fixedRules are enabled windows and a clock.
type fixedRules struct {
	windows []policy.Window
	version int64
	now     time.Time
}

func (r *fixedRules) Now() time.Time { return r.now }

type onlyWindows struct {
	policy.WindowStore
	r *fixedRules
}

func (w onlyWindows) Enabled(context.Context) ([]policy.Window, int64, error) {
	return w.r.windows, w.r.version, nil
}

func (w onlyWindows) Version(context.Context) (int64, error) { return w.r.version, nil }

type noPolicies struct {
	policy.Store
	r *fixedRules
}

func (p noPolicies) Enabled(context.Context) ([]policy.Policy, int64, error) {
	return nil, p.r.version, nil
}

func (p noPolicies) Version(context.Context) (int64, error) { return p.r.version, nil }

// minuteWindow is a window for the reference: the minutes of a day at which an occurrence begins, on some weekdays.
type minuteWindow struct {
	policy.Window
	begins   map[int]bool
	weekdays map[time.Weekday]bool
	loc      *time.Location
	from, to time.Time // of a window without an expression: readings of the clock, given in UTC
}

// covered returns for each minute from an instant on whether it is in the window. It walks the clock of the zone minute
// by minute: what the clock shows or passes for the first time begins then.
func (w *minuteWindow) covered(start time.Time, minutes int) []bool {
	out := make([]bool, minutes)
	lasts := int(w.Duration / 60)
	lead := lasts + 3*24*60
	var high time.Time // the latest reading that the clock has shown
	until, open := -1, false
	for i := -lead; i < minutes; i++ {
		shows := reading(start.Add(time.Duration(i)*time.Minute), w.loc)
		if high.IsZero() {
			high = shows.Add(-time.Minute)
			open = !w.from.IsZero() && shows.After(w.from)
		}
		for next := high.Add(time.Minute); !next.After(shows); next = next.Add(time.Minute) {
			high = next
			switch {
			case !w.from.IsZero() && !next.Before(w.to):
				open = false
			case !w.from.IsZero() && !next.Before(w.from):
				open = true
			case w.from.IsZero() && w.begins[next.Hour()*60+next.Minute()] && w.weekdays[next.Weekday()]:
				until = i + lasts
			}
		}
		if i >= 0 {
			out[i] = i < until || open
		}
	}
	return out
}

func reading(at time.Time, loc *time.Location) time.Time {
	t := at.In(loc)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
}

func drawWindow(t *rapid.T, name string, near time.Time) minuteWindow {
	zone := rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca",
		"America/St_Johns", "UTC"}).Draw(t, "zone")
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	w := minuteWindow{loc: loc, Window: policy.Window{
		Record: object.Record{ID: "win_" + name, Name: name}, Enabled: true, Timezone: zone,
		Mode:    rapid.SampledFrom([]policy.WindowMode{policy.AllowWindow, policy.DenyWindow}).Draw(t, "mode"),
		Outside: rapid.SampledFrom([]policy.Outside{policy.OutsideWait, policy.OutsideDeny}).Draw(t, "outside"),
	}}
	if rapid.IntRange(0, 3).Draw(t, "dates") == 0 {
		w.from = reading(near.Add(time.Duration(rapid.IntRange(-600, 600).Draw(t, "from"))*time.Minute), loc)
		w.to = w.from.Add(time.Duration(rapid.IntRange(200, 3000).Draw(t, "lasts")) * time.Minute)
		w.From, w.To = w.from.Format("2006-01-02T15:04"), w.to.Format("2006-01-02T15:04:05")
		return w
	}
	w.Duration = 60 * int64(rapid.OneOf(rapid.IntRange(1, 90), rapid.IntRange(1, 4000)).Draw(t, "duration"))
	w.begins, w.weekdays = map[int]bool{}, map[time.Weekday]bool{}
	hours := rapid.SliceOfNDistinct(rapid.IntRange(0, 4), 1, 3, rapid.ID[int]).Draw(t, "hours")
	minutes := rapid.SliceOfNDistinct(rapid.IntRange(0, 59), 1, 3, rapid.ID[int]).Draw(t, "minutes")
	days := rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 1, 7, rapid.ID[int]).Draw(t, "weekdays")
	for _, h := range hours {
		for _, m := range minutes {
			w.begins[h*60+m] = true
		}
	}
	for _, d := range days {
		w.weekdays[time.Weekday(d)] = true
	}
	list := func(numbers []int) string {
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
	}
	w.Cron = fmt.Sprintf("%s %s * * %s", list(minutes), list(hours), list(days))
	return w
}

// edges are instants at which clocks change, in both directions, and one at which none does.
func edges() []time.Time {
	at := func(text string) time.Time {
		t, _ := time.Parse(time.RFC3339, text)
		return t
	}
	return []time.Time{at("2026-03-29T01:00:00Z"), at("2026-10-25T01:00:00Z"), at("2026-03-08T07:00:00Z"),
		at("2026-11-01T06:00:00Z"), at("2026-04-04T15:00:00Z"), at("2026-10-03T15:30:00Z"), at("2026-02-15T02:00:00Z"),
		at("2026-03-22T02:00:00Z"), at("2026-07-01T00:00:00Z")}
}

// closedBy returns the name of the window that closes a minute, empty if it is open.
func closedBy(list []minuteWindow, covered [][]bool, i int) string {
	var shut []policy.Window
	var allows []policy.Window
	open := false
	for n, w := range list {
		if w.Mode == policy.AllowWindow {
			allows, open = append(allows, w.Window), open || covered[n][i]
		} else if covered[n][i] {
			shut = append(shut, w.Window)
		}
	}
	if !open {
		shut = append(shut, allows...)
	}
	slices.SortFunc(shut, func(a, b policy.Window) int {
		if a.Outside != b.Outside {
			return strings.Compare(string(a.Outside), string(b.Outside)) // deny before wait
		}
		return strings.Compare(a.Name, b.Name)
	})
	if len(shut) == 0 {
		return ""
	}
	return shut[0].Name
}

// TestWindowsAreThoseOfAReference compares what windows say with a reference that walks the clocks minute by minute
// over their changes.
func TestWindowsAreThoseOfAReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const days = 12
		edge := rapid.SampledFrom(edges()).Draw(t, "edge")
		start := edge.Add(-36 * time.Hour)
		rules := &fixedRules{version: 1}
		list := make([]minuteWindow, rapid.IntRange(1, 4).Draw(t, "windows"))
		covered := make([][]bool, len(list))
		for i := range list {
			list[i] = drawWindow(t, fmt.Sprint(i), edge)
			rules.windows = append(rules.windows, list[i].Window)
			covered[i] = list[i].covered(start, days*24*60)
		}
		closed := make([]string, days*24*60)
		for i := range closed {
			closed[i] = closedBy(list, covered, i)
		}
		made, err := policymodule.New(policymodule.Params{Store: noPolicies{r: rules}, Windows: onlyWindows{r: rules},
			Calendar: schedulingmodule.NewCalendar(time.UTC), Clock: rules, Recorder: &audittest.Recorder{}})
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			i := rapid.OneOf(rapid.IntRange(0, 3*24*60), rapid.IntRange(34*60, 40*60)).Draw(t, "minute")
			rules.now = start.Add(time.Duration(i)*time.Minute + time.Duration(rapid.IntRange(0, 59).Draw(t, "s"))*time.Second)
			got, err := made.Evaluator.Timing(t.Context(), &runs.Run{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			compareTiming(t, closed, i, start, rules.now, got)
		}
	})
}

// compareTiming compares an answer with the names of the windows that close each minute.
func compareTiming(t *rapid.T, closed []string, i int, start, now time.Time, got policy.Timing) {
	want, name := closed[i], ""
	if got.Closed != nil {
		name = got.Closed.Name
	}
	if name != want {
		t.Fatalf("%s: closed by %q, want %q", now, name, want)
	}
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	// The answer is the same until it has to be asked again.
	changes := i
	for changes < len(closed) && (closed[changes] == "") == (want == "") {
		changes++
	}
	if changes < len(closed) && (got.Again.IsZero() || got.Again.After(at(changes))) || got.Again.Before(now) &&
		!got.Again.IsZero() {
		t.Fatalf("%s: asked again %s, and changes at %s", now, got.Again, at(changes))
	}
	switch {
	case want == "" || changes == len(closed) && got.Opens.IsZero():
		if !got.Opens.IsZero() {
			t.Fatalf("%s: open, and opens %s", now, got.Opens)
		}
	case changes == len(closed) && got.Opens.Before(at(changes)), changes < len(closed) && !got.Opens.Equal(at(changes)),
		!got.Opens.Equal(got.Again):
		t.Fatalf("%s: opens %s, asked again %s, want %s", now, got.Opens, got.Again, at(changes))
	}
}
