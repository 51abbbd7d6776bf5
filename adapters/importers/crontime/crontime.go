// Package crontime computes the times of the cron expressions of other products, each by its own rules. It shares no
// code with the schedules of the server, so that the two can be compared.
package crontime

import (
	"math/bits"
	"strconv"
	"strings"
)

// Set is a set of the values of a field: bit n is the value n. Sunday is 0.
type Set uint64

// Of returns the set of some values of 0 to 63.
func Of(values ...int) Set {
	var s Set
	for _, v := range values {
		s |= 1 << uint(v)
	}
	return s
}

// Range returns every step-th value from low to high, which are 0 to 63. A step is at least 1.
func Range(low, high, step int) Set {
	var s Set
	for v := low; v <= high; v += step {
		s |= 1 << uint(v)
	}
	return s
}

// Has reports whether a value is in the set.
func (s Set) Has(v int) bool { return v >= 0 && v < 64 && s>>uint(v)&1 != 0 }

// Len returns the number of values.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// First returns the smallest value, 64 if there is none.
func (s Set) First() int { return bits.TrailingZeros64(uint64(s)) }

// Values returns the values in ascending order.
func (s Set) Values() []int {
	var out []int
	for ; s != 0; s &= s - 1 {
		out = append(out, s.First())
	}
	return out
}

// Field is a field of an expression.
type Field int

// The fields, in the order of Unix.
const (
	Minute Field = iota
	Hour
	Day
	Month
	Weekday
)

// String returns the name of the field for a message.
func (f Field) String() string {
	return [...]string{"minute", "hour", "day of month", "month", "day of week"}[f]
}

// Bounds returns the smallest and the largest value.
func (f Field) Bounds() (low, high int) {
	b := [...][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}[f]
	return b[0], b[1]
}

// All returns the set of all values.
func (f Field) All() Set {
	low, high := f.Bounds()
	return Range(low, high, 1)
}

// Text returns a set of values of the field as the server and Unix read it: * for all values, and a star with a step
// where that is the same.
func (f Field) Text(s Set) string {
	low, high := f.Bounds()
	if s == f.All() {
		return "*"
	}
	n := s.step()
	if s.Len() == 2 && f <= Hour {
		n = (s &^ Of(s.First())).First() - s.First()
	}
	if n > 0 && s == Range(low, high, n) {
		return "*/" + strconv.Itoa(n)
	}
	return f.list(s)
}

// list returns a set as a text that does not begin with a star.
func (f Field) list(s Set) string {
	_, high := f.Bounds()
	if n := s.step(); n > 1 {
		values := s.Values()
		first, last := values[0], values[len(values)-1]
		if s == Range(first, high, n) {
			last = high
		}
		return strconv.Itoa(first) + "-" + strconv.Itoa(last) + "/" + strconv.Itoa(n)
	}
	var out []string
	for rest := s; rest != 0; {
		first := rest.First()
		last := first
		for rest.Has(last + 1) {
			last++
		}
		switch last - first {
		case 0:
			out = append(out, strconv.Itoa(first))
		case 1:
			out = append(out, strconv.Itoa(first), strconv.Itoa(last))
		default:
			out = append(out, strconv.Itoa(first)+"-"+strconv.Itoa(last))
		}
		rest &^= Range(first, last, 1)
	}
	return strings.Join(out, ",")
}

// starred returns a set with the first value of the field as a text that begins with a star, so that the field does not
// count as restricted. It returns false for a set without that value.
func (f Field) starred(s Set) (string, bool) {
	low, high := f.Bounds()
	if !s.Has(low) {
		return "", false
	}
	if text := f.Text(s); text[0] == '*' {
		return text, true
	}
	only := "*/" + strconv.Itoa(high-low+1) // the first value alone
	if rest := s &^ Of(low); rest != 0 {
		return only + "," + f.list(rest), true
	}
	return only, true
}

// step returns the distance between the values if it is the same everywhere and there are at least three, otherwise 0.
func (s Set) step() int {
	values := s.Values()
	if len(values) < 3 {
		return 0
	}
	n := values[1] - values[0]
	if s != Range(values[0], values[len(values)-1], n) {
		return 0
	}
	return n
}
