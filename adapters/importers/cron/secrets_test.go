package cron

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/importers/crontime"
	"github.com/writ-automation/writ/ports/importer"
)

const canary = "Canary4711x"

// shown returns all that a draft shows.
func shown(t testing.TB, d importer.Draft) string {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSecretsAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"DB_PASSWORD=" + canary + "\n0 1 * * * /opt/job",
		"API_TOKEN=\"" + canary + "\"\n0 1 * * * /opt/job",
		"DATABASE_URL=postgres://app:" + canary + "@db/app\n0 1 * * * /opt/job",
		"0 1 * * * DB_PASSWORD=" + canary + " /opt/job",
		"0 1 * * * env PGPASSWORD='" + canary + "' pg_dump app",
		"0 1 * * * /opt/job --password " + canary + " --all",
		"0 1 * * * /opt/job --api-token=" + canary,
		"0 1 * * * /opt/job -secret:" + canary,
		"0 1 * * * mysqldump -u root -p" + canary + " app",
		"0 1 * * * sshpass -p '" + canary + "' ssh host",
		"0 1 * * * curl -u app:" + canary + " https://host",
		"0 1 * * * curl https://app:" + canary + "@host/x",
		"0 1 * * * curl -H 'Authorization: Bearer " + canary + "' https://host",
		"0 1 * * * curl -H \"X-Api-Key: " + canary + "\" https://host",
		"0 1 * * * /opt/job%password=" + canary,
		"# the password is " + canary + "\n0 1 * * * /opt/job",
		"# token: " + canary + "\n0 1 * * * /opt/job",
	} {
		d := read(t, line+"\n", file("a.crontab"))
		if strings.Contains(shown(t, d), canary) {
			t.Errorf("%s: %s", line, shown(t, d))
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := slices.IndexFunc(d.Objects, func(o importer.Object) bool { return o.Kind == importer.Credential })
		if i < 0 {
			t.Errorf("%s: there is no credential", line)
			continue
		}
		isTemplate := func(o importer.Object) bool { return o.Kind == importer.Template }
		template := d.Objects[slices.IndexFunc(d.Objects, isTemplate)]
		got := template.Spec.(*importer.TemplateSpec).Credentials
		if d.Objects[i].Class != importer.NeedsYou || !slices.Equal(got, []string{d.Objects[i].Name}) {
			t.Errorf("%s: %+v, %v", line, d.Objects[i], got)
		}
	}
}

func TestPlainTextsStay(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"ssh -i /etc/keys/id_ed25519 host", "/opt/job --key /etc/job.key --password-file /etc/p",
		"mail -s 'password expires' ops",
		"pass=$(cat /etc/pass); /opt/job --password $pass", "/opt/monkey business", "curl -s https://host/path?a=1",
		"mysql app <x.sql",
		"/opt/job --token-file /etc/t --keys 3",
	} {
		d := read(t, "0 1 * * * "+line+"\n", system(false))
		if got := command(t, d.Objects[0]); !strings.HasSuffix(got, line+"\n") {
			t.Errorf("%s became %q", line, got)
		}
	}
}

func TestTwoSecretsHaveTwoVariables(t *testing.T) {
	t.Parallel()
	d := read(t, "0 1 * * * a --password one1234 | b --password two1234\n0 2 * * * a --password one1234\n", system(false))
	var credentials []string
	for _, o := range d.Objects {
		if o.Kind == importer.Credential {
			credentials = append(credentials, o.Spec.(*importer.CredentialSpec).Settings["env_name"].(string))
		}
	}
	if !slices.Equal(credentials, []string{"SECRET_PASSWORD", "SECRET_PASSWORD_2"}) {
		t.Errorf("%v", credentials)
	}
	want := "set +e +o pipefail\na --password ${SECRET_PASSWORD} | b --password ${SECRET_PASSWORD_2}\n"
	if got := command(t, object(t, d, importer.Template, "a")); got != want {
		t.Errorf("%q", got)
	}
}

