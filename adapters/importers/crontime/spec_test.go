package crontime

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// zones have changes of an hour and of half an hour, in both halves of the year, and none.
func zones(t testing.TB) []*time.Location {
	t.Helper()
	var out []*time.Location
	for _, name := range []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Africa/Cairo"} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, loc)
	}
	return out
}

// byMinute returns the times that a clock shows, minute by minute. The readings that the clock repeats are left out.
func byMinute(s Spec, after time.Time, loc *time.Location, n int, until time.Time) []time.Time {
	var out []time.Time
	seen := ""
	for t := after.Add(-26 * time.Hour).Truncate(time.Minute); len(out) < n && t.Before(until); t = t.Add(time.Minute) {
		clock := t.In(loc)
		text := clock.Format("2006-01-02 15:04")
		if text <= seen {
			continue
		}
		seen = text
		day, weekday := s.Days.Has(clock.Day()), s.Weekdays.Has(int(clock.Weekday()))
		matches := day && weekday
		if s.Either {
			matches = day || weekday
		}
		if matches && s.Months.Has(int(clock.Month())) && s.Hours.Has(clock.Hour()) && s.Minutes.Has(clock.Minute()) &&
			t.After(after) {
			out = append(out, t)
		}
	}
	return out
}

func TestNextAgreesWithTheClock(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // Examples are no secrets.
	some := func(f Field, all int) Set {
		if random.IntN(all+1) > 0 {
			return f.All()
		}
		low, high := f.Bounds()
		return Of(low+random.IntN(high-low+1), low+random.IntN(high-low+1))
	}
	for _, loc := range zones(t) {
		for range 40 {
			s := Spec{
				Minutes: some(Minute, 0), Hours: some(Hour, 2), Days: some(Day, 1), Months: some(Month, 3),
				Weekdays: some(Weekday, 1), Either: random.IntN(2) == 0,
			}
			after := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.Int64N(int64(20000 * time.Hour))))
			until := after.AddDate(0, 0, 120)
			want := byMinute(s, after, loc, 30, until)
			got := s.Next(after, loc, len(want)+1)
			if len(got) > len(want) && len(want) < 30 && got[len(want)].Before(until) {
				t.Errorf("%+v after %v in %s: one more, %v", s, after, loc, got[len(want)])
			}
			if got = got[:min(len(got), len(want))]; !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("%+v after %v in %s:\n%v, want\n%v", s, after, loc, got, want)
			}
		}
	}
}

func TestNextAroundClockChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // Examples are no secrets.
	for _, loc := range zones(t) {
		for at, end := time.Date(2021, 1, 1, 0, 0, 0, 0, loc).ZoneBounds(); !end.IsZero() && at.Year() < 2025; at, end =
			end.ZoneBounds() {
			for range 20 {
				s := Every()
				s.Minutes = Of(random.IntN(60), random.IntN(60))
				after := end.Add(time.Duration(random.IntN(240)-180) * time.Minute)
				want := byMinute(s, after, loc, 8, after.Add(24*time.Hour))
				if got := s.Next(after, loc, 8); !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("%+v after %v:\n%v, want\n%v", s, after.In(loc), got, want)
				}
			}
		}
	}
}

func TestNextFindsRareDates(t *testing.T) {
	t.Parallel()
	s, err := ParseUnix("0 0 29 2 *")
	if err != nil {
		t.Fatal(err)
	}
	got := s.Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC), time.UTC, 5)
	if len(got) != 1 || !got[0].Equal(time.Date(2104, 2, 29, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("29 February: %v", got)
	}
	if s, err = ParseUnix("0 0 30 2 *"); err != nil {
		t.Fatal(err)
	}
	if got = s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC, 5); len(got) != 0 {
		t.Errorf("30 February: %v", got)
	}
}

func FuzzParseUnix(f *testing.F) {
	for _, text := range []string{
		"* * * * *", "*/5 0-23/2 1,15 jan-mar mon", "0 0 1 * 7", "@daily", "@reboot", "5/7 * * * fri-sun", "a b c d e",
	} {
		f.Add(text, int64(1_700_000_000))
	}
	loc := zones(f)[1]
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		s, err := ParseUnix(text)
		if err != nil {
			return
		}
		after := time.Unix(unix%4_000_000_000, 0)
		last := after
		for _, at := range s.Next(after, loc, 5) {
			if !at.After(last) || !s.Minutes.Has(at.Minute()) || !s.Hours.Has(at.Hour()) || !s.onDay(at) {
				t.Errorf("%q after %v: %v", text, after, at)
			}
			last = at
		}
		written, ok := s.Unix()
		if !ok {
			t.Fatalf("%q cannot be written", text)
		}
		again, err := ParseUnix(written)
		if err != nil {
			t.Fatalf("%q as %q: %v", text, written, err)
		}
		a, b := s.Next(after, loc, 5), again.Next(after, loc, 5)
		if !slices.EqualFunc(a, b, time.Time.Equal) {
			t.Errorf("%q as %q: %v, %v", text, written, a, b)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	s := Every()
	after := time.Date(2024, 1, 1, 23, 50, 0, 0, time.UTC)
	loc := zones(b)[1]
	for b.Loop() {
		s.Next(after, loc, 5)
	}
}
