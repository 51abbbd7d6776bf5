package awx

import (
	"slices"

	"github.com/writ-automation/writ/adapters/importers/crontime"
)

// cron returns the expression that fires when the rule does, apart from its beginning and end, or why there is none.
func (r *rule) cron() (expr, reason string) {
	if reason = r.inexpressible(); reason != "" {
		return "", reason
	}
	minutes, hours, months := r.minutes, r.hours, r.months
	switch r.freq {
	case minutely:
		if minutes != nil {
			return "", "No cron expression has its minutes"
		}
		if r.interval%60 == 0 {
			minutes, hours = []int{r.start.Minute()}, every(r.interval/60, r.start.Hour(), 24, hours)
		} else {
			minutes = every(r.interval, r.start.Minute(), 60, nil)
		}
	case hourly:
		hours = every(r.interval, r.start.Hour(), 24, hours)
	case monthly:
		if r.interval > 1 {
			months = []int{}
			for _, m := range every(r.interval, int(r.start.Month())-1, 12, nil) {
				if r.months == nil || slices.Contains(r.months, m+1) {
					months = append(months, m+1)
				}
			}
		}
	}
	days := crontime.Set(0)
	for _, d := range r.days {
		days |= crontime.Of(int(d.day))
	}
	if r.days == nil {
		days = crontime.Weekday.All()
	}
	spec := crontime.Spec{
		Minutes: set(crontime.Minute, minutes), Hours: set(crontime.Hour, hours), Days: set(crontime.Day, r.monthDays),
		Months: set(crontime.Month, months), Weekdays: days,
	}
	if spec.Minutes == 0 || spec.Hours == 0 || spec.Months == 0 {
		return "", "It never fires"
	}
	if expr, ok := spec.Unix(); ok {
		return expr, ""
	}
	return "", "A cron expression with a day of the month and a day of the week fires on either"
}

// set returns the values of a field, all for nil.
func set(f crontime.Field, values []int) crontime.Set {
	if values == nil {
		return f.All()
	}
	return crontime.Of(values...)
}

// inexpressible returns why no cron expression fires when the rule does, as far as its parts tell.
func (r *rule) inexpressible() string {
	n := r.interval
	switch {
	case len(r.odd) > 0:
		return "No cron expression has " + listed(r.odd)
	case r.count == 1:
		return "It fires once, and a schedule fires again and again"
	case len(r.positions) > 0:
		return "No cron expression has positions"
	case len(r.seconds) > 1:
		return "No cron expression has seconds"
	case slices.ContainsFunc(r.days, func(d weekday) bool { return d.n != 0 }):
		return "No cron expression has the n-th day of the week"
	case slices.ContainsFunc(r.monthDays, func(d int) bool { return d < 0 }):
		return "No cron expression counts days from the end of a month"
	case n == 1:
		return ""
	}
	fits := map[string]bool{
		minutely: 60%n == 0 || n%60 == 0 && 24%(n/60) == 0, hourly: 24%n == 0, monthly: 12%n == 0,
	}
	if !fits[r.freq] {
		return "No cron expression has this interval"
	}
	return ""
}

// every returns the values below limit that are a multiple of n away from start, among those of a list that is not nil.
// It is nil for all values.
func every(n, start, limit int, among []int) []int {
	if n == 1 {
		return among
	}
	out := []int{}
	for v := start % n; v < limit; v += n {
		if among == nil || slices.Contains(among, v) {
			out = append(out, v)
		}
	}
	return out
}