// TestScriptsRun executes the scripts that become of jobs.
func TestScriptsRun(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"A=it's $B\n* * * * * echo \"$A\"":              "it's $B\n",
		"* * * * * cat%a%b\\%":                          "a\nb%\n",
		"* * * * * false; echo later | false; echo end": "end\n",
		"* * * * * read x; echo $x%END_OF_INPUT":        "END_OF_INPUT\n",
		"SHELL=/usr/bin/env\n* * * * * x":               "",
		"HOME=/\n* * * * * pwd":                         "/\n",
		"BASH_ENV=/dev/null\n* * * * * echo 'a b'%in":   "a b\n",
	} {
		d := read(t, line, system(false))
		i := slices.IndexFunc(d.Objects, func(o importer.Object) bool { return o.Kind == importer.Template })
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte(command(t, d.Objects[i])), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script).Output()
		if want != "" && (err != nil || string(out) != want) {
			t.Errorf("%q: %q, %v, want %q", line, out, err, want)
		}
	}
}

// FuzzRead: no body makes the format panic, and what it returns is whole.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"0 1 * * * /opt/job --password " + canary, "A=b\n# c\n@daily root /x\n", "*/5 * * * * a%b%c\\%\n",
		"TOKEN=" + canary + "\n@reboot x",
		"CRON_TZ=Europe/Berlin\nMAILTO=a@b.c,d\n5/7 1-3 * jan sun x &\n", "-1 1 1 1 1 -n x\n[Unit]\n",
		"1 5 cron.daily run x\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, columned bool) {
		for _, e := range []importer.Export{
			{Body: body, Now: now()},
			{Body: body, Now: now(), System: &columned, File: "x/" + string(body[:min(len(body), 9)])},
			{Body: append([]byte("A_SECRET="+canary+"\n* * * * * root x --password="+canary+"\n"), body...), Now: now()},
		} {
			d, err := New().Read(t.Context(), e)
			if err != nil {
				continue
			}
			taken := map[string]bool{}
			for i := range d.Objects {
				check(t, &d.Objects[i], taken)
			}
			if strings.Contains(shown(t, d), canary) && !strings.Contains(string(body), canary) {
				t.Errorf("the secret is shown: %s", shown(t, d))
			}
		}
	})
}

// check fails for an object that is not as the contract says.
func check(t *testing.T, o *importer.Object, taken map[string]bool) {
	t.Helper()
	if o.Name == "" || o.Ref == "" || !slices.Contains(importer.Classes(), o.Class) {
		t.Errorf("%+v", o)
	}
	if (o.Spec == nil) != (o.Class == importer.NoHome) || (o.Reason != "") != (o.Class == importer.NoHome) ||
		o.Class == importer.Same && len(o.Warnings) > 0 {
		t.Errorf("%+v", o)
	}
	if o.Spec == nil {
		return
	}
	if key := string(o.Kind) + "\x00" + o.Name; taken[key] {
		t.Errorf("%q occurs twice", o.Name)
	} else {
		taken[key] = true
	}
	switch spec := o.Spec.(type) {
	case *importer.TemplateSpec:
		if strings.TrimSpace(spec.Command) == "" || spec.Tool != "bash" {
			t.Errorf("%+v", spec)
		}
	case *importer.ScheduleSpec:
		again, err := crontime.ParseUnix(spec.Cron)
		if err != nil || !taken[string(importer.Template)+"\x00"+spec.Template] || len(spec.Cron) > 512 {
			t.Errorf("%+v: %v", spec, err)
		}
		loc := now().Location()
		if spec.Timezone != "" {
			if loc, err = crontime.Zone(spec.Timezone); err != nil {
				t.Error(err)
			}
		}
		if got := again.Next(now(), loc, importer.MaxFires); fmt.Sprint(got) != fmt.Sprint(o.Fires) {
			t.Errorf("%+v fires at %v, and before at %v", spec, got, o.Fires)
		}
	case *importer.CredentialSpec:
		if spec.Kind != "token" || len(spec.Settings) != 1 {
			t.Errorf("%+v", spec)
		}
	default:
		t.Errorf("%T", spec)
	}
}

func BenchmarkRead(b *testing.B) {
	var body strings.Builder
	body.WriteString("PATH=/usr/bin:/bin\nMAILTO=ops@example.org\n")
	word := strings.Repeat("--option value ", 180)
	for i := range 9000 {
		fmt.Fprintf(&body, "# Job %d\n%d */2 * * 1-5 /opt/app/bin/job --token=abcdef%d %s\n", i, i%60, i%7, word)
	}
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		read(b, body.String(), system(false))
	}
}
