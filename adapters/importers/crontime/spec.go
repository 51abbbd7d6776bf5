package crontime

import (
	"strings"
	"time"
)

// Spec is an expression as the minutes of a wall clock that it selects.
type Spec struct {
	Minutes, Hours, Days, Months, Weekdays Set
	// Either makes one of Days and Weekdays enough for a day to match, as in Unix if both are restricted. Otherwise both
	// have to match, as in Quartz and Jenkins.
	Either bool
}

// Every returns the expression of every minute.
func Every() Spec {
	return Spec{Minutes: Minute.All(), Hours: Hour.All(), Days: Day.All(), Months: Month.All(), Weekdays: Weekday.All()}
}

// Unix returns the expression as five fields with the rules of the server, which are those of Unix: one of two
// restricted day fields has to match, and a day field is restricted unless it begins with a star. It returns false if
// that cannot say the same, or if a field has no value.
func (s Spec) Unix() (string, bool) {
	if s.Minutes == 0 || s.Hours == 0 || s.Days == 0 || s.Months == 0 || s.Weekdays == 0 {
		return "", false
	}
	days, weekdays, ok := s.dayFields()
	if !ok {
		return "", false
	}
	return strings.Join([]string{
		Minute.Text(s.Minutes), Hour.Text(s.Hours), days, Month.Text(s.Months), weekdays,
	}, " "), true
}

func (s Spec) dayFields() (days, weekdays string, ok bool) {
	everyDay, everyWeekday := s.Days == Day.All(), s.Weekdays == Weekday.All()
	switch {
	case s.Either && (everyDay || everyWeekday):
		return "*", "*", true
	case s.Either:
		return Day.list(s.Days), Weekday.list(s.Weekdays), true
	case everyDay || everyWeekday:
		return Day.Text(s.Days), Weekday.Text(s.Weekdays), true
	}
	if text, ok := Day.starred(s.Days); ok {
		return text, Weekday.list(s.Weekdays), true
	}
	text, ok := Weekday.starred(s.Weekdays)
	return Day.list(s.Days), text, ok
}

// onDay reports whether a date matches.
func (s Spec) onDay(date time.Time) bool {
	if !s.Months.Has(int(date.Month())) {
		return false
	}
	day, weekday := s.Days.Has(date.Day()), s.Weekdays.Has(int(date.Weekday()))
	if s.Either {
		return day || weekday
	}
	return day && weekday
}

// years bounds the search: every date of a calendar occurs within it.
const years = 8

// Next returns the next times after a time, at most n and none that is more than eight years away. They are readings of
// the clock of the zone: a minute that the clock skips is left out, and of a minute that occurs twice the first counts.
// No two products agree on these.
func (s Spec) Next(after time.Time, loc *time.Location, n int) []time.Time {
	now := after.In(loc)
	year, month, day := now.Date()
	hour, minute := now.Hour(), now.Minute() // The clock has shown all readings before this one.
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	end := date.AddDate(years, 0, 0)
	var out []time.Time
	for len(out) < n && !date.After(end) {
		if !s.Months.Has(int(date.Month())) {
			date = time.Date(date.Year(), date.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			hour, minute = 0, 0
			continue
		}
		if s.onDay(date) {
			out = s.times(out, date, hour, minute, after, loc, n)
		}
		date = date.AddDate(0, 0, 1)
		hour, minute = 0, 0
	}
	return out
}

// times adds the times of a date from an hour and minute on until there are n.
func (s Spec) times(out []time.Time, date time.Time, hour, minute int, after time.Time, loc *time.Location, n int,
) []time.Time {
	for h := hour; h < 24; h++ {
		if !s.Hours.Has(h) {
			minute = 0
			continue
		}
		for m := minute; m < 60; m++ {
			if !s.Minutes.Has(m) {
				continue
			}
			t, ok := reading(date, h, m, loc)
			if !ok || !t.After(after) {
				continue
			}
			if out = append(out, t); len(out) == n {
				return out
			}
		}
		minute = 0
	}
	return out
}

// reading returns the first time at which a clock shows a reading, false if it never does.
func reading(date time.Time, hour, minute int, loc *time.Location) (time.Time, bool) {
	year, month, day := date.Date()
	t := time.Date(year, month, day, hour, minute, 0, 0, loc)
	if t.Hour() != hour || t.Minute() != minute || t.Day() != day {
		return time.Time{}, false
	}
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return t, true
	}
	_, was := start.Add(-time.Second).Zone()
	_, is := t.Zone()
	if first := t.Add(time.Duration(is-was) * time.Second); was > is && first.Before(start) {
		return first, true
	}
	return t, true
}
