package awx

import (
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// TestRefused refuses what is no export, with a hint.
func TestRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`[{"asset_type": "project", "asset_relation": {}, "name": "x"}]`: "older command line",
		`[1, 2]`: "awx export",
		`"text"`: "awx export",
		`{"count": 1, "next": null, "previous": null, "results": [{"id": 1}]}`: "REST API",
		`{"id": 7, "type": "job_template", "url": "/api/v2/job_templates/7/"}`: "REST API",
		`{"name": "", "description": "", "spec": []}`:                          "survey",
		"controller_templates:\n  - name: x\n":                                 "configuration as code",
		"aap_organizations: []\n":                                              "configuration as code",
		"PK\x03\x04":                                                           "archive",
		`{"other": []}`:                                                        "none of the lists",
		`{"projects": [}`:                                                      "line 1",
		"projects:\n\t- x":                                                     "line 2",
		"":                                                                     "empty",
		"projects: &a [*a]\n":                                                  "",
	} {
		_, err := New().Read(t.Context(), importer.Export{Body: []byte(body), Now: now()})
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || !strings.Contains(f.Message, want) {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
	}
}

func TestNothingFound(t *testing.T) {
	t.Parallel()
	_, err := New().Read(t.Context(), importer.Export{Body: []byte(`{"projects": [], "users": null}`), Now: now()})
	if !importer.NothingFound.Is(err) {
		t.Errorf("%v", err)
	}
}

// TestOneBadObject keeps the others.
func TestOneBadObject(t *testing.T) {
	t.Parallel()
	d := read(t, `{"projects": [7, {"scm_type": "git"}, {"name": "Good", "scm_type": "git",
		"scm_url": "git@git.example.com:x.git"}], "job_templates": {"name": "x"}}`)
	written := 0
	for _, o := range d.Objects {
		if o.Spec != nil {
			written++
		}
	}
	if written != 1 || len(d.Objects) != 4 {
		t.Errorf("%d of %d objects are written", written, len(d.Objects))
	}
}

// TestHostile reads bodies that would cost much time or memory if they could.
func TestHostile(t *testing.T) {
	t.Parallel()
	const many = 20_000
	aliases := `"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n` +
		`d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"`
	schedule := func(rule string) string {
		return `{"name": "S", "enabled": true, "unified_job_template": {"name": "T"}, "rrule": "` + rule + `"}`
	}
	never := "DTSTART:00010101T000000Z RRULE:FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30;COUNT=5"
	rare := "DTSTART:99991231T000000Z RRULE:FREQ=MINUTELY;INTERVAL=9223372036854775807"
	project := `{"name": "P", "scm_type": "git", "scm_url": "git@a.example:b",
		"credential": {"name": "C", "organization": {"name": "o"}}}`
	aliased := `{"name": "T", "playbook": "p.yml", "extra_vars": ` + aliases + `}`
	for what, body := range map[string]string{
		"equal names": `{"job_templates": [` + list(many, `{"name": "T", "playbook": "p.yml"}`) + `]}`,
		"equal references": `{"credentials": [` + list(many, `{"name": "C"}`) +
			`], "projects": [` + list(many, project) + `]}`,
		"expanding aliases": `{"job_templates": [` + list(200, aliased) + `]}`,
		"rules without end": `{"schedules": [` + list(many, schedule(never)) + `]}`,
		"large intervals":   `{"schedules": [` + list(many, schedule(rare)) + `]}`,
		"one group in another": `{"inventory": [{"name": "I", "related": {"groups": [` +
			list(2000, `{"name": "g", "related": {"children": [{"name": "g"}]}}`) + `]}}]}`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			read(t, body)
		})
	}
}

func list(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
