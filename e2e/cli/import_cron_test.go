package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/importer"
)

const (
	userTab = `SITE=/srv/site
CRON_TZ=Europe/Berlin

# Rotate the caches
*/20 6-22 * * 1-5  $SITE/bin/rotate
30 2 * * *         /usr/bin/backup
`
	systemTab = `PATH=/usr/sbin:/usr/bin
CRON_TZ=UTC
17 *  * * *   root   /usr/bin/backup
25 6  * * *   www    echo nightly
@reboot       www    echo up
`
)

// planned returns an object of a plan.
func planned(t *testing.T, plan importer.Body, kind importer.Kind, name string) importer.PlannedBody {
	t.Helper()
	i := slices.IndexFunc(plan.Objects, func(o importer.PlannedBody) bool { return o.Kind == kind && o.Name == name })
	if i < 0 {
		t.Fatalf("the plan has no %s %q: %+v", kind, name, plan.Objects)
	}
	return plan.Objects[i]
}

// TestImportCron imports the crontab of an account and that of a system, which have a job of the same name, and imports
// them again. Then each has its changes.
func TestImportCron(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		u := userOf(t, s)
		user, system := written(t, "deploy", []byte(userTab)), written(t, "crontab", []byte(systemTab))

		code, out, errs := u.do("import", "cron", user, "--user", "deploy")
		for _, want := range []string{
			"Preview: nothing was written; 4 create, 0 update, 0 skip", "Needs you", `create template "Rotate the caches"`,
			"warning: account: deploy ran the job", "The script sets SITE.", "old  ",
		} {
			if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "differs") {
				t.Errorf("exit %d, no %q in\n%s%s", code, want, out, errs)
			}
		}
		if n := total(t, s, "templates"); n != 0 {
			t.Errorf("the preview wrote %d templates", n)
		}

		both := []string{"cron", user, system, "--apply"}
		plan := u.imports(both...)
		root := planned(t, plan, importer.Template, "backup (crontab)")
		var stored struct {
			IsolationProfile string `json:"isolation_profile"`
			Command          string
		}
		s.Do(http.MethodGet, "/v1/templates/"+root.ID, nil).JSON(t, &stored)
		if root.Class != importer.NeedsYou || root.SourceRef != "crontab, line 3" || stored.IsolationProfile != "host" ||
			!strings.Contains(stored.Command, "export PATH='/usr/sbin:/usr/bin'\n") {
			t.Errorf("the job of root is %+v, %+v", root, stored)
		}
		reboot := planned(t, plan, importer.Schedule, "echo (2)")
		if plan.Counts.Create != 9 || reboot.Class != importer.NoHome || !strings.Contains(reboot.Reason, "@reboot") {
			t.Errorf("%+v, %+v", plan.Counts, reboot)
		}
		unchanged(t, u.imports(both...))
		s.Intact()

		changed := written(t, "deploy", []byte(strings.Replace(userTab, "30 2", "40 3", 1)))
		code, out, _ = u.do("import", "cron", changed, "--user", "deploy", "--check")
		if code != 3 || !strings.Contains(out, "changes: cron") || !strings.Contains(out, "0 create, 1 update, 3 skip") {
			t.Errorf("exit %d\n%s", code, out)
		}
		again := planned(t, u.imports("cron", changed, "--user", "deploy", "--apply"), importer.Schedule, "backup")
		if again.Action != importer.Update || again.ID == "" {
			t.Errorf("the changed schedule is %+v", again)
		}
	})
}

// TestImportCronSecret: a secret of a crontab is left out, and the schedule that needs it is not enabled.
func TestImportCronSecret(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	file := written(t, "ada", []byte("CRON_TZ=UTC\nDB_PASSWORD=ver1SecretValue\n5 4 * * * /usr/bin/report\n"))
	plan := u.imports("cron", file, "--user", "ada", "--apply")
	schedule := planned(t, plan, importer.Schedule, "report")
	var stored struct{ Enabled bool }
	s.Do(http.MethodGet, "/v1/schedules/"+schedule.ID, nil).JSON(t, &stored)
	if stored.Enabled || schedule.Class != importer.NeedsYou {
		t.Errorf("%+v", schedule)
	}
	s.Cells(func(table, column string, value []byte) {
		if bytes.Contains(value, []byte("ver1SecretValue")) {
			t.Errorf("the secret is in %s of %s", column, table)
		}
	})
	unchanged(t, u.imports("cron", file, "--user", "ada", "--apply"))
}

// TestScheduleCompare compares exports with what is stored: missing, disabled, the same, or at other times.
func TestScheduleCompare(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	file := written(t, "deploy", []byte(userTab))
	compared := func(code int, want map[string]string, args ...string) {
		t.Helper()
		got, out, errs := u.do(append([]string{"schedule", "compare", "--json"}, args...)...)
		var list struct {
			Schedules []struct {
				Name, State string
				Fires       importer.FiresBody `json:"next_fires"`
			}
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil || got != code || len(list.Schedules) != len(want) {
			t.Fatalf("exit %d, %v\n%s%s", got, err, out, errs)
		}
		for _, x := range list.Schedules {
			old, here := len(x.Fires.Source), len(x.Fires.Writ)
			if x.State != want[x.Name] || old != 5 || here != 5 && x.State != "missing here" {
				t.Errorf("%+v", x)
			}
		}
	}
	compared(3, map[string]string{"backup": "missing here", "Rotate the caches": "missing here"}, "cron", file)
	u.imports("cron", file, "--user", "deploy", "--apply")
	compared(0, map[string]string{"backup": "same", "Rotate the caches": "same"}, "cron", file)
	if code, out, errs := u.do("schedule", "edit", "backup", "--enabled=false"); code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	compared(0, map[string]string{"backup": "disabled here", "Rotate the caches": "same"}, "cron", file)
	if code, out, errs := u.do("schedule", "edit", "Rotate the caches", "--cron", "10 * * * *"); code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	compared(3, map[string]string{"backup": "disabled here", "Rotate the caches": "differs"}, "cron", file)
	code, out, _ := u.do("schedule", "compare", "cron", file)
	if code != 3 || !strings.Contains(out, "differs       Rotate the caches") || !strings.Contains(out, "2 schedules") {
		t.Errorf("exit %d\n%s", code, out)
	}
	nightly := written(t, "export.json", export(t, 4, 1))
	compared(3, map[string]string{"nightly": "missing here"}, "awx", nightly)
	u.imports("awx", nightly, "--apply")
	compared(0, map[string]string{"nightly": "same"}, "awx", nightly)
	compared(3, map[string]string{"nightly": "differs"}, "awx", written(t, "export.json", export(t, 5, 1)))
}
