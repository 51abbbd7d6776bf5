package cron_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/scheduling/internal/cron"
	"github.com/writ-automation/writ/ports/scheduling"
)

func preview(t *testing.T, e *cron.Expr, after string, n int) scheduling.Preview {
	t.Helper()
	p, err := e.Preview(at(t, after), n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPreview(t *testing.T) {
	t.Parallel()
	got := preview(t, parse(t, " 30 2 * * * ", "Europe/Berlin"), "2026-03-27T12:00:00Z", 3)
	want := scheduling.Preview{
		Cron: "30 2 * * *", Timezone: "Europe/Berlin",
		Next: []time.Time{at(t, "2026-03-28T01:30:00Z"), at(t, "2026-03-29T01:00:00Z"), at(t, "2026-03-30T00:30:00Z")},
		Notes: []string{"The clocks of Europe/Berlin skip on 2026-03-29 from 02:00 to 03:00: what is due in between fires " +
			"once, right after."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPreviewCounts(t *testing.T) {
	t.Parallel()
	e := parse(t, "@hourly", "UTC")
	for n, want := range map[int]int{0: scheduling.DefaultPreview, 1: 1, 49: 49, 50: 50, 51: scheduling.MaxPreview,
		1 << 40: scheduling.MaxPreview} {
		p := preview(t, e, "2026-01-01T00:00:00Z", n)
		if len(p.Next) != want || len(p.Notes) != 0 {
			t.Errorf("for %d there are %d times, notes %q", n, len(p.Next), p.Notes)
		}
	}
	_, err := e.Preview(newYear, -1)
	if f := refusal(t, err); f.Fields[0].Location != "count" {
		t.Error(err)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	const berlin, winter, summer = "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-03-28T12:00:00Z"
	either := "Day of month and day of week are both set: it fires on each day that matches either of them."
	back := "The clocks of Europe/Berlin go back on 2026-10-25 from 03:00 to 02:00: what is due in the time that occurs " +
		"twice fires once, the first time."
	skip := "The clocks of Europe/Berlin skip on 2026-03-29 from 02:00 to 03:00: what is due in between fires once, " +
		"right after."
	for _, c := range []struct {
		name, expr, zone, after string
		n                       int
		want                    []string
	}{
		{"nothing to say", "0 12 * * mon", berlin, winter, 50, nil},
		{"repeated", "30 2 * * *", berlin, winter, 1, []string{back}},
		{"repeated, every hour", "@hourly", berlin, winter, 20, []string{back}},
		{"asked in the second pass", "30 2 * * *", berlin, "2026-10-25T01:10:00Z", 1, []string{back}},
		{"asked after the second pass", "30 2 * * *", berlin, "2026-10-25T02:00:00Z", 5, nil},
		{"the preview ends before", "30 2 * * *", berlin, "2026-10-20T12:00:00Z", 3, nil},
		{"the end of the repeated hour", "0 3 * * *", berlin, winter, 3, nil},
		{"its begin", "0 2 * * *", berlin, winter, 1, []string{back}},
		{"skipped, every hour", "@hourly", berlin, summer, 20, []string{skip}},
		{"the end of the skipped hour", "0 3 * * *", berlin, summer, 3, nil},
		{"asked after the gap", "30 2 * * *", berlin, "2026-03-29T01:00:00Z", 3, nil},
		{"a date is skipped", "0 10 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", 5, []string{
			"The clocks of Pacific/Apia skip from 2011-12-30 00:00 to 2011-12-31 00:00: what is due in between fires once, " +
				"right after."}},
		{"either", "0 12 13 * fri", berlin, winter, 5, []string{either}},
		{"both", "0 12 */2 * fri", berlin, winter, 5, []string{
			"A day field that begins with * does not count as set: it fires only on days that match both day fields."}},
		{"31", "0 12 31 * *", berlin, winter, 1, []string{
			"Day 31 does not exist in February, April, June, September and November and is left out there."}},
		{"29 to 31", "0 12 29-31 jan-apr *", berlin, winter, 1, []string{
			"Day 30 does not exist in February and is left out there.",
			"Day 31 does not exist in February and April and is left out there.",
			"Day 29 exists in February in leap years only."}},
		{"29 February", "0 12 29 2 *", berlin, winter, 1, []string{"Day 29 exists in February in leap years only."}},
		{"31 or Monday", "0 12 31 6 mon", berlin, winter, 1,
			[]string{either, "Day 31 does not exist in June and is left out there."}},
		{"all days as a range", "0 12 1-31 * *", berlin, winter, 5, nil},
		{"never", "0 12 30 2 *", "", winter, 5,
			[]string{"This expression never fires: no date has a day and a month that it names."}},
		{"local", "0 12 * * *", "", winter, 5, []string{"No timezone is set: the server's local time counts, which is UTC."}},
		{"the last year", "0 0 1 1 *", "UTC", "9997-06-01T00:00:00Z", 3,
			[]string{"Nothing after the year 9999 is computed."}},
		{"after the last year", "0 0 1 1 *", "UTC", "9999-06-01T00:00:00Z", 3,
			[]string{"Nothing after the year 9999 is computed."}},
	} {
		p := preview(t, parse(t, c.expr, c.zone), c.after, c.n)
		if diff := cmp.Diff(c.want, p.Notes); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// TestManyChanges limits the notes of a preview that spans decades.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	p := preview(t, parse(t, "30 2 * 3,10 */7", "Europe/Berlin"), "2026-01-01T00:00:00Z", 50)
	if n := len(p.Notes); n > 10 || !strings.HasPrefix(p.Notes[n-1], "The clocks change ") ||
		!strings.HasSuffix(p.Notes[n-1], " more times within this preview, with the same effect.") {
		t.Errorf("%q", p.Notes)
	}
	rare := preview(t, parse(t, "30 2 29 2 */7", "Africa/Casablanca"), "2026-01-01T00:00:00Z", 50)
	if len(rare.Next) != 50 || rare.Next[49].Year() < 3000 {
		t.Errorf("%v", rare.Next)
	}
}

// TestLocalNote covers the names of the local zone.
func TestLocalNote(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	nameless := time.FixedZone("Local", -(3*60*60 + 30*60))
	for local, want := range map[*time.Location]string{
		berlin:   "which is Europe/Berlin.",
		nameless: "which is UTC-03:30 (Local) now.",
	} {
		e, err := cron.Parse("0 12 * * *", "", local)
		if err != nil {
			t.Fatal(err)
		}
		p := preview(t, e, "2026-01-01T00:00:00Z", 1)
		if p.Timezone != "" || len(p.Notes) != 1 || !strings.HasSuffix(p.Notes[0], want) {
			t.Errorf("%q in %q", p.Notes, p.Timezone)
		}
	}
}
