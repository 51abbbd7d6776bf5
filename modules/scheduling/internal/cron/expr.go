package cron

import (
	"math/bits"
	"time"
)

// MaxLength is the largest length of an expression in bytes. It leaves room for every value of every field.
const MaxLength = 512

// Expr is an expression in a zone. It is immutable and safe for concurrent use.
type Expr struct {
	text string
	zone string // empty for the server's local time
	loc  *time.Location

	minute, hour, dom, month, dow uint64 // bit n is value n
	domStar, dowStar              bool   // the field begins with *, so it is not restricted
}

// Parse parses an expression and the name of an IANA zone. Without a name it uses local, or UTC if local is nil. It
// returns an Invalid fault that names the field `cron` or `timezone`, and for `cron` the invalid part and character.
// An expression that never fires, such as one for 30 February, is no error: Next reports it.
func Parse(expr, zone string, local *time.Location) (*Expr, error) {
	loc, err := location(zone, local)
	if err != nil {
		return nil, err
	}
	e := &Expr{zone: zone, loc: loc}
	if err := e.parse(expr); err != nil {
		return nil, err
	}
	return e, nil
}

// String returns the expression as written, without surrounding space.
func (e *Expr) String() string { return e.text }

// Zone returns the name of the zone, empty for the server's local time.
func (e *Expr) Zone() string { return e.zone }

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// horizon bounds the search for a matching date, in seconds. The rarest date is 29 February on one day of the week,
// which has gaps of up to 40 years, around 2100.
const horizon = 41 * 366 * day

// A wall is a reading of a zone's clock: the seconds since 1970-01-01 00:00 on that clock, without any changes of the
// clock.
type wall = int64

// onWall returns the reading as a time whose fields are those of the clock.
func onWall(w wall) time.Time { return time.Unix(w, 0).UTC() }

// slot returns the first slot at or after w, which must be a whole minute. It does not search days that begin at or
// after before, except for the day of w.
func (e *Expr) slot(w, before wall) (wall, bool) {
	t := onWall(w)
	midnight := w - wall(t.Hour()*hour+t.Minute()*minute)
	if e.onDay(t) {
		if s, ok := e.timeOfDay(t.Hour(), t.Minute()); ok {
			return midnight + s, true
		}
	}
	first, _ := e.timeOfDay(0, 0)
	date := onWall(midnight + day)
	for date.Unix() < before {
		switch {
		case e.month&(1<<uint(date.Month())) == 0:
			date = time.Date(date.Year(), date.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case e.onDay(date):
			return date.Unix() + first, true
		default:
			date = date.AddDate(0, 0, 1)
		}
	}
	return 0, false
}

// onDay reports whether the date of t matches the expression.
func (e *Expr) onDay(t time.Time) bool {
	if e.month&(1<<uint(t.Month())) == 0 {
		return false
	}
	dom, dow := e.dom&(1<<uint(t.Day())) != 0, e.dow&(1<<uint(t.Weekday())) != 0
	if e.either() {
		return dom || dow
	}
	return dom && dow
}

// either reports whether a day has to match only one day field.
func (e *Expr) either() bool { return !e.domStar && !e.dowStar }

// timeOfDay returns the first time of day, in seconds, at or after an hour and minute, or false if the day has no
// more.
func (e *Expr) timeOfDay(h, m int) (wall, bool) {
	if e.hour&(1<<uint(h)) != 0 {
		if rest := upFrom(e.minute, m); rest != 0 {
			return wall(h*hour + bits.TrailingZeros64(rest)*minute), true
		}
	}
	rest := upFrom(e.hour, h+1)
	if rest == 0 {
		return 0, false
	}
	return wall(bits.TrailingZeros64(rest)*hour + bits.TrailingZeros64(e.minute)*minute), true
}

// upFrom returns the values of a set that are n or more.
func upFrom(set uint64, n int) uint64 { return set &^ (1<<uint(n) - 1) }
