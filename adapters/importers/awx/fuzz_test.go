package awx

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// FuzzRead reads any body, which is refused as invalid or gives a valid draft, and an export with any text in the
// places of secrets, of which the draft has none.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"job_templates": [{"name": "T", "playbook": "p", "extra_vars": "{\"token\": \"CANARY\"}"}]}`,
		`{"schedules": [{"name": "S", "rrule": "DTSTART:20260101T000000Z RRULE:FREQ=DAILY", "unified_job_template": {"name": "T"}}]}`,
		`{"inventory": [{"name": "I", "related": {"hosts": [{"name": "h", "variables": "password: CANARY"}]}}]}`,
		"credentials:\n- name: C\n  inputs: {password: CANARY, username: x}\n  credential_type: {name: Machine, kind: ssh}\n",
		`{"workflow_job_templates": [{"name": "W", "related": {"workflow_nodes": [{"identifier": "a",
			"unified_job_template": {"name": "T", "type": "job_template"}, "related": {"failure_nodes": [{"identifier": "a"}]}}]}}]}`,
		`{"projects": [{"name": "P", "scm_type": "git", "scm_url": "https://x:CANARY@h/p"}], "users": [{"username": "u"}]}`,
	} {
		f.Add(seed)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "export.yml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, body string) {
		d, err := New().Read(t.Context(), importer.Export{Body: []byte(body), Now: now()})
		var bad *fault.Error
		switch {
		case err == nil:
			valid(t, d)
		case !errors.As(err, &bad) || bad.Kind != fault.Invalid:
			t.Errorf("%v", err)
		}
		d, err = New().Read(t.Context(), importer.Export{Body: withSecret("CANARY" + body), Now: now()})
		if err != nil {
			t.Fatal(err)
		}
		secretless(t, d)
	})
}

// withSecret returns an export with a secret wherever one can be.
func withSecret(secret string) []byte {
	type object map[string]any
	machine := object{"name": "Machine", "kind": "ssh"}
	text, _ := json.Marshal(object{"token": secret}) // texts and maps have a form in JSON
	vars := object{"db_password": secret, "list": []any{object{"token": secret}}, "vaulted": "$ANSIBLE_VAULT;" + secret}
	question := object{"variable": "api_key", "type": "text", "default": secret}
	body, _ := json.Marshal(object{
		"projects": []any{object{"name": "P", "scm_type": "git",
			"scm_url": "https://u:" + url.QueryEscape(secret) + "@git.example.com/p.git"}},
		"credentials": []any{object{"name": "C", "credential_type": machine,
			"inputs": object{"password": secret, "ssh_key_data": secret, "become_password": secret}}},
		"inventory": []any{object{"name": "I", "variables": string(text), "related": object{
			"hosts": []any{object{"name": "h", "enabled": true, "variables": vars}}}}},
		"job_templates": []any{object{"name": "T", "playbook": "p.yml", "extra_vars": vars, "host_config_key": secret,
			"webhook_key": secret, "survey_enabled": true, "related": object{"survey_spec": object{"spec": []any{question}},
				"schedules": []any{object{"name": "S", "extra_data": vars,
					"rrule": "DTSTART:20260101T000000Z RRULE:FREQ=DAILY"}}}}},
		"users": []any{object{"username": "u", "password": secret}},
	})
	return body
}

func BenchmarkRead(b *testing.B) {
	item := `{"name": "Template %d", "description": "", "job_type": "run", "playbook": "site.yml", "scm_branch": "", "forks": 0,
		"limit": "", "verbosity": 0, "extra_vars": "{\"version\": 3, \"hosts\": [\"a\", \"b\"]}", "job_tags": "a,b",
		"project": {"organization": {"name": "O"}, "name": "Project", "type": "project"}, "survey_enabled": true,
		"inventory": {"organization": {"name": "O"}, "name": "Inventory", "type": "inventory"}, "allow_simultaneous": false,
		"related": {"labels": [], "credentials": [], "schedules": [{"name": "S %d", "enabled": true,
		"rrule": "DTSTART;TZID=Europe/Berlin:20260101T023000 RRULE:FREQ=DAILY;INTERVAL=1", "extra_data": {}}], "survey_spec":
		{"name": "", "description": "", "spec": [{"variable": "v", "question_name": "V", "type": "text", "min": 0, "max": 9}]}},
		"natural_key": {"organization": {"name": "O"}, "name": "Template %d", "type": "job_template"}}`
	var templates strings.Builder
	for n := 0; templates.Len() < importer.MaxBody-(1<<16); n++ {
		fmt.Fprintf(&templates, item+",", n, n, n)
	}
	var hosts strings.Builder
	for n := 0; hosts.Len() < importer.MaxBody-(1<<16); n++ {
		fmt.Fprintf(&hosts, `{"name": "host%d.example.com", "description": "", "enabled": true, "instance_id": "", "variables": `+
			`"{\"port\": %d, \"zone\": \"a\"}", "related": {"groups": [{"name": "g%d", "type": "group"}]}},`, n, n, n%100)
	}
	for name, body := range map[string]string{
		"templates": `{"job_templates": [` + strings.TrimSuffix(templates.String(), ",") + `]}`,
		"hosts": `{"inventory": [{"name": "I", "related": {"hosts": [` + strings.TrimSuffix(hosts.String(), ",") +
			`]}}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New().Read(b.Context(), importer.Export{Body: []byte(body), Now: now()}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
