package cron_test

import (
	"errors"
	"testing"
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/cron"
	"github.com/writ-automation/writ/ports/fault"
)

// FuzzParse parses any text: a refusal names its field, and an accepted expression survives a round trip and advances.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"* * * * *", "@daily", "@every 5m", "TZ=0", "0 0 30 2 *", "*/7 22-23,0-2 1-31/10 jan-dec fri-sun", "0 0 L * 5#2",
		"1- * * * *",
		"H(0-9) * * * *", "5/15,,3 ? * * MON", "0 0 29 2 */7", "\x00", "é * * * *", "  0\t0 1 1 7 ",
	} {
		f.Add(seed, "Europe/Berlin", int64(1_774_746_000))
		f.Add(seed, "", int64(0))
	}
	f.Add("@hourly", "../../etc/passwd", int64(1))
	f.Add("@hourly", "right/UTC", int64(-62_135_596_801))
	f.Add("59 23 31 12 *", "Australia/Lord_Howe", int64(253_402_300_799))
	f.Fuzz(func(t *testing.T, expr, zone string, unix int64) {
		e, err := cron.Parse(expr, zone, time.UTC)
		if err != nil {
			var refused *fault.Error
			if !errors.As(err, &refused) || refused.Kind != fault.Invalid || len(refused.Fields) != 1 {
				t.Fatalf("the refusal is %#v", err)
			}
			if l := refused.Fields[0].Location; l != "cron" && l != "timezone" {
				t.Fatalf("the refusal names %q", l)
			}
			return
		}
		again := parse(t, e.String(), e.Zone())
		after := time.Unix(unix, 0)
		for range 3 {
			next, ok := e.Next(after)
			same, alike := again.Next(after)
			if ok != alike || !next.Equal(same) {
				t.Fatalf("%q: %v, and read again %v", expr, next, same)
			}
			if !ok {
				break
			}
			if !next.After(after) || next.Year() > 9999 {
				t.Fatalf("%q after %v: %v", expr, after, next)
			}
			after = next
		}
		if p, err := e.Preview(after, 2); err != nil || len(p.Next) > 2 || p.Cron != e.String() {
			t.Fatalf("%v, %v", p, err)
		}
	})
}
