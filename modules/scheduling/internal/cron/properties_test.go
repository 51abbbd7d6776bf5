package cron_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/scheduling/internal/cron"
)

// drawn is a random expression with the drawn values of its fields.
type drawn struct {
	text   string
	sets   [5][]bool
	either bool
}

func (d drawn) matches(t time.Time) bool {
	dom, dow := d.sets[2][t.Day()], d.sets[4][int(t.Weekday())]
	onDay := dom && dow
	if d.either {
		onDay = dom || dow
	}
	return onDay && d.sets[3][int(t.Month())] && d.sets[1][t.Hour()] && d.sets[0][t.Minute()]
}

// drawField draws the text of a field of the values low to high.
func drawField(t *rapid.T, low, high int) (string, []bool) {
	set := make([]bool, high+1)
	mark := func(from, to, step int) {
		for v := from; v <= to; v += step {
			set[v] = true
		}
	}
	elements := make([]string, 0, 3)
	for range rapid.IntRange(1, 3).Draw(t, "elements") {
		a := rapid.IntRange(low, high).Draw(t, "a")
		b := rapid.IntRange(a, high).Draw(t, "b")
		step := rapid.IntRange(1, high-low+1).Draw(t, "step")
		switch rapid.SampledFrom([]string{"*", "*/", "value", "value/", "range", "range/"}).Draw(t, "kind") {
		case "*":
			mark(low, high, 1)
			elements = append(elements, "*")
		case "*/":
			mark(low, high, step)
			elements = append(elements, fmt.Sprintf("*/%d", step))
		case "value":
			mark(a, a, 1)
			elements = append(elements, fmt.Sprint(a))
		case "value/":
			mark(a, high, step)
			elements = append(elements, fmt.Sprintf("%d/%d", a, step))
		case "range":
			mark(a, b, 1)
			elements = append(elements, fmt.Sprintf("%d-%d", a, b))
		default:
			mark(a, b, step)
			elements = append(elements, fmt.Sprintf("%d-%d/%d", a, b, step))
		}
	}
	return strings.Join(elements, ","), set
}

func draw(t *rapid.T) drawn {
	var d drawn
	fields := make([]string, 5)
	for i, bounds := range [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}} {
		fields[i], d.sets[i] = drawField(t, bounds[0], bounds[1])
	}
	d.either = fields[2][0] != '*' && fields[4][0] != '*'
	d.text = strings.Join(fields, " ")
	return d
}

// drawInstant draws an instant, often near a change of the clocks.
func drawInstant(t *rapid.T, loc *time.Location) time.Time {
	u := time.Unix(rapid.Int64Range(-1e9, 4e9).Draw(t, "instant"), 0).In(loc)
	if _, end := u.ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(t, "near a change") {
		u = end.Add(time.Duration(rapid.Int64Range(-100_000, 100_000).Draw(t, "seconds from it")) * time.Second)
	}
	return u.UTC()
}

func drawExpr(t *rapid.T) (drawn, *cron.Expr, *time.Location) {
	d := draw(t)
	names := make([]string, 0, len(places()))
	for name := range places() {
		names = append(names, name)
	}
	slices.Sort(names)
	zone := rapid.SampledFrom(names).Draw(t, "zone")
	e, err := cron.Parse(d.text, zone, nil)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return d, e, loc
}

// TestNextIsMonotone: the next firing after several instants is later than each, and the same for all instants before
// it.
func TestNextIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, e, loc := drawExpr(t)
		after := drawInstant(t, loc)
		next, ok := e.Next(after)
		if !ok {
			if again, ok := e.Next(after.Add(time.Hour)); ok {
				t.Fatalf("%q never fires after %v, and at %v", e, after, again)
			}
			return
		}
		if !next.After(after) || next.Location() != time.UTC {
			t.Fatalf("%q after %v: %v", e, after, next)
		}
		between := after.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(after))-1).Draw(t, "between")))
		if same, ok := e.Next(between); !ok || !same.Equal(next) {
			t.Fatalf("%q after %v: %v, but after %v: %v", e, after, next, between, same)
		}
	})
}

// TestSlotsAscend: over many firings no slot repeats, and instants and slots have the same order.
func TestSlotsAscend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, e, loc := drawExpr(t)
		last, slot := drawInstant(t, loc), ""
		for range 60 {
			next, ok := e.Next(last)
			if !ok {
				return
			}
			if s := e.Slot(next); !next.After(last) || s <= slot {
				t.Fatalf("%q fires at %v as %s after %v as %s", e, next, s, last, slot)
			} else {
				last, slot = next, s
			}
		}
	})
}

// TestNothingIsMissed checks each minute before the next firing, and the slot of the firing. A reading is due if it
// matches the expression and the clock shows it for the first time or has just skipped it.
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, e, loc := drawExpr(t)
		after := drawInstant(t, loc).Truncate(time.Minute)
		next, ok := e.Next(after)
		end := after.Add(36 * time.Hour)
		if ok && next.Before(end) {
			end = next
		}
		onWall := func(u time.Time) time.Time {
			_, offset := u.In(loc).Zone()
			return u.UTC().Add(time.Duration(offset) * time.Second)
		}
		high := onWall(after) // the latest reading that the clock has reached
		for u := after.Add(-30 * time.Hour); u.Before(after); u = u.Add(time.Minute) {
			if w := onWall(u); w.After(high) {
				high = w
			}
		}
		for u := after.Add(time.Minute); !u.After(end); u = u.Add(time.Minute) {
			due, now := false, onWall(u)
			for high.Before(now) {
				high = high.Add(time.Minute)
				due = due || d.matches(high)
			}
			if fired := ok && u.Equal(next); due != fired {
				t.Fatalf("%q in %v after %v: at %v due is %v and fired %v", e, loc, after, u, due, fired)
			}
		}
	})
}
