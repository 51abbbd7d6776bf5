package cron

import (
	"cmp"
	"time"
)

const (
	// widest is more than the difference of any two offsets of one zone, in seconds.
	widest = 32 * hour
	// nearby is more than the number of segments within twice that span.
	nearby = 32
)

// Next returns the first firing instant strictly after a time, in UTC. It returns false if the expression never fires
// again before the year 10000.
func (e *Expr) Next(after time.Time) (time.Time, bool) {
	first, last := time.Time{}.Unix(), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	u := max(after.Unix(), first)
	if u >= last {
		return time.Time{}, false
	}
	from := e.nextUnseen(u)
	s, ok := e.slot(from, from+horizon)
	if !ok {
		return time.Time{}, false
	}
	at, ok := e.instant(s, u)
	if !ok || at >= last {
		return time.Time{}, false
	}
	return time.Unix(at, 0).UTC(), true
}

// nextUnseen returns the first whole minute that the clock has neither shown nor passed up to and including u.
func (e *Expr) nextUnseen(u int64) wall {
	now := segmentAt(e.loc, u)
	latest := max(u+now.offset, e.reached(now)-1)
	return latest - mod(latest, minute) + minute
}

// reached returns the reading at which the clock ended before a segment, exclusive. It is after the segment's first
// reading if the clocks were set back.
func (e *Expr) reached(s segment) wall {
	start, high := s.start, wall(-forever)
	for range nearby {
		if s.start <= max(start-widest, -forever) {
			break
		}
		at := s.start
		s = segmentAt(e.loc, at-1)
		high = max(high, at+s.offset)
	}
	return high
}

// instant returns the first instant at which the clock shows or has passed a reading. The instant must be later than
// after.
func (e *Expr) instant(w wall, after int64) (int64, bool) {
	s := segmentAt(e.loc, max(after, w-widest))
	for range nearby {
		if w < s.end+s.offset {
			return max(w-s.offset, s.start), true
		}
		s = segmentAt(e.loc, s.end)
	}
	return 0, false
}

// Slot returns the identifier of a firing at an instant of Next: the minute on the zone's clock and the zone, as in
// "2026-03-29T03:00 Europe/Berlin"; "local" is the server's local time. Each firing instant of a schedule has its own
// slot, so recording slots as unique per schedule lets one server fire each of them. Both passes of a repeated minute
// have the same slot, and servers with different editions of the zone tables compute the same slot for a minute. A
// schedule that moves to another zone gets new slots.
//
// Slots of one zone sort as text. For a time that Next did not return, Slot returns the minute too.
func (e *Expr) Slot(t time.Time) string {
	zone := cmp.Or(e.zone, "local")
	return t.In(e.loc).Format("2006-01-02T15:04") + " " + zone
}

// Instant returns the first instant at which the clock of the zone shows or has passed a reading. The reading is given
// as the time that the clock would show it in UTC.
func (e *Expr) Instant(reading time.Time) (time.Time, bool) {
	w := reading.Unix()
	at, ok := e.instant(w, w-widest)
	return time.Unix(at, 0).UTC(), ok
}
