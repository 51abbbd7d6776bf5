package crontime

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseUnix parses five fields, or a word such as @daily, with the rules of the cron of Paul Vixie: the fields have
// lists, ranges, steps, and three-letter names of months and weekdays; 0 and 7 are Sunday; and if no day field
// begins with a star, one of the two has to match. A step after a single value goes on to the end of the field.
func ParseUnix(text string) (Spec, error) {
	if fields, ok := word(strings.ToLower(strings.TrimSpace(text))); ok {
		text = fields
	}
	fields := strings.Fields(text)
	switch {
	case len(fields) > 0 && strings.HasPrefix(fields[0], "@"):
		return Spec{}, fmt.Errorf("%s is no time of the clock", quote(fields[0]))
	case len(fields) != 5:
		return Spec{}, fmt.Errorf("the expression has %d fields and not five", len(fields))
	}
	var sets [5]Set
	for f := Minute; f <= Weekday; f++ {
		set, err := f.Parse(fields[f])
		if err != nil {
			return Spec{}, fmt.Errorf("%s: %w", f, err)
		}
		sets[f] = set
	}
	return Spec{
		Minutes: sets[Minute], Hours: sets[Hour], Days: sets[Day], Months: sets[Month], Weekdays: sets[Weekday],
		Either: fields[Day][0] != '*' && fields[Weekday][0] != '*',
	}, nil
}

// word returns the fields of a word.
func word(w string) (string, bool) {
	switch w {
	case "@yearly", "@annually":
		return "0 0 1 1 *", true
	case "@monthly":
		return "0 0 1 * *", true
	case "@weekly":
		return "0 0 * * 0", true
	case "@daily", "@midnight":
		return "0 0 * * *", true
	case "@hourly":
		return "0 * * * *", true
	case "@every_minute":
		return "* * * * *", true
	}
	return "", false
}

// Parse parses the text of a field by the rules of ParseUnix.
func (f Field) Parse(text string) (Set, error) {
	var set Set
	for part := range strings.SplitSeq(text, ",") {
		values, err := f.part(part)
		if err != nil {
			return 0, err
		}
		set |= values
	}
	return set, nil
}

// part parses an element of a list.
func (f Field) part(text string) (Set, error) {
	span, by, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		n, ok := number(by)
		if !ok || n == 0 {
			return 0, fmt.Errorf("the step %s is not a number above 0", quote(by))
		}
		step = n
	}
	low, high := f.Bounds()
	if span != "*" {
		first, last, ranged := strings.Cut(span, "-")
		from, err := f.value(first)
		if err != nil {
			return 0, err
		}
		to := from
		switch {
		case ranged:
			if to, err = f.value(last); err != nil {
				return 0, err
			}
			if f == Weekday && strings.EqualFold(last, "sun") {
				to = 7
			}
		case stepped:
			to = max(high, from)
		}
		if from > to {
			return 0, fmt.Errorf("the range %s runs backwards", quote(span))
		}
		low, high = from, to
	}
	set := Range(low, high, step)
	if f == Weekday && set.Has(7) {
		set = set&^Of(7) | Of(0)
	}
	return set, nil
}

// value parses a number or a name.
func (f Field) value(text string) (int, error) {
	low, high := f.Bounds()
	if i := f.named(text); i >= 0 {
		return low + i, nil
	}
	if f == Weekday {
		high = 7
	}
	n, ok := number(text)
	switch {
	case text == "":
		return 0, errors.New("a value is missing")
	case !ok && strings.Trim(text, "0123456789") != "":
		return 0, fmt.Errorf("%s is not supported", quote(text))
	case !ok || n < low || n > high:
		return 0, fmt.Errorf("%s is not between %d and %d", quote(text), low, high)
	}
	return n, nil
}

// named returns the index of a name of a month or weekday, otherwise -1.
func (f Field) named(text string) int {
	var names string
	switch f {
	case Month:
		names = "janfebmaraprmayjunjulaugsepoctnovdec"
	case Weekday:
		names = "sunmontuewedthufrisat"
	}
	if len(text) != 3 {
		return -1
	}
	if i := strings.Index(names, strings.ToLower(text)); i >= 0 && i%3 == 0 {
		return i / 3
	}
	return -1
}

// number parses at most four digits without a sign.
func number(text string) (int, bool) {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// quote returns a text of an expression for a message.
func quote(s string) string {
	const most = 32
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strconv.Quote(s)
}
