package compose

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlpolicy "github.com/writ-automation/writ/adapters/sqlstore/policy"
	policymodule "github.com/writ-automation/writ/modules/policy"
	schedulingmodule "github.com/writ-automation/writ/modules/scheduling"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// anyone lets every caller do everything.
type anyone struct{}

func (anyone) May(context.Context, access.Level, ...string) (bool, error) { return true, nil }
func (anyone) Scope(context.Context) (access.Scope, error)                { return access.Everything(), nil }
func (anyone) MayWrite(context.Context, string, string) (bool, error)     { return true, nil }

// clockChange is an occurrence of a window over a change of the clocks, from the tables of the zone by hand.
type clockChange struct {
	window   policy.Window
	from, to string // in UTC
}

func clockChanges() map[string]clockChange {
	const berlin, york, howe = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
	cron := func(zone, expr string, lasts time.Duration) policy.Window {
		return policy.Window{Timezone: zone, Cron: expr, Duration: int64(lasts / time.Second)}
	}
	dates := func(zone, from, to string) policy.Window { return policy.Window{Timezone: zone, From: from, To: to} }
	return map[string]clockChange{
		// Berlin skips 02:00 to 03:00 on 29 March 2026 at 01:00 UTC, and repeats it on 25 October at 01:00 UTC.
		"a night that is shorter":  {cron(berlin, "0 22 * * sat", 8*time.Hour), "2026-03-28 21:00", "2026-03-29 05:00"},
		"a night that is longer":   {cron(berlin, "0 22 * * sat", 8*time.Hour), "2026-10-24 20:00", "2026-10-25 04:00"},
		"a time that is skipped":   {cron(berlin, "30 2 * * *", time.Hour), "2026-03-29 01:00", "2026-03-29 02:00"},
		"a time that occurs twice": {cron(berlin, "30 2 * * *", time.Hour), "2026-10-25 00:30", "2026-10-25 01:30"},
		"up to the change":         {cron(berlin, "0 1 * * sun", time.Hour), "2026-03-29 00:00", "2026-03-29 01:00"},
		"dates that are skipped": {dates(berlin, "2026-03-29T02:30", "2026-03-29T03:30"), "2026-03-29 01:00",
			"2026-03-29 01:30"},
		"dates that occur twice": {dates(berlin, "2026-10-25T02:30", "2026-10-25T02:45"), "2026-10-25 00:30",
			"2026-10-25 00:45"},
		// New York skips 02:00 to 03:00 on 8 March 2026 at 07:00 UTC, and repeats 01:00 to 02:00 on 1 November at 06:00.
		"skipped in New York": {cron(york, "0 2 8 3 *", 90*time.Minute), "2026-03-08 07:00", "2026-03-08 08:30"},
		"twice in New York":   {cron(york, "15 1 1 11 *", 90*time.Minute), "2026-11-01 05:15", "2026-11-01 06:45"},
		// Lord Howe moves by half an hour: it repeats 01:30 to 02:00 on 5 April 2026, at 15:00 UTC of the day before, and
		// skips 02:00 to 02:30 on 4 October, at 15:30 UTC of the day before.
		"twice on Lord Howe":   {cron(howe, "45 1 * * *", 20*time.Minute), "2026-04-04 14:45", "2026-04-04 15:05"},
		"skipped on Lord Howe": {cron(howe, "15 2 * * *", 20*time.Minute), "2026-10-03 15:30", "2026-10-03 15:50"},
	}
}

// TestWindowsOverClockChanges stores windows of both modes, and asks the evaluator at their edges, alone and in the
// unit of a submission.
func TestWindowsOverClockChanges(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		rules := &fixedRules{}
		made, err := policymodule.New(policymodule.Params{Store: sqlpolicy.New(d), Windows: sqlpolicy.NewWindows(d),
			Calendar: schedulingmodule.NewCalendar(time.UTC), Signals: d.Signals(), Guard: anyone{}, Owners: anyone{},
			Recorder: &audittest.Recorder{}, Unit: d, Clock: rules, IDs: ids.New(rules)})
		if err != nil {
			t.Fatal(err)
		}
		rules.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for name, c := range clockChanges() {
			for _, mode := range []policy.WindowMode{policy.AllowWindow, policy.DenyWindow} {
				w := c.window
				w.Record = object.Record{Name: name + " " + string(mode)}
				w.Mode, w.Enabled, w.Outside = mode, true, policy.OutsideWait
				w.Match.Labels = map[string]string{"case": w.Name}
				if _, err := made.Windows.Create(t.Context(), w); err != nil {
					t.Fatalf("%s: %v", w.Name, err)
				}
			}
		}
		timings := func(name string, at time.Time) [2]policy.Timing {
			t.Helper()
			rules.now = at
			r := &runs.Run{Labels: map[string]string{"case": name}}
			alone, err := made.Evaluator.Timing(t.Context(), r, nil)
			if err != nil {
				t.Fatal(err)
			}
			var v policy.Verdict
			if err := d.Do(t.Context(), func(ctx context.Context) (err error) {
				v, err = made.Evaluator.Evaluate(ctx, r, nil)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return [2]policy.Timing{alone, v.Timing}
		}
		for name, c := range clockChanges() {
			from, to := instantOf(t, c.from), instantOf(t, c.to)
			for at, inside := range map[time.Time]bool{from.Add(-time.Second): false, from: true, to.Add(-time.Second): true,
				to: false} {
				for _, got := range timings(name+" allow", at) {
					if open := got.Closed == nil; open != inside || at.Before(from) && !got.Opens.Equal(from) {
						t.Errorf("%s allows at %s: %v, opens %s", name, at, open, got.Opens)
					}
				}
				for _, got := range timings(name+" deny", at) {
					if open := got.Closed == nil; open == inside || inside && !got.Opens.Equal(to) {
						t.Errorf("%s denies at %s: %v, opens %s", name, at, !open, got.Opens)
					}
				}
			}
		}
	})
}

func instantOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
