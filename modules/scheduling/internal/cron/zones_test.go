package cron_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/depthtest"
)

// civilTime is a reading of a wall clock and a calendar.
type civilTime struct{ minute, hour, dom, month, dow int }

// pattern is an expression and an equivalent function.
type pattern struct {
	expr  string
	day   func(r civilTime) bool
	time  func(r civilTime) bool
	dense bool // fires so often that only the days around clock changes are compared
}

func everyDay(civilTime) bool { return true }

func clock(hour, minute int) func(civilTime) bool {
	return func(r civilTime) bool { return r.hour == hour && r.minute == minute }
}

func patterns() []pattern {
	weekday := func(r civilTime) bool { return r.dow >= 1 && r.dow <= 5 }
	return []pattern{
		{"* * * * *", everyDay, func(civilTime) bool { return true }, true},
		{"*/5 * * * *", everyDay, func(r civilTime) bool { return r.minute%5 == 0 }, true},
		{"7-59/15 * * * *", everyDay, func(r civilTime) bool { return r.minute >= 7 && (r.minute-7)%15 == 0 }, true},
		{"*/20 0-3 * * mon-fri", weekday, func(r civilTime) bool { return r.hour <= 3 && r.minute%20 == 0 }, false},
		{"@hourly", everyDay, func(r civilTime) bool { return r.minute == 0 }, true},
		{"59 * * * *", everyDay, func(r civilTime) bool { return r.minute == 59 }, true},
		{"@daily", everyDay, clock(0, 0), false},
		{"1 0 * * *", everyDay, clock(0, 1), false},
		{"30 0 * * *", everyDay, clock(0, 30), false},
		{"0 1 * * *", everyDay, clock(1, 0), false},
		{"30 1 * * *", everyDay, clock(1, 30), false},
		{"15 2 * * *", everyDay, clock(2, 15), false},
		{"0 3 * * *", everyDay, clock(3, 0), false},
		{"45 23 * * *", everyDay, clock(23, 45), false},
		{"0 */6 * * *", everyDay, func(r civilTime) bool { return r.hour%6 == 0 && r.minute == 0 }, false},
		{"30 2 * * sun", func(r civilTime) bool { return r.dow == 0 }, clock(2, 30), false},
		{"30 1,2,3 * 3,4,10-11 7", func(r civilTime) bool {
			return r.dow == 0 && (r.month == 3 || r.month == 4 || r.month == 10 || r.month == 11)
		}, func(r civilTime) bool { return r.minute == 30 && r.hour >= 1 && r.hour <= 3 }, false},
		{"0 12 13 * fri", func(r civilTime) bool { return r.dom == 13 || r.dow == 5 }, clock(12, 0), false},
		{"0 0 */2 * mon", func(r civilTime) bool { return r.dom%2 == 1 && r.dow == 1 }, clock(0, 0), false},
		{"15 10 31 * *", func(r civilTime) bool { return r.dom == 31 }, clock(10, 15), false},
		{"0 0 30,31 dec *", func(r civilTime) bool { return r.month == 12 && r.dom >= 30 }, clock(0, 0), false},
		{"0 4 29 2 *", func(r civilTime) bool { return r.month == 2 && r.dom == 29 }, clock(4, 0), false},
		{"0 0 30 2 *", func(civilTime) bool { return false }, clock(0, 0), false},
	}
}

// places are zones with special rules in the two years from the given one.
func places() map[string]int {
	return map[string]int{
		"UTC": 2025, "Europe/Berlin": 2025, "Europe/London": 2027, "Asia/Kolkata": 2025, "Asia/Kathmandu": 2025,
		"Europe/Dublin":           2025, // its tables treat winter time as the special one
		"America/New_York":        2026,
		"America/Los_Angeles":     2047, // beyond the tables, with the last day of a leap year
		"America/Indiana/Winamac": 2006, // the table ends and a rule begins within one year
		"America/St_Johns":        2010, // changes one minute after midnight
		"America/Havana":          2025, // skips midnight
		"America/Santiago":        2025, // changes at the end of a day
		"America/Asuncion":        2024, // stops changing
		"America/Sao_Paulo":       2018, // skips midnight for the last time
		"America/Caracas":         2015, // moves by half an hour
		"America/Nuuk":            2023, // changes on a Saturday, and changes its base
		"Africa/Casablanca":       2025, // also changes for Ramadan
		"Africa/Cairo":            2023,
		"Africa/Juba":             2020, // changes its offset back permanently
		"Asia/Gaza":               2025, // up to four changes a year
		"Asia/Beirut":             2023, // skips midnight
		"Asia/Tehran":             2021,
		"Asia/Pyongyang":          2015, // half an hour back
		"Asia/Amman":              2021, // stays on summer time
		"Australia/Lord_Howe":     2025, // half an hour
		"Australia/Adelaide":      2025,
		"Pacific/Apia":            2011, // skips a day
		"Pacific/Kiritimati":      1994, // skips a day
		"Pacific/Chatham":         2025, // three quarters of an hour
		"Pacific/Kwajalein":       1969, // repeats a day
		"Pacific/Auckland":        2095, // far beyond the tables
		"Pacific/Norfolk":         2015,
		"Antarctica/Troll":        2025, // two hours
		"Antarctica/Casey":        2018, // several hours, several times
		"Europe/Istanbul":         2015, // stays on summer time
		"Europe/Simferopol":       2014, // two hours ahead at once, one back
		"Europe/Volgograd":        2018, // changes its base
	}
}

// walk contains two years of a zone's clock, minute by minute.
type walk struct {
	from, to time.Time
	base     int64   // minutes from 1970 to the first reading
	firstAt  []int64 // for each reading from base on, the first instant that shows it, or unseen
	changes  []int64 // instants of clock changes
}

