package cron_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/scheduling/internal/cron"
)

func at(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestClockChanges covers gaps and overlaps: each expected firing is the instant and its slot.
// Keeps F15.
func TestClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, expr, zone, after, want string }{
		{"a skipped time fires right after the gap", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			"2026-03-29T01:00Z=2026-03-29T03:00 2026-03-30T00:30Z=2026-03-30T02:30"},
		{"the end of the gap fires once for all that it skips", "*/20 2,3 * * *", "Europe/Berlin", "2026-03-29T00:59:59Z",
			"2026-03-29T01:00Z=2026-03-29T03:00 2026-03-29T01:20Z=2026-03-29T03:20"},
		{"a time right before the gap", "59 1 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			"2026-03-29T00:59Z=2026-03-29T01:59 2026-03-29T23:59Z=2026-03-30T01:59"},
		{"a repeated time fires the first time", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T00:30Z=2026-10-25T02:30 2026-10-26T01:30Z=2026-10-26T02:30"},
		{"nothing fires in the second pass", "*/30 * * * *", "Europe/Berlin", "2026-10-24T23:59:00Z",
			"2026-10-25T00:00Z=2026-10-25T02:00 2026-10-25T00:30Z=2026-10-25T02:30 2026-10-25T02:00Z=2026-10-25T03:00"},
		{"asked in the second pass", "*/30 * * * *", "Europe/Berlin", "2026-10-25T01:10:00Z",
			"2026-10-25T02:00Z=2026-10-25T03:00"},
		{"the end of the repeated hour is not repeated", "0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T02:00Z=2026-10-25T03:00"},
		{"half an hour is skipped", "15 2 * * *", "Australia/Lord_Howe", "2026-10-02T16:00:00Z",
			"2026-10-03T15:30Z=2026-10-04T02:30 2026-10-04T15:15Z=2026-10-05T02:15"},
		{"half an hour is repeated", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z",
			"2026-04-04T14:45Z=2026-04-05T01:45 2026-04-05T15:15Z=2026-04-06T01:45"},
		{"a day is skipped", "0 10 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z",
			"2011-12-29T20:00Z=2011-12-29T10:00 2011-12-30T10:00Z=2011-12-31T00:00 2011-12-30T20:00Z=2011-12-31T10:00"},
		{"a skipped date", "0 10 30 12 *", "Pacific/Apia", "2011-01-01T00:00:00Z",
			"2011-12-30T10:00Z=2011-12-31T00:00 2012-12-29T20:00Z=2012-12-30T10:00"},
		{"a day is repeated", "0 10 * * *", "Pacific/Kwajalein", "1969-09-28T23:30:00Z",
			"1969-09-29T23:00Z=1969-09-30T10:00 1969-10-01T22:00Z=1969-10-01T10:00"},
		{"two hours are skipped", "30 1,2 * * *", "Antarctica/Troll", "2026-03-28T12:00:00Z",
			"2026-03-29T01:00Z=2026-03-29T03:00 2026-03-29T23:30Z=2026-03-30T01:30"},
		{"midnight is skipped", "0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z",
			"2026-03-08T05:00Z=2026-03-08T01:00 2026-03-09T04:00Z=2026-03-09T00:00"},
		{"the last day of a leap year beyond the tables", "0 * * * *", "Europe/Berlin", "2096-12-31T22:30:00Z",
			"2096-12-31T23:00Z=2097-01-01T00:00 2097-01-01T00:00Z=2097-01-01T01:00"},
		{"a rule that began in the middle of a year", "30 2 * * *", "America/Indiana/Winamac", "2007-03-10T12:00:00Z",
			"2007-03-11T08:00Z=2007-03-11T04:00 2007-03-12T06:30Z=2007-03-12T02:30"},
	} {
		e := parse(t, c.expr, c.zone)
		got := make([]string, 0, 3)
		for _, f := range fires(e, at(t, c.after), len(strings.Fields(c.want))) {
			got = append(got, f.Format("2006-01-02T15:04Z")+"="+strings.TrimSuffix(e.Slot(f), " "+c.zone))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// shortTable is a zone with a table that ends with a change from CST to EDT in 2007, an hour after the following rule
// would have changed from EST to EDT. Editions of the zone tables differ in whether they contain such short segments.
func shortTable(t *testing.T) *time.Location {
	t.Helper()
	header := func(counts ...uint32) []byte {
		out := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range counts {
			out = binary.BigEndian.AppendUint32(out, n)
		}
		return out
	}
	data := append(header(0, 0, 0, 0, 0, 0), header(0, 0, 0, 1, 2, 8)...)
	data = binary.BigEndian.AppendUint64(data, uint64(at(t, "2007-03-11T08:00:00Z").Unix()))
	data = append(data, 1)
	for i, hours := range []int32{-6, -4} {
		data = binary.BigEndian.AppendUint32(data, uint32(hours*60*60))
		data = append(data, byte(i), byte(4*i))
	}
	loc, err := time.LoadLocationFromTZData("Short", append(data, "CST\x00EDT\x00\nEST5EDT,M3.2.0,M11.1.0\n"...))
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestShortTable(t *testing.T) {
	t.Parallel()
	e, err := cron.Parse("30 2 * * *", "", shortTable(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []time.Time{at(t, "2007-03-11T08:00:00Z"), at(t, "2007-03-12T06:30:00Z")}
	if diff := cmp.Diff(want, fires(e, at(t, "2007-03-10T12:00:00Z"), 2)); diff != "" {
		t.Error(diff)
	}
}

// TestSlotOfBothPasses: both passes of a minute have one slot, and each zone has its own.
func TestSlotOfBothPasses(t *testing.T) {
	t.Parallel()
	e := parse(t, "30 2 * * *", "Europe/Berlin")
	first, second := e.Slot(at(t, "2026-10-25T00:30:00Z")), e.Slot(at(t, "2026-10-25T01:30:00Z"))
	if first != second || first != "2026-10-25T02:30 Europe/Berlin" {
		t.Errorf("%q and %q", first, second)
	}
	if other := parse(t, "30 2 * * *", "Europe/Paris").Slot(at(t, "2026-10-25T00:30:00Z")); other == first {
		t.Error("a schedule that moved to another zone is taken to have fired there")
	}
}

func TestNever(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{"0 0 30 2 *", "0 0 30,31 feb *", "* * 31 4,6,9,11 *", "0 0 31 2 */2",
		"0 0 31 11 0-7/7,1-6"} {
		e := parse(t, expr, "Europe/Berlin")
		at, ok := e.Next(newYear)
		if never := expr != "0 0 31 11 0-7/7,1-6"; ok == never {
			t.Errorf("%q fires at %v", expr, at)
		}
	}
}

// TestRare covers the longest gap of any expression: 29 February on a Sunday around 2100.
func TestRare(t *testing.T) {
	t.Parallel()
	var want []time.Time
	for y := 1872; y < 2300; y++ {
		if d := time.Date(y, 2, 29, 0, 0, 0, 0, time.UTC); d.Day() == 29 && d.Weekday() == time.Sunday {
			want = append(want, d)
		}
	}
	got := fires(parse(t, "0 0 29 2 */7", "UTC"), time.Date(1872, 1, 1, 0, 0, 0, 0, time.UTC), len(want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEnds computes firings before the year 1 and after the year 9999.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Pacific/Kiritimati", "America/New_York", "Pacific/Apia"} {
		e := parse(t, "0 0 * * *", zone)
		for _, early := range []time.Time{{}, time.Unix(math.MinInt64/2, 0), time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if got, ok := e.Next(early); !ok || !got.After(early) || got.Year() != 1 {
				t.Errorf("%s: after %v it fires at %v", zone, early, got)
			}
		}
		for _, late := range []time.Time{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
			time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<60, 0)} {
			if got, ok := e.Next(late); ok {
				t.Errorf("%s: after %v it fires at %v", zone, late, got)
			}
		}
	}
	if got, ok := parse(t, "0 0 1 1 *", "UTC").Next(time.Date(9998, 6, 1, 0, 0, 0, 0, time.UTC)); !ok ||
		got.Year() != 9999 {
		t.Errorf("the last new year is %v", got)
	}
}

// TestFractions computes firings from instants between two seconds.
func TestFractions(t *testing.T) {
	t.Parallel()
	e := parse(t, "* * * * *", "UTC")
	noon := at(t, "2026-01-01T12:00:00Z")
	for _, c := range []struct {
		after time.Time
		want  time.Time
	}{
		{noon.Add(-1), noon}, {noon, noon.Add(time.Minute)}, {noon.Add(1), noon.Add(time.Minute)},
		{noon.Add(time.Minute - 1), noon.Add(time.Minute)},
		{time.Unix(-61, 5), time.Unix(-60, 0)}, {time.Unix(-60, 0), time.Unix(0, 0)},
	} {
		if got, _ := e.Next(c.after); !got.Equal(c.want) || got.Location() != time.UTC {
			t.Errorf("after %v: %v", c.after, got)
		}
	}
}

// TestConcurrent uses one expression from many goroutines, for the race detector.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	e := parse(t, "*/7 * * * *", "Europe/Berlin")
	want := fires(e, newYear, 50)
	answers := make(chan []time.Time)
	for range 8 {
		go func(e *cron.Expr) { answers <- fires(e, newYear, 50) }(e)
	}
	for range 8 {
		if diff := cmp.Diff(want, <-answers); diff != "" {
			t.Error(diff)
		}
	}
}
