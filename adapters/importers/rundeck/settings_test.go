package rundeck_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/importer"
)

func TestQuartz(t *testing.T) {
	t.Parallel()
	day := func(d, h, m, s int) time.Time { return time.Date(2026, 11, d, h, m, s, 0, time.UTC) }
	for _, c := range []struct {
		text, cron string
		first      time.Time
	}{
		{"0 0 3 ? * 2-6 *", "0 3 * * 1-5", day(30, 3, 0, 0)},
		{"0 30 3 ? * SUN-SAT/2 *", "30 3 * * */2", day(28, 3, 30, 0)},
		{"0 0/20 * * * ?", "*/20 * * * *", day(27, 12, 20, 0)},
		{"0 5/20 8-9 * * ?", "5-59/20 8,9 * * *", day(28, 8, 5, 0)},
		{"30 0 12 * * ?", "0 12 * * *", day(27, 12, 0, 30)},
		{"0 0 0 ? * fri-mon", "0 0 * * 0,1,5,6", day(28, 0, 0, 0)},
		{"0 0 0 ? * L", "0 0 * * 6", day(28, 0, 0, 0)},
		{"0 0 22-2 * * ? *", "0 0-2,22,23 * * *", day(27, 22, 0, 0)},
		{"00 05 07 28 NOV ?", "5 7 28 11 *", day(28, 7, 5, 0)},
		{"0 0 0 1 * MON", "", time.Time{}},
		{"0 0 0 L * ?", "", time.Time{}},
		{"0 0 0 15W * ?", "", time.Time{}},
		{"0 0 0 ? * 6#3", "", time.Time{}},
		{"0 0 0 ? * 6L", "", time.Time{}},
		{"*/30 * * * * ?", "", time.Time{}},
		{"0 0 0 * * ? 2030", "", time.Time{}},
		{"0 0 0 * *", "", time.Time{}},
		{"0 0 0 ? * 0", "", time.Time{}},
		{"0 0 24 * * ?", "", time.Time{}},
		{"0 0/0 0 * * ?", "", time.Time{}},
	} {
		d := job(t, m{"exec": "x"}, m{"schedule": m{"crontab": c.text}, "timeZone": "UTC"})
		o := object(t, d, importer.Schedule, "j")
		spec, ok := o.Spec.(*importer.ScheduleSpec)
		switch {
		case !ok && (c.cron != "" || !strings.Contains(o.Reason, c.text)):
			t.Errorf("%s: %s", c.text, o.Reason)
		case ok && (spec.Cron != c.cron || !spec.Enabled || len(o.Fires) == 0 || !o.Fires[0].Equal(c.first)):
			t.Errorf("%s: %+v, fires %v", c.text, spec, o.Fires)
		}
	}
}

