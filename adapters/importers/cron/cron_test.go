package cron

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// now is a Monday.
func now() time.Time { return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) }

func read(t testing.TB, body string, set ...func(*importer.Export)) importer.Draft {
	t.Helper()
	e := importer.Export{Body: []byte(body), Now: now()}
	for _, f := range set {
		f(&e)
	}
	d, err := New().Read(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func file(name string) func(*importer.Export) { return func(e *importer.Export) { e.File = name } }

func system(yes bool) func(*importer.Export) { return func(e *importer.Export) { e.System = &yes } }

// object returns the object of a kind and a name.
func object(t testing.TB, d importer.Draft, kind importer.Kind, name string) importer.Object {
	t.Helper()
	for _, o := range d.Objects {
		if o.Kind == kind && o.Name == name {
			return o
		}
	}
	t.Fatalf("there is no %s %q among %v", kind, name, listedNames(d))
	return importer.Object{}
}

func listedNames(d importer.Draft) []string {
	var out []string
	for _, o := range d.Objects {
		out = append(out, string(o.Kind)+" "+o.Name)
	}
	return out
}

func command(t testing.TB, o importer.Object) string {
	t.Helper()
	return o.Spec.(*importer.TemplateSpec).Command
}

func schedule(t testing.TB, o importer.Object) importer.ScheduleSpec {
	t.Helper()
	return *o.Spec.(*importer.ScheduleSpec)
}

func warned(o importer.Object, field, part string) bool {
	return slices.ContainsFunc(o.Warnings, func(w importer.Warning) bool {
		return w.Field == field && strings.Contains(w.Message, part)
	})
}

func TestUserCrontab(t *testing.T) {
	t.Parallel()
	d := read(t, "\ufeffGREETING = \"good day\"\r\nMAILTO=ops@example.org, root\n\n"+
		"# Say it\n#\n30 2 * * mon-fri /opt/say $GREETING\n"+
		"# 1 2 3 4 5 /opt/off\n\n@daily cd /opt; ./tidy --all\n\t*/10\t*\t*\t*\t*\t/opt/poll")
	if diff := cmp.Diff([]string{"template Say it", "schedule Say it", "template tidy", "schedule tidy", "template poll",
		"schedule poll"}, listedNames(d)); diff != "" {
		t.Error(diff)
	}
	say := object(t, d, importer.Template, "Say it")
	if got, want := command(t, say), "export GREETING='good day'\n/opt/say $GREETING\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	spec := say.Spec.(*importer.TemplateSpec)
	if spec.Tool != "bash" || spec.MaxConcurrent == nil || *spec.MaxConcurrent != 0 || spec.IsolationProfile != "" ||
		say.Class != importer.NeedsYou || say.Ref != "line 6" {
		t.Errorf("%+v %+v", say, spec)
	}
	want := []importer.Notification{{Kind: "email", To: "ops@example.org", OnFailure: true}}
	if diff := cmp.Diff(want, spec.Notifications); diff != "" || !warned(say, "MAILTO", "no mail address") ||
		!warned(say, "account", "the owner") {
		t.Error(diff, say.Warnings)
	}
	s := object(t, d, importer.Schedule, "Say it")
	if diff := cmp.Diff(importer.ScheduleSpec{Cron: "30 2 * * 1-5", Enabled: true, Overlap: "allow", Template: "Say it"},
		schedule(t, s)); diff != "" || s.Class != importer.Same {
		t.Error(diff, s.Class)
	}
	var days []int
	for _, at := range s.Fires {
		days = append(days, at.Day())
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, days); diff != "" {
		t.Error(diff)
	}
	tidy := "set +e +o pipefail\ncd /opt; ./tidy --all\n"
	if got := command(t, object(t, d, importer.Template, "tidy")); !strings.HasSuffix(got, tidy) {
		t.Errorf("%q", got)
	}
}

func TestSystemCrontab(t *testing.T) {
	t.Parallel()
	body := "17 * * * * root cd / && run-parts /etc/cron.hourly\n25 6 * * * backup /usr/bin/backup now\n"
	for name, set := range map[string]func(*importer.Export){
		"told": system(true), "by its file": file("/etc/cron.d/jobs"), "by its accounts": file("jobs"),
	} {
		d := read(t, body, set)
		root, other := object(t, d, importer.Template, "run-parts"), d.Objects[2]
		if root.Spec.(*importer.TemplateSpec).IsolationProfile != "host" || root.Class != importer.NeedsYou ||
			!warned(root, "account", "root ran the job") {
			t.Errorf("%s: %+v", name, root)
		}
		if command(t, other) != "/usr/bin/backup now\n" || other.Class != importer.NeedsYou ||
			other.Spec.(*importer.TemplateSpec).IsolationProfile != "" || !warned(other, "account", "backup ran the job") {
			t.Errorf("%s: %+v", name, other)
		}
	}
	d := read(t, body, system(false))
	if got := command(t, d.Objects[2]); got != "backup /usr/bin/backup now\n" {
		t.Errorf("%q", got)
	}
	d = read(t, "5 4 * * * root:staff/daemon /opt/job\n", system(true))
	if got := d.Objects[0].Spec.(*importer.TemplateSpec); got.Command != "/opt/job\n" || got.IsolationProfile != "host" {
		t.Errorf("%+v", got)
	}
}

func TestLayoutIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, job string
		system    bool
	}{
		{"", "root /opt/job", true},
		{"", "operations cd /opt", true},
		{"", "/opt/job root", false},
		{"", "rsync /a /b", false},
		{"", "mybackup /srv", false},
		{"", "date", false},
		{"/var/spool/cron/crontabs/root", "root /opt/job", false},
		{"/etc/crontab", "mybackup /srv", true},
	} {
		r := &reader{}
		lines, err := split("1 1 * * * " + c.job)
		if err != nil {
			t.Fatal(err)
		}
		r.layout(importer.Export{File: c.file}, lines)
		if r.system != c.system || r.how == "" {
			t.Errorf("%s %s: system %t, %s", c.file, c.job, r.system, r.how)
		}
	}
	d := read(t, "1 1 * * * /opt/job\n", file("/var/spool/cron/crontabs/root"))
	if d.Objects[0].Spec.(*importer.TemplateSpec).IsolationProfile != "host" {
		t.Errorf("%+v", d.Objects[0])
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	d := read(t, `0 6 * * * date +\%F; mail -s "day 100\%" ops%Dear all,%%it's done.%`+"\n0 7 * * * date +\\%F\n")
	want := "set +e +o pipefail\n{ date +%F; mail -s \"day 100%\" ops\n} <<'END_OF_INPUT'\n" +
		"Dear all,\n\nit's done.\nEND_OF_INPUT\n"
	if got := command(t, d.Objects[0]); got != want || !warned(d.Objects[0], "command", "here-document") {
		t.Errorf("%q, want %q", got, want)
	}
	if got := command(t, d.Objects[2]); got != "date +%F\n" {
		t.Errorf("%q", got)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	d := read(t, "SHELL=/bin/zsh\nHOME='/srv/data'\nA=1\n0 1 * * * print $A's%in\nA=2\nSHELL=/bin/bash\n"+
		"MAILFROM=x@example.org\n0 2 * * * echo $A\nLAST=unused\n")
	first := "export SHELL='/bin/zsh'\nexport HOME='/srv/data'\nexport A='1'\ncd \"$HOME\" || exit\n" +
		`exec '/bin/zsh' -c 'print $A'\''s' <<'END_OF_INPUT'` + "\nin\nEND_OF_INPUT\n"
	if got := command(t, d.Objects[0]); got != first {
		t.Errorf("%q, want %q", got, first)
	}
	second := "export HOME='/srv/data'\nexport A='2'\nexport SHELL='/bin/bash'\ncd \"$HOME\" || exit\necho $A\n"
	if got := command(t, d.Objects[2]); got != second || !warned(d.Objects[2], "MAILFROM", "left out") {
		t.Errorf("%q, want %q", got, second)
	}
	if o := object(t, d, "variable", "LAST"); o.Class != importer.NoHome || o.Reason == "" || o.Spec != nil {
		t.Errorf("%+v", o)
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	d := read(t, "CRON_TZ=America/New_York\n0 3 * * * /opt/a\nCRON_TZ=Nowhere\n0 3 * * * /opt/b\n"+
		"CRON_TZ=\nTZ=Asia/Tokyo\n"+
		"RANDOM_DELAY=30\n0 3 * * * /opt/c\n")
	a := object(t, d, importer.Schedule, "a")
	if got := schedule(t, a).Timezone; got != "America/New_York" || a.Fires[0].UTC().Hour() != 8 {
		t.Errorf("%s, %v", got, a.Fires)
	}
	if b := object(t, d, importer.Schedule, "b"); b.Spec != nil || b.Class != importer.NoHome {
		t.Errorf("%+v", b)
	}
	c := object(t, d, importer.Schedule, "c")
	if schedule(t, c).Timezone != "" || c.Class != importer.Adapted || !warned(c, "TZ", "the command only") ||
		!warned(c, "RANDOM_DELAY", "not delayed") {
		t.Errorf("%+v", c)
	}
	if got := command(t, object(t, d, importer.Template, "c")); got != "export TZ='Asia/Tokyo'\n/opt/c\n" {
		t.Errorf("%q", got)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]string{
		"@weekly": "0 0 * * 0", "@every_minute": "* * * * *", "0-59/30 * * * *": "*/30 * * * *",
		"0 0 1,15 * 7":  "0 0 1,15 * 0",
		"0 0 */2 * fri": "0 0 */2 * 5", "5/10 * * * *": "5-59/10 * * * *", "@reboot": "", "@60": "", "0~30 * * * *": "",
		"0 0 L * *": "", "0 0 * * 1#2": "", "61 * * * *": "",
	} {
		d := read(t, when+" /opt/job\n")
		o := object(t, d, importer.Schedule, "job")
		if want == "" {
			if o.Spec != nil || o.Class != importer.NoHome || o.Reason == "" {
				t.Errorf("%s: %+v", when, o)
			}
			continue
		}
		if got := schedule(t, o).Cron; got != want || len(o.Fires) != importer.MaxFires {
			t.Errorf("%s: %q, want %q; %v", when, got, want, o.Fires)
		}
		if warned(o, "times", "single value") != strings.HasPrefix(when, "5/") {
			t.Errorf("%s: %v", when, o.Warnings)
		}
	}
}

func TestOddLines(t *testing.T) {
	t.Parallel()
	d := read(t, "-*/15 * * * * /opt/quiet\n0 1 * * * -n -q /opt/flags\n0 2 * * * /opt/long >/var/log/long 2>&1 &\n"+
		"garbage here\n0 3 * * *\n9x=1\n0 4 * * * %input\n")
	if o := object(t, d, importer.Template, "quiet"); !warned(o, "options", "left out") {
		t.Errorf("%+v", o)
	}
	flagged := object(t, d, importer.Template, "flags")
	if o := flagged; !warned(o, "options", "left out") || command(t, o) != "/opt/flags\n" {
		t.Errorf("%+v", o)
	}
	o := object(t, d, importer.Template, "long")
	if command(t, o) != "/opt/long >/var/log/long 2>&1\n" || !warned(o, "command", "left out") ||
		!warned(o, "command", "writes output to a file") {
		t.Errorf("%+v", o)
	}
	for _, name := range []string{"line 4", "line 5", "line 6", "line 7"} {
		if o := object(t, d, "line", name); o.Class != importer.NoHome || o.Reason == "" {
			t.Errorf("%+v", o)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		code fault.Code
	}{
		"nothing":  {"", importer.NothingFound},
		"comments": {"# 0 1 * * * /opt/off\n\n", importer.NothingFound},
		"an anacrontab": {"SHELL=/bin/sh\n1\t5\tcron.daily\trun-parts /etc/cron.daily\n" +
			"@monthly 45 cron.monthly run-parts x y z\n", importer.Malformed},
		"a timer":        {"[Unit]\nDescription=x\n\n[Timer]\nOnCalendar=daily\n", importer.Malformed},
		"a text":         {"This is a letter.\nIt is no crontab.\n", importer.Malformed},
		"a NUL":          {"0 1 * * * /opt/a\n0 1 * * * /opt\x00\n", importer.Malformed},
		"not UTF-8":      {"0 1 * * * /opt/\xff\n", importer.Malformed},
		"many lines":     {strings.Repeat("* * * * * x\n", maxLines+1), importer.Malformed},
		"many variables": {"A=" + strings.Repeat("x", maxVars) + "\n* * * * * x\n", importer.Malformed},
		"scripts in bulk": {"A=" + strings.Repeat("x", maxVars-10) + "\n" +
			strings.Repeat("* * * * * x\n", 2000), importer.Malformed},
	} {
		_, err := New().Read(t.Context(), importer.Export{Body: []byte(c.body), Now: now()})
		if f := (*fault.Error)(nil); !errors.As(err, &f) || !c.code.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCollection reads crontabs of others, if they are next to the checkout, beside our own.
func TestCollection(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WRIT_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	type counts struct{ jobs, words int }
	want := map[string]counts{
		"viroverse-user.crontab": {9, 1}, "homestead-user.crontab": {1, 0}, "mezzo-cron.d-app": {2, 0},
		"docker-rundeck-cron.d-example": {},
		"envs-cron.d-backup":            {1, 0}, "envs-cron.d-certbot": {1, 0}, "envs-cron.d-envs_user_info": {2, 0},
		"envs-cron.d-update-blacklist_fail2ban": {2, 0}, "envs-cron.d-botany": {1, 0}, "netbsd-1993-root.crontab": {3, 0},
		"web.crontab": {4, 1},
	}
	files := []string{filepath.Join("testdata", "web.crontab")}
	others, err := filepath.Glob(filepath.Join(shared, "testdata", "cron", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, others...) {
		base := filepath.Base(name)
		if base == "MANIFEST.md" {
			continue
		}
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		expected, ok := want[base]
		d, err := New().Read(t.Context(), importer.Export{File: base, Body: body, Now: now()})
		if !ok || err != nil && (expected.jobs > 0 || !importer.NothingFound.Is(err)) {
			t.Errorf("%s: %v", base, err)
		}
		var got counts
		for _, o := range d.Objects {
			switch {
			case o.Kind == importer.Template:
				got.jobs++
			case o.Kind == importer.Schedule && o.Spec == nil:
				got.words++
			case o.Kind != importer.Schedule && o.Kind != importer.Credential:
				t.Errorf("%s: %s %s", base, o.Kind, o.Reason)
			}
		}
		if got != expected {
			t.Errorf("%s has %+v, want %+v", base, got, expected)
		}
	}
}
