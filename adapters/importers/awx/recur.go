package awx

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/importers/crontime"
)

// The frequencies of rules.
const (
	yearly   = "YEARLY"
	monthly  = "MONTHLY"
	weekly   = "WEEKLY"
	daily    = "DAILY"
	hourly   = "HOURLY"
	minutely = "MINUTELY"
)

// rule is a recurrence. Its times are readings of the clock of its zone, in the fields of a time in UTC.
type rule struct {
	start    time.Time
	zone     *time.Location
	freq     string
	interval int
	count    int
	until    time.Time // zero for none

	months, monthDays, hours, minutes, seconds, positions []int
	days                                                  []weekday
	weekStart                                             time.Weekday
	odd                                                   []string // parts that are not computed
}

// weekday is a day of the week; n counts it in a month or year, from the end if negative, 0 for each.
type weekday struct {
	n   int
	day time.Weekday
}

const (
	clock    = "20060102T150405"
	maxRule  = 4096 // bytes of a recurrence
	maxCount = 999  // that the product takes
	maxList  = 400  // values of one part
)

// parseRule parses a recurrence: DTSTART and RRULE, between blanks. The error is a part of a sentence. The zone is
// never nil; zones keeps those that were loaded.
func parseRule(s string, zones map[string]*time.Location) (*rule, error) {
	r := &rule{zone: time.UTC, interval: 1, weekStart: time.Monday}
	if len(s) > maxRule {
		return r, errors.New("it is too long")
	}
	var rules int
	var text string
	for field := range strings.FieldsSeq(s) {
		name, value, _ := strings.Cut(field, ":")
		switch name, params, _ := strings.Cut(strings.ToUpper(name), ";"); name {
		case "DTSTART":
			if err := r.begin(params, field, value, zones); err != nil {
				return r, err
			}
		case "RRULE":
			rules++
			text = value
		default:
			r.odd = append(r.odd, shown(name))
		}
	}
	switch {
	case r.start.IsZero():
		return r, errors.New("it has no DTSTART")
	case rules == 0:
		return r, errors.New("it has no RRULE")
	case rules > 1:
		r.odd = append(r.odd, "several rules")
	}
	for part := range strings.SplitSeq(strings.ToUpper(text), ";") {
		name, value, _ := strings.Cut(part, "=")
		if err := r.part(name, value); err != nil {
			return r, fmt.Errorf("%s has a wrong value", shown(name))
		}
	}
	if r.freq == "" || r.interval < 1 {
		return r, errors.New("it has no FREQ, or no valid INTERVAL")
	}
	r.defaults()
	return r, nil
}

// begin reads DTSTART. The name of the zone is taken from field, which has its case.
func (r *rule) begin(params, field, value string, zones map[string]*time.Location) error {
	if at := strings.Index(params, "TZID="); at >= 0 {
		name, _, _ := strings.Cut(field[strings.Index(strings.ToUpper(field), "TZID=")+len("TZID="):], ":")
		if zones[name] == nil {
			zone, err := crontime.Zone(name)
			if err != nil {
				return errors.New("its time zone is not known")
			}
			zones[name] = zone
		}
		r.zone = zones[name]
	}
	t, err := time.Parse(clock, strings.TrimSuffix(value, "Z"))
	if err != nil {
		if t, err = time.Parse("20060102", value); err != nil {
			return errors.New("DTSTART is not a time")
		}
	}
	if r.start = t; strings.HasSuffix(value, "Z") {
		r.start = wallOf(t.In(r.zone))
	}
	return nil
}

// wallOf returns the reading of a clock as a time in UTC.
func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func (r *rule) part(name, value string) (err error) {
	switch name {
	case "":
	case "FREQ":
		if r.freq = value; !slices.Contains([]string{yearly, monthly, weekly, daily, hourly, minutely}, value) {
			return errors.New("not a frequency")
		}
	case "INTERVAL":
		r.interval, err = strconv.Atoi(value)
	case "COUNT":
		if r.count, err = strconv.Atoi(value); err == nil && r.count < 1 {
			return errors.New("not a count")
		}
	case "UNTIL":
		r.until, err = r.end(value)
	case "WKST":
		var list []weekday
		if list, err = weekdays(value); err == nil {
			r.weekStart = list[0].day
		}
	case "BYDAY", "BYWEEKDAY":
		r.days, err = weekdays(value)
	case "BYMONTH":
		r.months, err = numbers(value, 1, 12)
	case "BYMONTHDAY":
		r.monthDays, err = numbers(value, -31, 31)
	case "BYHOUR":
		r.hours, err = numbers(value, 0, 23)
	case "BYMINUTE":
		r.minutes, err = numbers(value, 0, 59)
	case "BYSECOND":
		r.seconds, err = numbers(value, 0, 59)
	case "BYSETPOS":
		r.positions, err = numbers(value, -366, 366)
	default:
		r.odd = append(r.odd, shown(name))
	}
	return err
}

// end reads UNTIL as a reading of the clock of the zone.
func (r *rule) end(value string) (time.Time, error) {
	if t, err := time.Parse("20060102", value); err == nil {
		return t, nil
	}
	t, err := time.Parse(clock, strings.TrimSuffix(value, "Z"))
	if err == nil && strings.HasSuffix(value, "Z") {
		t = wallOf(t.In(r.zone))
	}
	return t, err
}

func numbers(s string, low, high int) ([]int, error) {
	var out []int
	for item := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(item)
		if err != nil || n < low || n > high || n == 0 && low != 0 || len(out) == maxList {
			return nil, errors.New("not a number that is allowed")
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func weekdays(s string) ([]weekday, error) {
	names := []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}
	var out []weekday
	for item := range strings.SplitSeq(s, ",") {
		at := max(0, len(item)-2)
		day, n := slices.Index(names, item[at:]), 0
		if at > 0 {
			var err error
			if n, err = strconv.Atoi(item[:at]); err != nil || n == 0 || n < -53 || n > 53 {
				day = -1
			}
		}
		if day < 0 || len(out) == maxList {
			return nil, errors.New("not a day of the week")
		}
		out = append(out, weekday{n, time.Weekday(day)})
	}
	return out, nil
}

// defaults takes from the start what the rule does not say.
func (r *rule) defaults() {
	if len(r.days)+len(r.monthDays) == 0 {
		switch r.freq {
		case yearly:
			if r.months == nil {
				r.months = []int{int(r.start.Month())}
			}
			r.monthDays = []int{r.start.Day()}
		case monthly:
			r.monthDays = []int{r.start.Day()}
		case weekly:
			r.days = []weekday{{0, r.start.Weekday()}}
		}
	}
	if r.hours == nil && r.freq != hourly && r.freq != minutely {
		r.hours = []int{r.start.Hour()}
	}
	if r.minutes == nil && r.freq != minutely {
		r.minutes = []int{r.start.Minute()}
	}
}
