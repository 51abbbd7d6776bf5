package awx

import (
	"slices"
	"time"
)

// A rule is searched for years that may have no match, and for days within the budget of its export.
const (
	maxYears = 45
	day      = 24 * time.Hour
	// perMinutes is what a day costs whose minutes are looked at.
	perMinutes = 50
)

// computed reports whether next computes the rule.
func (r *rule) computed() bool {
	return len(r.odd) == 0 && r.count <= maxCount && len(r.seconds) <= 1 && (len(r.positions) == 0 || !r.short())
}

// short reports whether the rule repeats within a day.
func (r *rule) short() bool { return r.freq == hourly || r.freq == minutely }

// next returns the next fires after now, at most n. It returns none for a rule that it does not compute, and takes the
// days that it looks at from left.
func (r *rule) next(now time.Time, n int, left *int) (fires []time.Time) {
	if !r.computed() {
		return nil
	}
	after := wallOf(now.In(r.zone)).Add(-2 * day) // a clock never changes by more
	k := 0
	if r.count == 0 {
		k = r.period(after)
	}
	end := maxYears + max(after.Year(), r.start.Year())
	for counted := 0; *left > 0; k++ {
		from, to := r.span(k)
		if from.Year() > end || !r.until.IsZero() && from.After(r.until) {
			return fires
		}
		for _, t := range r.within(from, to, left) {
			if t.Before(r.start) {
				continue
			}
			if !r.until.IsZero() && t.After(r.until) {
				return fires
			}
			if counted++; r.count > 0 && counted > r.count {
				return fires
			}
			if at, real := r.at(t); real && at.After(now) {
				if fires = append(fires, at); len(fires) == n {
					return fires
				}
			}
		}
	}
	return fires
}

// period returns the number of a period that begins at or before t, 0 for a time before the start.
func (r *rule) period(t time.Time) int {
	if !t.After(r.start) {
		return 0
	}
	n, months := 0, (t.Year()-r.start.Year())*12+int(t.Month())-int(r.start.Month())
	days := daysBetween(r.start, t)
	switch r.freq {
	case yearly:
		n = (t.Year() - r.start.Year()) / r.interval
	case monthly:
		n = months / r.interval
	case weekly:
		n = days / 7 / r.interval
	case daily:
		n = days / r.interval
	default:
		return days
	}
	return max(0, n-1)
}

