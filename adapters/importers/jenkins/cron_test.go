package jenkins_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/importers/crontime"
	"github.com/writ-automation/writ/ports/importer"
)

func timer(spec string) string {
	return "<project>" + shell("a") + "<triggers class='vector'><hudson.triggers.TimerTrigger><spec>" + spec +
		"</spec></hudson.triggers.TimerTrigger></triggers></project>"
}

func schedules(d importer.Draft) (written, skipped []importer.Object) {
	for _, o := range d.Objects {
		switch {
		case o.Kind != importer.Schedule:
		case o.Spec == nil:
			skipped = append(skipped, o)
		default:
			written = append(written, o)
		}
	}
	return written, skipped
}

func TestTimers(t *testing.T) {
	for line, want := range map[string]string{
		"5 4 * * *":            `^5 4 \* \* \*$`,
		"*/15 * * * *":         `^\*/15 \* \* \* \*$`,
		"0,30 8-17 * * 1-5":    `^\*/30 8-17 \* \* 1-5$`,
		"0 6-18/4 * * *":       `^0 6-18/4 \* \* \*$`,
		"0 0 * * 7":            `^0 0 \* \* 0$`,
		"0 0 * * 5-7":          `^0 0 \* \* 0,5,6$`,
		"H * * * *":            `^\d+ \* \* \* \*$`,
		"H/15 * * * *":         `^(\d|1[0-4])-59/15 \* \* \* \*$|^\*/15 \* \* \* \*$`,
		"H(0-29)/10 * * * *":   `^\d-(2\d)/10 \* \* \* \*$`,
		"H H(0-7) * * *":       `^\d+ [0-7] \* \* \*$`,
		"H H H * *":            `^\d+ \d+ (\d|1\d|2[0-8]) \* \*$`,
		"@daily":               `^\d+ \d+ \* \* \*$`,
		"@midnight":            `^\d+ [0-2] \* \* \*$`,
		"@weekly":              `^\d+ \d+ \* \* [0-6]$`,
		"@yearly":              `^\d+ \d+ \d+ \d+ \*$`,
		"0 9 1-7 * 1":          `^0 9 \*/31,2-7 \* 1$`,
		"0\t9 *  * *":          `^0 9 \* \* \*$`,
		"0 9 */2 * 1":          `^0 9 \*/2 \* 1$`,
		"H/70 * * * *":         `^\d+ \* \* \* \*$`,
		"59 23 31 12 0":        `^59 23 31 12 \*/7$`,
		"1,H(5-5),3-4 * * * *": `^1,3-5 \* \* \* \*$`,
	} {
		_, _, d := job(t, timer(line))
		got, skipped := schedules(d)
		if len(got) != 1 || len(skipped) != 0 {
			t.Errorf("%q: %s", line, asJSON(d))
			continue
		}
		s := got[0].Spec.(*importer.ScheduleSpec)
		if !regexp.MustCompile(want).MatchString(s.Cron) || !s.Enabled || s.Template != "site" || s.Timezone != "" {
			t.Errorf("%q became %+v", line, s)
		}
		// What Jenkins and Writ do has to be the same; the times come from other code than the expression.
		if unix, err := crontime.ParseUnix(s.Cron); err != nil {
			t.Errorf("%q became %q: %v", line, s.Cron, err)
		} else if next := unix.Next(now, time.Local, len(got[0].Fires)); !sameTimes(next, got[0].Fires) || len(next) == 0 {
			t.Errorf("%q fires at %v, and %q at %v", line, got[0].Fires, s.Cron, next)
		}
		if warned(got[0], "spec", "by the name") != strings.ContainsAny(line, "H@") {
			t.Errorf("%q: warnings %v", line, got[0].Warnings)
		}
	}
}

func sameTimes(a, b []time.Time) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

func TestTimersThatCannotBeWritten(t *testing.T) {
	for line, reason := range map[string]string{
		"0 9 13 * 5":           "both the day of the month and the day of the week",
		"* * * *":              "4 fields",
		"* * * * * *":          "6 fields",
		"60 * * * *":           "minute",
		"0 24 * * *":           "hour",
		"0 0 0 * *":            "day of month",
		"0 0 * jan *":          "month",
		"0 0 * * mon":          "day of week",
		"0 0 * * 8":            "day of week",
		"5/10 * * * *":         "not understood",
		"*/0 * * * *":          "step of 0",
		"10-5 * * * *":         "minute",
		"H(9-3) * * * *":       "minute",
		"h * * * *":            "not understood",
		"@reboot":              "1 fields",
		", * * * *":            "not understood",
		"TZ=Mars/X\n0 0 * * *": "time zone",
		"TZ=../x\n0 0 * * *":   "time zone",
	} {
		_, _, d := job(t, timer(line))
		got, skipped := schedules(d)
		if len(got) != 0 || len(skipped) != 1 || !strings.Contains(skipped[0].Reason, reason) {
			t.Errorf("%q: %s", line, asJSON(d))
		}
	}
}

func TestLinesOfTimers(t *testing.T) {
	_, _, d := job(t, "<project><disabled>true</disabled>"+strings.TrimPrefix(
		timer("# nightly\nTZ=Europe/Vienna\n0 2 * * *\n\n30 2 31 3 *\n"), "<project>"))
	got, _ := schedules(d)
	if len(got) != 2 || got[0].Name != "site" || got[1].Name != "site (2)" {
		t.Fatalf("schedules %s", asJSON(got))
	}
	s := got[0].Spec.(*importer.ScheduleSpec)
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	if s.Timezone != "Europe/Vienna" || s.Enabled || len(got[0].Fires) != importer.MaxFires ||
		got[0].Fires[0].In(vienna).Hour() != 2 {
		t.Errorf("the schedule is %s", asJSON(got[0]))
	}
}

// The same job gets the same times in every import, and others get others.
func TestHashesAreStable(t *testing.T) {
	crons := map[string]bool{}
	for _, name := range []string{"a", "a", "b", "c", "d/a"} {
		d, err := read(t, importer.Export{Body: pack(t, map[string]string{
			"jobs/" + strings.ReplaceAll(name, "/", "/jobs/") + "/config.xml": timer("H H * * H")})})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := schedules(d)
		crons[got[0].Spec.(*importer.ScheduleSpec).Cron] = true
	}
	if len(crons) != 4 {
		t.Errorf("expressions %v", crons)
	}
}

func TestOtherTriggers(t *testing.T) {
	for body, text := range map[string]string{
		"<hudson.triggers.SCMTrigger><spec>H * * * *</spec></hudson.triggers.SCMTrigger>": "start it on a push",
		"<com.cloudbees.jenkins.GitHubPushTrigger/>":                                      "start it on a push",
		"<org.x.ScriptTrigger><spec>* * * * *</spec></org.x.ScriptTrigger>":               "has no counterpart",
	} {
		for _, place := range []string{
			"<project><triggers>" + body + "</triggers>" + shell("a") + "</project>",
			"<project><properties><x.PipelineTriggersJobProperty><triggers>" + body +
				"</triggers></x.PipelineTriggersJobProperty></properties>" + shell("a") + "</project>",
		} {
			_, o, d := job(t, place)
			wants(t, o, importer.Adapted, text)
			if got, skipped := schedules(d); len(got)+len(skipped) > 0 {
				t.Errorf("%s became %s", body, asJSON(d))
			}
		}
	}
}
