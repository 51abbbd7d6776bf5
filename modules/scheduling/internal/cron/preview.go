package cron

import (
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

// Preview returns the next n firing instants after a time, with notes about unexpected ones. Zero is
// scheduling.DefaultPreview, and more than scheduling.MaxPreview is reduced to that. A negative n is an Invalid fault
// that names `count`.
func (e *Expr) Preview(after time.Time, n int) (scheduling.Preview, error) {
	switch {
	case n < 0:
		return scheduling.Preview{}, fault.BadField("count", "%d is no count; 1 to %d times can be told", n,
			scheduling.MaxPreview)
	case n == 0:
		n = scheduling.DefaultPreview
	}
	n = min(n, scheduling.MaxPreview)
	next := make([]time.Time, 0, n)
	for t := after; len(next) < n; {
		at, ok := e.Next(t)
		if !ok {
			break
		}
		next, t = append(next, at), at
	}
	return scheduling.Preview{Cron: e.text, Timezone: e.zone, Next: next, Notes: e.notes(after, next, n)}, nil
}

// notes returns the notes of a preview of n times.
func (e *Expr) notes(after time.Time, next []time.Time, n int) []string {
	if _, ok := e.slot(0, horizon); !ok {
		return []string{"This expression never fires: no date has a day and a month that it names."}
	}
	var out []string
	if e.zone == "" {
		out = append(out, e.localNote(after))
	}
	out = append(out, e.dayNotes()...)
	if len(next) > 0 {
		out = append(out, e.clockNotes(after.Unix(), next[len(next)-1].Unix())...)
	}
	if len(next) < n {
		out = append(out, "Nothing after the year 9999 is computed.")
	}
	return out
}

// localNote returns a note about the clock that applies without a zone.
func (e *Expr) localNote(after time.Time) string {
	if name := e.loc.String(); name != "Local" {
		return fmt.Sprintf("No timezone is set: the server's local time counts, which is %s.", name)
	}
	return fmt.Sprintf("No timezone is set: the server's local time counts, which is %s now.",
		after.In(e.loc).Format("UTC-07:00 (MST)"))
}

// clock returns the name of the clock for a sentence.
func (e *Expr) clock() string {
	if e.zone == "" {
		return "the server"
	}
	return e.zone
}

// dayNotes returns notes about the combination of the day fields, and about days that do not exist in every month.
func (e *Expr) dayNotes() []string {
	var out []string
	everyDay, everyWeekday := e.dom == setOf(fields()[2]), e.dow == setOf(fields()[4])
	switch {
	case e.either():
		out = append(out, "Day of month and day of week are both set: it fires on each day that matches either of them.")
	case !everyDay && !everyWeekday:
		out = append(out,
			"A day field that begins with * does not count as set: it fires only on days that match both day fields.")
	}
	if e.domStar || everyDay {
		return out
	}
	for d := 29; d <= 31; d++ {
		if e.dom&(1<<uint(d)) == 0 {
			continue
		}
		if months := e.monthsWithout(d); len(months) > 0 {
			out = append(out, fmt.Sprintf("Day %d does not exist in %s and is left out there.", d, enumerate(months)))
		}
	}
	if e.dom&(1<<29) != 0 && e.month&(1<<uint(time.February)) != 0 {
		out = append(out, "Day 29 exists in February in leap years only.")
	}
	return out
}

// monthsWithout returns the months of the expression that never have the day d.
func (e *Expr) monthsWithout(d int) []string {
	var out []string
	for m := time.January; m <= time.December; m++ {
		const leap = 2024
		if e.month&(1<<uint(m)) != 0 && time.Date(leap, m, d, 0, 0, 0, 0, time.UTC).Month() != m {
			out = append(out, m.String())
		}
	}
	return out
}

// mostChanges is the largest number of clock changes with their own note.
const mostChanges = 6

// clockNotes returns notes about clock changes that affect a slot of the preview.
func (e *Expr) clockNotes(after, last int64) []string {
	var out []string
	more := 0
	add := func(note string) {
		if len(out) == mostChanges {
			more++
			return
		}
		out = append(out, note)
	}
	// Fifty times span at most 2000 years, with a handful of segments in each.
	const most = 1 << 14
	s := segmentAt(e.loc, after-widest)
	for range most {
		at := s.end
		if at > last+widest {
			break
		}
		was, is := at+s.offset, at+offsetAt(e.loc, at)
		switch {
		case was < is && at > after && at <= last && e.skips(was, is):
			add(fmt.Sprintf("The clocks of %s skip %s: what is due in between fires once, right after.", e.clock(),
				span(was, is)))
		case is < was && e.repeats(at, was, is, after, last):
			add(fmt.Sprintf("The clocks of %s go back %s: what is due in the time that occurs twice fires once, the first time.",
				e.clock(), span(was, is)))
		}
		s = segmentAt(e.loc, at)
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("The clocks change %d more times within this preview, with the same effect.", more))
	}
	return out
}

// due returns the first slot of [low, high).
func (e *Expr) due(low, high wall) (wall, bool) {
	w, ok := e.slot(low+mod(-low, minute), high)
	return w, ok && w < high
}

// skips reports whether a slot is in the gap that the clocks skip from was to is.
func (e *Expr) skips(was, is wall) bool {
	_, ok := e.due(was, is)
	return ok
}

// repeats reports whether a slot occurs twice when the clocks go back at an instant from was to is: its first pass is
// not after the last time of the preview, and its second is not before its start.
func (e *Expr) repeats(at int64, was, is wall, after, last int64) bool {
	w, ok := e.due(is, was)
	return ok && w-(was-at) <= last && at+(was-is) > after
}

// span formats two readings of a clock.
func span(a, b wall) string {
	from, to := onWall(a), onWall(b)
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		return from.Format("on 2006-01-02 from 15:04 to ") + to.Format("15:04")
	}
	return from.Format("from 2006-01-02 15:04 to ") + to.Format("2006-01-02 15:04")
}

// setOf returns every value of a field.
func setOf(f field) uint64 {
	var set uint64
	for v := f.low; v <= f.high; v++ {
		set |= 1 << uint(v)
	}
	return set
}

// enumerate joins items as in a sentence.
func enumerate(items []string) string {
	out := items[0]
	for i, w := range items[1:] {
		if i == len(items)-2 {
			out += " and " + w
		} else {
			out += ", " + w
		}
	}
	return out
}