// span returns the days of a period: from the first one up to the last one.
func (r *rule) span(k int) (from, to time.Time) {
	// The bound keeps the years within those that a time can have.
	const most = 400 * 366 * 24 * 60
	step := min(k*min(r.interval, most), most)
	switch first := date(r.start); r.freq {
	case yearly:
		from = time.Date(first.Year()+step, 1, 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(1, 0, -1)
	case monthly:
		from = time.Date(first.Year(), first.Month()+time.Month(step), 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(0, 1, -1)
	case weekly:
		from = first.AddDate(0, 0, -(int(first.Weekday())-int(r.weekStart)+7)%7+7*step)
		return from, from.AddDate(0, 0, 6)
	case daily:
		from = first.AddDate(0, 0, step)
	default:
		from = first.AddDate(0, 0, k)
	}
	return from, from
}

// within returns the times of a period that the rule selects, in order.
func (r *rule) within(from, to time.Time, left *int) (out []time.Time) {
	for d := from; !d.After(to); d = d.AddDate(0, 0, 1) {
		if *left--; !r.onDay(d) {
			continue
		}
		if r.short() {
			*left -= perMinutes
		}
		for _, m := range r.times(d) {
			out = append(out, d.Add(time.Duration(m)*time.Minute+time.Duration(r.second())*time.Second))
		}
	}
	if len(r.positions) == 0 {
		return out
	}
	var chosen []time.Time
	for _, p := range r.positions {
		i := p - 1
		if p < 0 {
			i = len(out) + p
		}
		if i >= 0 && i < len(out) {
			chosen = append(chosen, out[i])
		}
	}
	slices.SortFunc(chosen, time.Time.Compare)
	return slices.Compact(chosen)
}

func (r *rule) second() int {
	if len(r.seconds) > 0 {
		return r.seconds[0]
	}
	return r.start.Second()
}

// times returns the minutes of a day that the rule selects.
func (r *rule) times(d time.Time) (out []int) {
	passed := daysBetween(r.start, d) * 24 * 60
	begin := r.start.Hour()*60 + r.start.Minute()
	for h := range 24 {
		if r.hours != nil && !slices.Contains(r.hours, h) || r.freq == hourly && mod(passed/60+h-begin/60, r.interval) != 0 {
			continue
		}
		for m := range 60 {
			if r.minutes != nil && !slices.Contains(r.minutes, m) ||
				r.freq == minutely && mod(passed+h*60+m-begin, r.interval) != 0 {
				continue
			}
			out = append(out, h*60+m)
		}
	}
	return out
}

func mod(a, b int) int { return (a%b + b) % b }

// onDay reports whether the rule selects a day.
func (r *rule) onDay(d time.Time) bool {
	if r.months != nil && !slices.Contains(r.months, int(d.Month())) {
		return false
	}
	last := d.AddDate(0, 1, -d.Day()).Day()
	if r.monthDays != nil && !slices.Contains(r.monthDays, d.Day()) && !slices.Contains(r.monthDays, d.Day()-last-1) {
		return false
	}
	return r.days == nil || slices.ContainsFunc(r.days, func(w weekday) bool { return r.onWeekday(w, d) })
}

func (r *rule) onWeekday(w weekday, d time.Time) bool {
	if w.day != d.Weekday() {
		return false
	}
	before, length := d.Day(), d.AddDate(0, 1, -d.Day()).Day()
	if r.freq == yearly && r.months == nil {
		before, length = d.YearDay(), time.Date(d.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
	}
	if w.n == 0 || r.freq != monthly && r.freq != yearly {
		return true
	}
	if w.n > 0 {
		return (before-1)/7+1 == w.n
	}
	return (length-before)/7+1 == -w.n
}

func date(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// daysBetween returns the number of days between two dates.
func daysBetween(from, to time.Time) int {
	const seconds = 24 * 60 * 60
	return int((date(to).Unix() - date(from).Unix()) / seconds)
}

// at returns the first instant at which the clock of the zone shows t, and false if it never does.
func (r *rule) at(t time.Time) (time.Time, bool) {
	out, found := time.Time{}, false
	for _, near := range []time.Duration{-day, day} {
		_, offset := t.Add(near).In(r.zone).Zone()
		at := t.Add(-time.Duration(offset) * time.Second)
		if wallOf(at.In(r.zone)).Equal(t) && (!found || at.Before(out)) {
			out, found = at, true
		}
	}
	return out, found
}

// skips reports whether the clock of the zone skips a time of the rule in the year after now.
func (r *rule) skips(now time.Time, left *int) bool {
	const year = 366
	if *left -= year; *left < 0 {
		return false
	}
	_, before := now.In(r.zone).Zone()
	for n := range year {
		at := now.Add(time.Duration(n+1) * day).In(r.zone)
		_, offset := at.Zone()
		forward := offset > before
		if before = offset; !forward {
			continue
		}
		for _, d := range []time.Time{date(at.Add(-day)), date(at)} {
			if !r.onDay(d) {
				continue
			}
			for _, m := range r.times(d) {
				if _, real := r.at(d.Add(time.Duration(m) * time.Minute)); !real {
					return true
				}
			}
		}
	}
	return false
}

// instant returns the instant of a reading of the clock, also of one that the clock never shows.
func (r *rule) instant(t time.Time) time.Time {
	if at, ok := r.at(t); ok {
		return at
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, r.zone)
}
