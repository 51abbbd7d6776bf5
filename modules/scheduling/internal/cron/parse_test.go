package cron_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zone tables on every machine

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/scheduling/internal/cron"
	"github.com/writ-automation/writ/ports/fault"
)

func parse(t testing.TB, expr, zone string) *cron.Expr {
	t.Helper()
	e, err := cron.Parse(expr, zone, time.UTC)
	if err != nil {
		t.Fatalf("%q in %q: %v", expr, zone, err)
	}
	return e
}

// fires returns the next n firing instants.
func fires(e *cron.Expr, after time.Time, n int) []time.Time {
	var out []time.Time
	for range n {
		at, ok := e.Next(after)
		if !ok {
			break
		}
		out, after = append(out, at), at
	}
	return out
}

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Second)

// TestForms compares each form with the same expression in plain numbers.
func TestForms(t *testing.T) {
	t.Parallel()
	forms := map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *", " @Daily\t": "0 0 * * *",
		"*/15 * * * *":                          "0,15,30,45 * * * *",
		"*/60 */24 * * *":                       "0 0 * * *",
		"*/40 * * * *":                          "0,40 * * * *",
		"5/15 * * * *":                          "5,20,35,50 * * * *",
		"59/15 * * * *":                         "59 * * * *",
		"10-20/5,50 * * * *":                    "10,15,20,50 * * * *",
		"1,1,1-2 * * * *":                       "1,2 * * * *",
		"007 08 09 * *":                         "7 8 9 * *",
		"\t0  \t12 1 1   * ":                    "0 12 1 1 *",
		"0-59 0-23 * 1-12 *":                    "* * * * *",
		"0 0 1 jan,MAR-May *":                   "0 0 1 1,3,4,5 *",
		"0 0 1 jan-dec/3 *":                     "0 0 1 1,4,7,10 *",
		"0 0 1 feb/5 *":                         "0 0 1 2,7,12 *",
		"0 0 * * 7":                             "0 0 * * 0",
		"0 0 * * 5-7":                           "0 0 * * 0,5,6",
		"0 0 * * 0-7":                           "0 0 * * *",
		"0 0 * * fri-sun":                       "0 0 * * 0,5,6",
		"0 0 * * sun-tue":                       "0 0 * * 0,1,2",
		"0 0 * * sun":                           "0 0 * * 0",
		"0 0 * * Mon-FRI/2":                     "0 0 * * 1,3,5",
		"0 0 * * 1/2":                           "0 0 * * 1,3,5",
		"0 0 * * 7/2":                           "0 0 * * 0",
		"0 0 * * */7":                           "0 0 * * 0",
		"0 0 * * sun-sun":                       "0 0 * * 0",
		"0 0 */10 * *":                          "0 0 1,11,21,31 * *",
		"0 0 1-31 * 1":                          "0 0 * * *", // both restricted: every day matches the day of month
		"0 0 1 * *,1":                           "0 0 1 * *",
		"0 22-23,0-2 * * *":                     "0 0,1,2,22,23 * * *",
		"0 0 28-31 2 *":                         "0 0 28,29 2 *",
		strings.Repeat("1,", 250) + "1 * * * *": "1 * * * *",
	}
	for form, plain := range forms {
		if diff := cmp.Diff(fires(parse(t, plain, "UTC"), newYear, 150),
			fires(parse(t, form, "UTC"), newYear, 150)); diff != "" {
			t.Errorf("%q is not %q:\n%s", form, plain, diff)
		}
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	e := parse(t, "  30 2 * * mon ", "Europe/Berlin")
	if e.String() != "30 2 * * mon" || e.Zone() != "Europe/Berlin" {
		t.Errorf("%q in %q", e.String(), e.Zone())
	}
}

