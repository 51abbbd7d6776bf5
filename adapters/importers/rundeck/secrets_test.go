package rundeck_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/importers/rundeck"
	"github.com/writ-automation/writ/ports/importer"
)

// silent checks that no secret, each of which contains canary, is in a draft, except for addresses of notifications.
func silent(t *testing.T, d importer.Draft) {
	t.Helper()
	for _, o := range d.Objects {
		if spec, ok := o.Spec.(*importer.TemplateSpec); ok {
			plain := *spec
			plain.Notifications = nil
			o.Spec = &plain
		}
		text, err := json.Marshal(o)
		if err != nil || strings.Contains(string(text), "canary") {
			t.Errorf("%v: %s", err, text)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	d := read(t, []byte(`
- name: secrets
  options:
  - {name: api_key, value: canary1}
  - {name: address, value: 'https://u:canary2@example.com'}
  - {name: hidden, secure: true, value: canary3}
  sequence:
    commands:
    - exec: PGPASSWORD=canary4 psql 'postgres://u:canary5@h/d' --password canary6 -H 'Authorization; Bearer canary123456789'
      description: 'with --password=canary7'
    - script: |
        export DB_PASSWORD="canary8"
        export OTHER="$DB_PASSWORD"
        cat <<X
        -----BEGIN RSA PRIVATE KEY-----
        canary9
        -----END RSA PRIVATE KEY-----
        X
      args: --token canary10 plain
    - script: |
        password = 'canary11'
        print(password)
      scriptinterpreter: python3
    - jobref: {name: other, args: '-secret canary12 -plain x'}
    - exec: PGPASSWORD=canary4 x; PGPASSWORD=canary13 y; secret=$(cat f) token=/run/token
- name: other
  options: [{name: secret, secure: true}, {name: plain}]
  sequence: {commands: [{exec: 'echo ${option.secret}'}]}
`))
	silent(t, d)
	valid(t, d, true)
	var variables []string
	for _, o := range d.Objects {
		if spec, ok := o.Spec.(*importer.CredentialSpec); ok {
			variables = append(variables, spec.Settings["env_name"].(string))
		}
	}
	for _, name := range []string{"RD_OPTION_HIDDEN", "RD_OPTION_SECRET", "SECRET_PGPASSWORD", "SECRET_PGPASSWORD_2",
		"SECRET_PASSWORD", "SECRET_DB_PASSWORD", "SECRET_TOKEN", "SECRET_PRIVATE_KEY", "SECRET_URL_PASSWORD"} {
		if !slices.Contains(variables, name) {
			t.Errorf("no credential sets %s: %v", name, variables)
		}
	}
	spec, _ := template(t, d, "secrets")
	if last := spec.Steps[4].Command; !strings.Contains(last, `PGPASSWORD="${SECRET_PGPASSWORD}" x`) ||
		!strings.Contains(last, "secret=$(cat f) token=/run/token") {
		t.Error(last)
	}
	if python := spec.Steps[2].Command; !strings.Contains(python, `environ.get("SECRET_PASSWORD`) {
		t.Error(python)
	}
}

// TestBounds: jobs that refer to each other do not grow without bounds.
func TestBounds(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("- {name: j0, sequence: {commands: [{exec: a}, {exec: b}]}}\n")
	for i := 1; i < 200; i++ {
		ref := fmt.Sprintf("{jobref: {name: j%d}}", i-1)
		fmt.Fprintf(&b, "- {name: j%d, sequence: {commands: [%s, %s, %s]}}\n", i, ref, ref, ref)
	}
	d := read(t, []byte(b.String()))
	valid(t, d, false)
	if o := object(t, d, "job", "j5"); !strings.Contains(o.Reason, "256") {
		t.Errorf("%+v", o)
	}
	if spec, _ := template(t, d, "j4"); len(spec.Steps) != 162 {
		t.Errorf("%d steps", len(spec.Steps))
	}
}

// FuzzRead reads any body: the draft is valid, and no secret is in it.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`<joblist><job><name>a</name><sequence><command><exec>echo ${option.x}</exec></command></sequence></job></joblist>`,
		"- name: a\n  schedule: {crontab: '0 0/5 3 ? * MON-FRI'}\n  sequence: {commands: [{script: x, args: '@option.x@'}]}",
		`[{"name": "a", "options": {"x": {"secure": true}}, "sequence": {"commands": [{"jobref": {"name": "a"}}]}}]`,
		`[{"name": "b", "nodefilters": {"filter": "tags: a+b !x"}, "sequence": {"commands": [{"exec": "a <<X\nX"}]}}]`,
		`[{"name": "a", "": "x", "sequence": {"": 1, "commands": [{"": 1, "exec": "x"}]}}]`, "PK\x03\x04", "<", "- ",
	} {
		f.Add([]byte(seed))
	}
	f.Add(archived(f, map[string]string{"jobs/a.yaml": "- {name: a, sequence: {commands: [{exec: x}]}}"}))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := rundeck.New().Read(t.Context(), importer.Export{Body: body, Now: now()})
		if err == nil {
			valid(t, d, false)
		}
		text, err := json.Marshal(string(body))
		if err != nil {
			t.Fatal(err)
		}
		whole := fmt.Sprintf(`[{"name": "a", "options": [{"name": "password", "value": "canary"}, {"name": %s}], "sequence": {"commands":
			[{"exec": "login --password=canary"}, {"exec": %s}, {"script": %s, "args": %s}]}, "nodefilters": {"filter": %s}}]`,
			text, text, text, text, text)
		if d, err = rundeck.New().Read(t.Context(), importer.Export{Body: []byte(whole), Now: now()}); err != nil {
			t.Fatal(err)
		}
		valid(t, d, false)
		silentUnless(t, d, body)
	})
}

func silentUnless(t *testing.T, d importer.Draft, body []byte) {
	t.Helper()
	if !strings.Contains(string(body), "canary") {
		silent(t, d)
	}
}

// BenchmarkRead reads exports of 25 MiB.
func BenchmarkRead(b *testing.B) {
	script := strings.Repeat("        echo \"line of @option.x@\" | grep -v nothing >> /tmp/file\n", 40)
	var yaml, xml strings.Builder
	xml.WriteString("<joblist>")
	for i := 0; yaml.Len() < importer.MaxBody-8000; i++ {
		fmt.Fprintf(&yaml, "- name: job %d\n  options: [{name: x, value: y}]\n  schedule: {crontab: '0 0 3 ? * MON'}\n"+
			"  sequence:\n    commands:\n    - script: |\n%s", i, script)
	}
	for i := 0; xml.Len() < importer.MaxBody-8000; i++ {
		fmt.Fprintf(&xml, "<job><name>job %d</name><context><options><option name='x' value='y'/></options></context>"+
			"<sequence><command><script><![CDATA[%s]]></script></command></sequence></job>", i, script)
	}
	xml.WriteString("</joblist>")
	for name, body := range map[string]string{"yaml": yaml.String(), "xml": xml.String()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := rundeck.New().Read(b.Context(), importer.Export{Body: []byte(body), Now: time.Time{}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
