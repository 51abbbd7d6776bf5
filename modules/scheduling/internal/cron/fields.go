package cron

import "strings"

// field describes one of the five fields.
type field struct {
	name      string
	low, high int      // the values of *
	top       int      // highest allowed value
	names     []string // names of the values from low on
}

// count returns how many values the field has.
func (f field) count() int { return f.high - f.low + 1 }

func fields() [5]field {
	return [5]field{
		{name: "minute", low: 0, high: 59, top: 59},
		{name: "hour", low: 0, high: 23, top: 23},
		{name: "day of month", low: 1, high: 31, top: 31},
		{name: "month", low: 1, high: 12, top: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
		{name: "day of week", low: 0, high: 6, top: sunday, names: strings.Fields("sun mon tue wed thu fri sat")},
	}
}

// sunday is the second number of Sunday, so that a range can end with it.
const sunday = 7

// macro returns the expression of a word such as @daily.
func macro(w string) (string, bool) {
	switch strings.ToLower(w) {
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
	default:
		return "", false
	}
}

// foreign returns what a piece of a field means in other products, empty if it is unknown.
func foreign(piece string, names []string) string {
	p := strings.ToUpper(piece)
	switch {
	case strings.Contains(p, "?"):
		return "? (no value) is not supported; write *"
	case strings.Contains(p, "#"):
		return "# (the n-th weekday of a month) is not supported"
	case strings.Contains(p, "~"):
		return "~ (a random value) is not supported; write the value"
	case strings.HasPrefix(p, "H"):
		return "H (a value that the server chooses) is not supported; write the value"
	case p == "W", p == "LW", strings.HasSuffix(p, "W") && digits(p[:len(p)-1]):
		return "W (the nearest working day) is not supported"
	case p == "L", strings.HasPrefix(p, "L-"),
		strings.HasSuffix(p, "L") && (digits(p[:len(p)-1]) || named(names, p[:len(p)-1]) >= 0):
		return "L (the last day) is not supported"
	default:
		return ""
	}
}

// named returns the index of a name, in any case, or -1.
func named(names []string, s string) int {
	for i, n := range names {
		if strings.EqualFold(n, s) {
			return i
		}
	}
	return -1
}

// digits reports whether s is a number.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
