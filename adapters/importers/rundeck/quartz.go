package rundeck

import (
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/importers/crontime"
)

// quartz is an expression of Quartz.
type quartz struct {
	spec   crontime.Spec
	second int
}

// next returns the next times at which an expression fires, with its second.
func (q quartz) next(after time.Time, loc *time.Location, n int) []time.Time {
	shift := time.Duration(q.second) * time.Second
	out := q.spec.Next(after.Add(-shift), loc, n)
	for i := range out {
		out[i] = out[i].Add(shift)
	}
	return out
}

// quartzField is a field of an expression: the names of its values, and their numbers.
type quartzField struct {
	name      string
	low, high int
	names     []string
	of        func(crontime.Set) crontime.Set // the values as crontime has them
}

func same(s crontime.Set) crontime.Set { return s }

// quartzFields returns the fields from the minute on. Weekdays begin with 1, which is Sunday.
func quartzFields() [5]quartzField {
	return [5]quartzField{
		{"minute", 0, 59, nil, same},
		{"hour", 0, 23, nil, same},
		{"day of month", 1, 31, nil, same},
		{"month", 1, 12, strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"), same},
		{"day of week", 1, 7, strings.Fields("SUN MON TUE WED THU FRI SAT"),
			func(s crontime.Set) crontime.Set { return s >> 1 }},
	}
}

// maxExpression bounds an expression, in bytes.
const maxExpression = 512

// parseQuartz returns an expression, or the reason why cron cannot express it. The fields are second, minute, hour, day
// of month, month, day of week and, if it is there, year.
func parseQuartz(text string) (q quartz, reason string) {
	parts := strings.Fields(text)
	if len(text) > maxExpression || len(parts) < 6 || len(parts) > 7 {
		return q, "it has not six or seven fields"
	}
	second, err := strconv.Atoi(parts[0])
	if err != nil || second < 0 || second > 59 {
		return q, "it may fire more than once a minute"
	}
	q.second = second
	if len(parts) == 7 && parts[6] != "*" && parts[6] != "?" {
		return q, "cron has no field for the year " + parts[6]
	}
	if day, weekday := parts[3], parts[5]; day != "?" && day != "*" && weekday != "?" && weekday != "*" {
		return q, "it restricts both the day of the month and the day of the week, which Quartz does not allow"
	}
	into := []*crontime.Set{&q.spec.Minutes, &q.spec.Hours, &q.spec.Days, &q.spec.Months, &q.spec.Weekdays}
	for i, f := range quartzFields() {
		set, reason := f.parse(strings.ToUpper(parts[i+1]), i == 2 || i == 4)
		if reason != "" {
			return q, reason
		}
		*into[i] = f.of(set)
	}
	return q, ""
}

// parse returns the values of a field. A ? is for the day fields.
func (f quartzField) parse(text string, mayOmit bool) (crontime.Set, string) {
	if text == "?" && mayOmit {
		return crontime.Range(f.low, f.high, 1), ""
	}
	if f.high == 7 && text == "L" {
		return crontime.Of(7), "" // alone it is Saturday
	}
	var out crontime.Set
	for piece := range strings.SplitSeq(text, ",") {
		set, reason := f.piece(piece)
		if reason != "" {
			return 0, reason
		}
		out |= set
	}
	return out, ""
}

func (f quartzField) piece(text string) (crontime.Set, string) {
	bad := "the " + f.name + " " + strconv.Quote(text) + " is not valid"
	span, by, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		var err error
		if step, err = strconv.Atoi(by); err != nil || step < 1 || step > 60 {
			return 0, bad
		}
	}
	if span == "*" || span == "" && stepped {
		return crontime.Range(f.low, f.high, step), ""
	}
	first, last, ranged := strings.Cut(span, "-")
	low, ok := f.number(first)
	if !ok {
		if f.special(span) {
			return 0, "cron has no counterpart for the " + f.name + " " + strconv.Quote(text)
		}
		return 0, bad
	}
	high := low
	switch {
	case ranged:
		if high, ok = f.number(last); !ok {
			return 0, bad
		}
	case stepped:
		high = f.high
	}
	if low <= high {
		return crontime.Range(low, high, step), ""
	}
	// A range that wraps goes on at the first value.
	var out crontime.Set
	count := f.high - f.low + 1
	for v := low; v <= high+count; v += step {
		out |= crontime.Of(f.low + (v-f.low)%count)
	}
	return out, ""
}

// special reports whether a text is one of the forms that count from the end of a month or name its weekdays.
func (f quartzField) special(text string) bool {
	return strings.Trim(text, "0123456789LWC#-SUNMOTEHFRIA") == ""
}

// number returns the value of a number or a name.
func (f quartzField) number(text string) (int, bool) {
	for i, n := range f.names {
		if text == n {
			return f.low + i, true
		}
	}
	if len(text) > 4 || text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	v, _ := strconv.Atoi(text)
	return v, v >= f.low && v <= f.high
}