// TestDayFields covers which day fields are restricted.
func TestDayFields(t *testing.T) {
	t.Parallel()
	for expr, days := range map[string]string{
		"0 0 13 * fri":       "01-02 01-09 01-13 01-16 01-23 01-30 02-06",
		"0 0 * * fri":        "01-02 01-09 01-16 01-23 01-30 02-06 02-13",
		"0 0 13 * *":         "01-13 02-13 03-13 04-13 05-13 06-13 07-13",
		"0 0 */2 * fri":      "01-09 01-23 02-13 02-27 03-13 03-27 04-03",
		"0 0 1-7 * */7":      "01-04 02-01 03-01 04-05 05-03 06-07 07-05",
		"0 0 */3 * */3":      "01-04 01-07 01-10 01-25 01-28 01-31 02-01",
		"0 0 31,*/2 * fri":   "01-01 01-02 01-03 01-05 01-07 01-09 01-11", // the field does not begin with *
		"0 0 *,31 * fri":     "01-02 01-09 01-16 01-23 01-30 02-06 02-13",
		"0 0 29-31 2 mon":    "02-02 02-09 02-16 02-23 02-01 02-08 02-15",
		"0 0 31 4,6 2":       "04-07 04-14 04-21 04-28 06-02 06-09 06-16",
		"0 0 1 1 1":          "01-01 01-05 01-12 01-19 01-26 01-01 01-04",
		"0 0 1-31/10 12 */6": "12-11 12-31 12-01 12-01 12-21 12-21 12-11",
	} {
		got := make([]string, 0, 7)
		for _, at := range fires(parse(t, expr, "UTC"), newYear, 7) {
			got = append(got, at.Format("01-02"))
		}
		if diff := cmp.Diff(days, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q:\n%s", expr, diff)
		}
	}
}

func refusal(t *testing.T, err error) *fault.Error {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 1 {
		t.Fatalf("the refusal is %#v", err)
	}
	return f
}

func TestRefusedExpressions(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"":                                    "an expression is needed",
		" \t ":                                "an expression is needed",
		"0 0 * *":                             "has 4 of five fields",
		"0":                                   "has 1 of five fields",
		"0 0 0 * * *":                         "fields for seconds and years are not supported",
		"0 0 0 * * * 2026":                    "has 7 fields",
		"0 5 * * * /bin/a b c":                "has 8 fields, five are taken",
		"TZ=UTC 0 0 * * *":                    "put it into timezone",
		"CRON_TZ=":                            "put it into timezone",
		"TZ=0":                                "put it into timezone",
		"@every 5m":                           "@every is not supported: it counts from the start",
		"@every":                              "@every is not supported",
		"@reboot":                             "@reboot is not supported: a schedule fires by the clock",
		"@daily 5":                            "@daily stands alone",
		"@HOURLY\t*":                          "@HOURLY stands alone",
		"@fortnightly":                        `"@fortnightly" is no known word; the words are @yearly`,
		"@":                                   `"@" is no known word`,
		"60 * * * *":                          `minute, character 1: "60" is out of range, the values are 0 to 59`,
		"0 24 * * *":                          `hour, character 3: "24" is out of range, the values are 0 to 23`,
		"0 0 0 * *":                           `day of month, character 5: "0" is out of range, the values are 1 to 31`,
		"0 0 32 * *":                          `day of month, character 5: "32"`,
		"0 0 * 0 *":                           `month, character 7: "0" is out of range, the values are 1 to 12`,
		"0 0 * 13 *":                          "month, character 7",
		"0 0 * * 8":                           `day of week, character 9: "8" is out of range, the values are 0 to 7`,
		"  0   0 * *\t1-8":                    `day of week, character 15: "8"`,
		"99999999999999999999 * * * *":        "out of range",
		"-1 * * * *":                          "minute, character 1: a value is missing",
		"1- * * * *":                          "minute, character 3: a value is missing",
		"1--2 * * * *":                        "minute, character 3: \"-2\" is no number",
		"1-2-3 * * * *":                       `minute, character 3: "2-3" is no number`,
		"+5 * * * *":                          `"+5" is no number`,
		"1.5 * * * *":                         `"1.5" is no number`,
		"0x1 * * * *":                         `"0x1" is no number`,
		"*-5 * * * *":                         "minute, character 1: * cannot be part of a range",
		"5-* * * * *":                         "minute, character 3: * cannot be part of a range",
		"** * * * *":                          `"**" is no number`,
		"1,,2 * * * *":                        "minute, character 3: a value is missing",
		",1 * * * *":                          "minute, character 1: a value is missing",
		"1, * * * *":                          "minute, character 3: a value is missing",
		"1,2,61 * * * *":                      "minute, character 5",
		"*/0 * * * *":                         `minute, character 3: the step "0" is out of range, steps are 1 to 60`,
		"*/61 * * * *":                        "steps are 1 to 60",
		"0 */25 * * *":                        "steps are 1 to 24",
		"0 0 * * */8":                         "steps are 1 to 7",
		"*/ * * * *":                          `minute, character 3: the step "" is no number`,
		"*/a * * * *":                         `the step "a" is no number`,
		"*/5/5 * * * *":                       `the step "5/5" is no number`,
		"*/-5 * * * *":                        `the step "-5" is no number`,
		"/5 * * * *":                          "minute, character 1: a value is missing",
		"0 22-2 * * *":                        `hour, character 3: the range "22-2" runs backwards`,
		"0 0 * * fri-mon":                     `the range "fri-mon" runs backwards`,
		"0 0 * * 5-0":                         `the range "5-0" runs backwards`,
		"0 0 * nov-feb *":                     "runs backwards",
		"mon * * * *":                         `minute, character 1: "mon" is no number`,
		"0 0 * mon *":                         `month, character 7: "mon" is neither a number nor one of jan, feb`,
		"0 0 * * monday":                      `day of week, character 9: "monday" is neither a number nor one of sun, mon`,
		"0 0 * * jan":                         "day of week, character 9",
		"0 0 ? * 1":                           "day of month, character 5: ? (no value) is not supported; write *",
		"0 0 L * *":                           "day of month, character 5: L (the last day)",
		"0 0 L-3 * *":                         "L (the last day)",
		"0 0 * * 5L":                          "day of week, character 9: L (the last day)",
		"0 0 * * friL":                        "L (the last day)",
		"0 0 1,15W * *":                       "day of month, character 7: W (the nearest working day)",
		"0 0 LW * *":                          "W (the nearest working day)",
		"0 0 * * mon#2":                       "# (the n-th weekday of a month)",
		"0~30 * * * *":                        "~ (a random value)",
		"H * * * *":                           "H (a value that the server chooses)",
		"H(0-29)/10 * * * *":                  "minute, character 1: H (a value that the server chooses)",
		"0\n0 * * *":                          "character 2 is neither plain text nor a space",
		"0 0 * * *\x00":                       "character 10 is neither",
		"0 0 \u2217 * *":                      "character 5 is neither",
		"0\u00a00 * * *":                      "character 2 is neither",
		strings.Repeat(" ", cron.MaxLength+1): "has 513 characters, at most 512",
		strings.Repeat("x", 100) + " * * * *": `x..." is no number`,
	} {
		_, err := cron.Parse(expr, "UTC", nil)
		f := refusal(t, err)
		if f.Fields[0].Location != "cron" || !strings.Contains(f.Message, want) || strings.ContainsAny(f.Message, "\n\x00") ||
			len(f.Message) > 300 {
			t.Errorf("%q: %v\n\twanted %s", expr, err, want)
		}
	}
}