// unseen marks a reading that the clock never shows.
const unseen = math.MinInt64

// margin is how far the walk extends beyond its two years, so that it contains a change at their edge completely.
const margin = 3 * 24 * time.Hour

func walkZone(loc *time.Location, year int) *walk {
	w := &walk{from: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), to: time.Date(year+2, 1, 1, 0, 0, 0, 0, time.UTC)}
	start, end := w.from.Add(-margin).Unix(), w.to.Add(margin).Unix()
	const oneDay = 24 * 60 // the readings are whole days, one more on either side
	w.base = start/60 - oneDay
	w.firstAt = slices.Repeat([]int64{unseen}, int((end-start)/60)+2*oneDay)
	offset := func(u int64) int64 {
		_, seconds := time.Unix(u, 0).In(loc).Zone()
		return int64(seconds)
	}
	const anHour = 60 * 60
	last := offset(start)
	for from := start; from < end; from += anHour {
		calm := offset(from) == last && offset(from+anHour-60) == last // no zone changes its clocks twice within an hour
		for u := from; u < from+anHour; u += 60 {
			if !calm && offset(u) != last {
				last = offset(u)
				w.changes = append(w.changes, u)
			}
			if i := (u+last)/60 - w.base; w.firstAt[i] == unseen {
				w.firstAt[i] = u
			}
		}
	}
	return w
}

// expected implements the documented rules: a minute fires when it is first shown; a minute that is never shown fires
// together with the next one that is shown.
func (w *walk) expected(p pattern) []int64 {
	var times []int // minutes of a day
	for i := range 24 * 60 {
		if p.time(civilTime{minute: i % 60, hour: i / 60}) {
			times = append(times, i)
		}
	}
	var out []int64
	for midnight := 0; midnight < len(w.firstAt); midnight += 24 * 60 {
		date := time.Unix((w.base+int64(midnight))*60, 0).UTC()
		if !p.day(civilTime{dom: date.Day(), month: int(date.Month()), dow: int(date.Weekday())}) {
			continue
		}
		for _, i := range times {
			i += midnight
			for i < len(w.firstAt) && w.firstAt[i] == unseen {
				i++
			}
			if i < len(w.firstAt) {
				out = append(out, w.firstAt[i])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// windows returns the spans to compare.
func (w *walk) windows(p pattern) [][2]int64 {
	if !p.dense {
		return [][2]int64{{w.from.Unix(), w.to.Unix()}}
	}
	out := [][2]int64{{w.from.Unix(), w.from.Unix() + 86400}}
	for _, at := range w.changes {
		out = append(out, [2]int64{max(at-30*3600, w.from.Unix()), min(at+30*3600, w.to.Unix())})
	}
	return out
}

// walked returns the zones of a quick run: one for each special rule. The properties draw the others.
func walked() map[string]int {
	all := places()
	return depthtest.Of(map[string]int{
		"Europe/Dublin": all["Europe/Dublin"], "America/Indiana/Winamac": all["America/Indiana/Winamac"],
		"America/Santiago": all["America/Santiago"], "Asia/Gaza": all["Asia/Gaza"],
		"Australia/Lord_Howe": all["Australia/Lord_Howe"],
		"Pacific/Apia":        all["Pacific/Apia"], "Pacific/Kwajalein": all["Pacific/Kwajalein"],
		"Pacific/Auckland": all["Pacific/Auckland"],
	}, all)
}

// TestZones compares two years of some zones, in a long run of all, with a walk over every minute.
// Keeps F15.
func TestZones(t *testing.T) {
	t.Parallel()
	for zone, year := range walked() {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			w := walkZone(loc, year)
			for _, p := range patterns() {
				want := w.expected(p)
				for _, span := range w.windows(p) {
					compare(t, p.expr, zone, want, span)
				}
				for _, change := range w.changes {
					askAround(t, p.expr, zone, want, change)
				}
			}
		})
	}
}

func compare(t *testing.T, expr, zone string, want []int64, span [2]int64) {
	t.Helper()
	e := parse(t, expr, zone)
	i, _ := slices.BinarySearch(want, span[0])
	j, _ := slices.BinarySearch(want, span[1])
	want = want[i:j]
	slots := ""
	after := time.Unix(span[0]-1, 0)
	for _, u := range want {
		got, ok := e.Next(after)
		if !ok || got.Unix() != u {
			t.Fatalf("%q after %v: %v, not %v", expr, after.UTC(), got, time.Unix(u, 0).UTC())
		}
		slot := e.Slot(got)
		if slot <= slots {
			t.Fatalf("%q: the slot %q comes after %q", expr, slot, slots)
		}
		after, slots = got, slot
	}
	if got, ok := e.Next(after); ok && got.Unix() < span[1] {
		t.Fatalf("%q after %v: %v, and nothing is due", expr, after.UTC(), got)
	}
}

// askAround compares results at instants near a clock change, also where nothing fires, as in the second pass of an
// hour.
func askAround(t *testing.T, expr, zone string, want []int64, change int64) {
	t.Helper()
	e := parse(t, expr, zone)
	for u := change - 3*3600; u <= change+3*3600; u += 17 * 60 {
		i, found := slices.BinarySearch(want, u)
		if found {
			i++
		}
		if i == len(want) {
			return
		}
		if got, ok := e.Next(time.Unix(u, 0)); !ok || got.Unix() != want[i] {
			t.Fatalf("%q after %v: %v, not %v", expr, time.Unix(u, 0).UTC(), got, time.Unix(want[i], 0).UTC())
		}
	}
}