// TestSchedules: a schedule that the server would refuse is not enabled, and one of an unknown zone is not written.
func TestSchedules(t *testing.T) {
	t.Parallel()
	at := m{"time": m{"hour": "1, 2", "minute": 0, "seconds": 0}, "dayofmonth": m{"day": "1"}, "month": "*"}
	d := job(t, m{"exec": "x"}, m{"schedule": at, "options": []any{m{"name": "a", "required": true}}})
	o := object(t, d, importer.Schedule, "j")
	want := &importer.ScheduleSpec{Cron: "0 1,2 1 * *", Overlap: "skip", Template: "j"}
	if diff := cmp.Diff(want, o.Spec); diff != "" || o.Class != importer.NeedsYou || !warned(o, "timeZone") {
		t.Errorf("%s, %v", diff, o.Warnings)
	}
	d = job(t, m{"exec": "x"}, m{"schedule": at, "timeZone": "Mars/Base"})
	if o := object(t, d, importer.Schedule, "j"); o.Spec != nil || !strings.Contains(o.Reason, "Mars/Base") {
		t.Errorf("%+v", o)
	}
	d = job(t, m{"exec": "x"}, m{"schedule": at, "executionEnabled": false, "timeZone": "UTC"})
	o = object(t, d, importer.Schedule, "j")
	if o.Spec.(*importer.ScheduleSpec).Enabled || !warned(o, "executionEnabled") {
		t.Errorf("%+v", o)
	}
	if d = job(t, m{"exec": "x"}, m{"schedule": m{}}); len(d.Objects) != 1 {
		t.Error(names(d))
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	d := job(t, m{"exec": "x"}, m{"options": []any{
		m{"name": "many", "multivalued": true, "delimiter": "+", "enforced": true, "values": "a.,b", "value": "a.+b"},
		m{"name": "date", "isDate": true, "dateFormat": "MM/DD/YYYY hh:mm a", "value": "tomorrow"},
		m{"name": "look", "regex": "(?=x)y"},
		m{"name": "hint", "values": []any{"a", "b"}, "valuesUrl": "http://example.com", "hidden": true},
		m{"name": "lines", "value": "a\nb"},
		m{"name": "pick", "enforced": true, "values": []any{"a", "a", "b"}, "value": "c"},
		m{"name": "db-password", "value": "canary"},
		m{"name": "9x"}, m{"name": "9-x"}, m{"name": "9.x", "odd": true}, m{"name": "up", "type": "file"}, m{"name": ""},
	}})
	spec, o := template(t, d, "j")
	help := "Several values are written with \"+\" between them."
	want := []importer.Question{
		{Var: "many", Type: "text", Help: help, Default: "a.+b", Pattern: `(?:a\.|b)(?:\+(?:a\.|b))*`},
		{Var: "date", Type: "text", Help: "Format: MM/DD/YYYY hh:mm a",
			Pattern: "[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2} [AaPp][Mm]"},
		{Var: "look", Type: "text"},
		{Var: "hint", Type: "text", Help: "Suggested: a, b"},
		{Var: "lines", Type: "multiline", Default: "a\nb"},
		{Var: "pick", Type: "choice", Choices: []string{"a", "b"}},
		{Var: "db_password", Type: "text", Label: "db-password"},
		{Var: "_9x", Type: "text", Label: "9x"},
		{Var: "_9_x", Type: "text", Label: "9-x"},
		{Var: "_9_x_2", Type: "text", Label: "9.x"},
	}
	if diff := cmp.Diff(want, spec.Survey); diff != "" {
		t.Error(diff)
	}
	for _, field := range []string{"options.date.value", "options.look.regex", "options.hint.values",
		"options.hint.valuesUrl", "options.hint.hidden", "options.pick.value", "options.db-password.value", "options.9.x.odd",
		"options.up", "options[11]"} {
		if !warned(o, field) {
			t.Errorf("no warning of %s", field)
		}
	}
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	d := job(t, m{"exec": "x"}, m{"notification": m{
		"onsuccess": m{"urls": "https://example.com/a?token=canary&id=${execution.id},ftp://x,https://${job.name}/"},
		"onfailure": m{"email": m{"recipients": "a@example.com,${option.mail}", "subject": "Oh"}, "plugin": []any{
			m{"type": "SlackNotification", "configuration": m{"webhook_url": "https://hooks.slack.com/services/canary"}},
			m{"type": "HttpNotification", "configuration": m{"remoteUrl": "https://example.com/b", "method": "POST"}},
			m{"type": "PagerDutyNotification", "configuration": m{"service_key": "canary"}},
		}},
		"onstart": m{"email": m{"recipients": "a@example.com"}},
	}})
	spec, o := template(t, d, "j")
	want := []importer.Notification{
		{Kind: "webhook", URL: "https://example.com/a?token=canary"},
		{Kind: "email", To: "a@example.com", OnFailure: true},
		{Kind: "slack", URL: "https://hooks.slack.com/services/canary", OnFailure: true},
		{Kind: "webhook", URL: "https://example.com/b", OnFailure: true},
	}
	if diff := cmp.Diff(want, spec.Notifications); diff != "" {
		t.Error(diff)
	}
	for _, field := range []string{"notification.onstart", "notification.onsuccess", "notification.onsuccess.urls",
		"notification.onfailure.email.recipients", "notification.onfailure.email.subject", "notification.onfailure.plugin"} {
		if !warned(o, field) {
			t.Errorf("no warning of %s", field)
		}
	}
	silent(t, d)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"90": 90, "2d 3h": 183600, "1h30m": 5400, "10s": 10, "${option.t}": 0, "x": 0,
		"99999999y": 0, "0": 0} {
		spec, o := template(t, job(t, m{"exec": "x"}, m{"timeout": text}), "j")
		if spec.Timeout != want || warned(o, "timeout") != (want == 0 && text != "0") {
			t.Errorf("%s: %d %v", text, spec.Timeout, o.Warnings)
		}
	}
	_, o := template(t, job(t, m{"exec": "x"}, m{"orchestrator": m{"type": "x"}, "plugins": m{"a": m{}}, "odd": "1",
		"defaultTab": "nodes", "loglevel": "DEBUG", "description": "d",
		"runnerSelector": m{"runnerFilterMode": "TAGS"}}), "j")
	var fields []string
	for _, w := range o.Warnings {
		fields = append(fields, w.Field)
	}
	if diff := cmp.Diff([]string{"description", "loglevel", "runnerSelector", "odd", "orchestrator"}, fields); diff != "" {
		t.Error(diff)
	}
}
