package cron

import "time"

const (
	// widest is more than any two offsets of one zone differ by, in seconds: no change of the clocks reaches further.
	widest = 32 * hour
	// nearby is more than the number of segments that lie within twice that span.
	nearby = 32
)

// Next returns the first firing instant strictly after a time, in UTC. It is false where there is none: the expression
// never fires, or would next after the year 9999.
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

// nextUnseen returns the first whole minute that the clock has neither shown nor passed up to and including an instant.
func (e *Expr) nextUnseen(u int64) wall {
	now := segmentAt(e.loc, u)
	latest := max(u+now.offset, e.reached(now)-1)
	return latest - mod(latest, minute) + minute
}

// reached returns the reading that the clock came up to before a segment, itself not shown. It lies behind the
// segment's first reading where the clocks were set back.
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

// instant returns the first instant at which the clock shows a reading or has passed it. The caller knows that it lies
// after the given one.
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

// Slot names what fires at an instant that Next returned: the minute that the clock of the zone shows then, and the
// zone, as in "2026-03-29T03:00 Europe/Berlin"; "local" stands for the server's local time. Each firing instant of a
// schedule has a slot of its own, so recording slots as unique per schedule lets one server fire each of them. Both
// passes of a minute that occurs twice have the same slot, and a minute keeps its slot where two servers have
// different editions of the zone tables. A schedule that moves to another zone names its slots anew.
//
// Slots of one zone ascend as text. For a time that Next did not return Slot names the minute all the same, whether
// or not anything fires then.
func (e *Expr) Slot(t time.Time) string {
	zone := e.zone
	if zone == "" {
		zone = "local"
	}
	return t.In(e.loc).Format("2006-01-02T15:04") + " " + zone
}
