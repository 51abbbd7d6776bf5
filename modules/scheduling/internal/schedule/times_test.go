package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/scheduling/internal/cron"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func due(expr, zone string, next time.Time) *scheduling.Schedule {
	return &scheduling.Schedule{Cron: expr, Timezone: zone, Enabled: true, NextRunAt: next}
}

func TestFirst(t *testing.T) {
	t.Parallel()
	times := Times{Local: time.FixedZone("somewhere", 3600)}
	for _, c := range []struct {
		expr, zone string
		off        bool
		want       time.Time
	}{
		{"0 15 * * *", "UTC", false, noon.Add(3 * time.Hour)},
		{"0 15 * * *", "", false, noon.Add(2 * time.Hour)},
		{"* * * * *", "UTC", false, noon.Add(time.Minute)},
		{"* * * * *", "UTC", true, time.Time{}},
	} {
		s := due(c.expr, c.zone, time.Time{})
		s.Enabled = !c.off
		if got, err := times.First(s, noon); err != nil || !got.Equal(c.want) {
			t.Errorf("%s in %q: %s, %v, want %s", c.expr, c.zone, got, err, c.want)
		}
	}
	for _, expr := range []string{"0 0 30 2 *", "x"} {
		if _, err := times.First(due(expr, "", noon), noon); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

// TestSlots compares the results with a walk from slot to slot.
func TestSlots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		expr := rapid.SampledFrom([]string{
			"* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "0 0 * * mon", "15,45 1-3 * * *", "0 3 29 2 *", "* 3 * * sun",
			"0 0 31 * *",
		}).Draw(t, "expression")
		zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns"}).Draw(t, "zone")
		e, err := cron.Parse(expr, zone, nil)
		if err != nil {
			t.Fatal(err)
		}
		from := noon.Add(time.Duration(rapid.Int64Range(-400*24*3600, 400*24*3600).Draw(t, "from")) * time.Second)
		was, ok := e.Next(from)
		if !ok {
			t.Fatal("it never fires")
		}
		span := rapid.Int64Range(0, int64(3*24*time.Hour)).Draw(t, "span")
		if expr[0] == '0' && expr[2] == '0' || expr == "0 3 29 2 *" {
			span *= 200
		}
		now := was.Add(time.Duration(span))
		want, next := was, was
		for next, _ = e.Next(want); !next.After(now); next, _ = e.Next(want) {
			want = next
		}
		latest, after, err := Times{}.Slots(due(expr, zone, was), now)
		if err != nil || !latest.Equal(want) || !after.Equal(next) {
			t.Fatalf("%s in %s from %s at %s: %s and %s, %v, want %s and %s", expr, zone, was, now, latest, after, err,
				want, next)
		}
	})
}

func TestSlotsFarBehind(t *testing.T) {
	t.Parallel()
	was := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	latest, next, err := Times{}.Slots(due("* * * * *", "UTC", was), noon.Add(30*time.Second))
	if err != nil || !latest.Equal(noon) || !next.Equal(noon.Add(time.Minute)) {
		t.Errorf("%s, %s, %v", latest, next, err)
	}
	// A stored slot that no longer matches the expression, after a change of the zone's rules, is still the due one.
	odd := noon.Add(-17 * time.Second)
	if latest, next, err = (Times{}).Slots(due("0 15 * * *", "UTC", odd), noon); err != nil || !latest.Equal(odd) ||
		!next.Equal(noon.Add(3*time.Hour)) {
		t.Errorf("%s, %s, %v", latest, next, err)
	}
	end := time.Date(9999, 12, 31, 23, 59, 0, 0, time.UTC)
	if latest, next, err = (Times{}).Slots(due("* * * * *", "UTC", end), end.Add(time.Second)); err != nil ||
		!latest.Equal(end) || !next.IsZero() {
		t.Errorf("the last slot of all: %s, %s, %v", latest, next, err)
	}
	if _, _, err := (Times{}).Slots(due("* * * * *", "Mars/Olympus", was), noon); !fault.Is(err, fault.Invalid) {
		t.Errorf("a zone that is gone: %v", err)
	}
}