func TestZoneNames(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5",
		"EST5EDT", "America/Port-au-Prince"} {
		parse(t, "@daily", zone)
	}
	for zone, want := range map[string]string{
		"Mars/Base":                   `"Mars/Base" is no known zone`,
		"europe/berlinn":              "is no known zone",
		"Europe":                      "is no known zone",
		"Europe/":                     "is no known zone",
		"/etc/localtime":              "is no known zone",
		"..":                          "a zone has a name of letters",
		"../../etc/passwd":            "a zone has a name of letters",
		" Europe/Berlin":              "a zone has a name of letters",
		"Europe/Berl\u0131n":          "a zone has a name of letters",
		"Europe/Berlin\x00":           "a zone has a name of letters",
		"+02:00":                      "a zone has a name of letters",
		"+0200":                       "is an offset and no zone",
		"-5":                          "is an offset and no zone",
		"2":                           "is an offset and no zone",
		"Local":                       "means something else on each machine",
		"localtime":                   "means something else on each machine",
		"right/Europe/Berlin":         "means something else on each machine",
		"posix/Europe/Berlin":         "means something else on each machine",
		strings.Repeat("Europe/", 10): "has 70 characters, at most 64",
	} {
		_, err := cron.Parse("@daily", zone, nil)
		f := refusal(t, err)
		if f.Fields[0].Location != "timezone" || !strings.Contains(f.Message, want) {
			t.Errorf("%q: %v\n\twanted %s", zone, err, want)
		}
	}
}

// TestLocal parses expressions without a zone in the server's local time.
func TestLocal(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 5*60*60+45*60)
	for _, c := range []struct {
		local *time.Location
		want  string
	}{{nil, "2026-01-01 12:00"}, {time.UTC, "2026-01-01 12:00"}, {east, "2026-01-01 06:15"}} {
		e, err := cron.Parse("0 12 * * *", "", c.local)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := e.Next(newYear)
		if got := at.Format("2006-01-02 15:04"); got != c.want || e.Zone() != "" {
			t.Errorf("in %v it fires at %s", c.local, got)
		}
		if slot := e.Slot(at); slot != "2026-01-01T12:00 local" {
			t.Error(fmt.Sprint("the slot is ", slot))
		}
	}
}
