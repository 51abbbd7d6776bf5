package jenkins_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/importers/jenkins"
	"github.com/writ-automation/writ/ports/importer"
)

var now = time.Date(2031, 3, 4, 5, 6, 7, 0, time.UTC)

// canary is a secret in the exports of these tests.
const canary = "s3cret-canary"

func read(t testing.TB, e importer.Export) (importer.Draft, error) {
	t.Helper()
	e.Now = now
	d, err := jenkins.New().Read(t.Context(), e)
	checkDraft(t, d, err)
	return d, err
}

// checkDraft checks what holds for every draft.
func checkDraft(t testing.TB, d importer.Draft, err error) {
	t.Helper()
	if (err == nil) != (len(d.Objects) > 0) {
		t.Errorf("%d objects with the error %v", len(d.Objects), err)
	}
	names := map[importer.Kind]map[string]bool{}
	for _, o := range d.Objects {
		if o.Name == "" || o.Ref == "" || !slices.Contains(importer.Classes(), o.Class) {
			t.Errorf("an object without a name, a place or a class: %+v", o)
		}
		if (o.Spec == nil) != (o.Class == importer.NoHome) || (o.Spec == nil) != (o.Reason != "") {
			t.Errorf("%s %q has the class %s and the reason %q", o.Kind, o.Name, o.Class, o.Reason)
		}
		if o.Spec == nil {
			continue
		}
		if names[o.Kind] == nil {
			names[o.Kind] = map[string]bool{}
		}
		if !slices.Contains(importer.Kinds(), o.Kind) || names[o.Kind][o.Name] {
			t.Errorf("%s %q has an impossible kind or occurs twice", o.Kind, o.Name)
		}
		names[o.Kind][o.Name] = true
		for _, w := range o.Warnings {
			if w.Message == "" || o.Class == importer.Same {
				t.Errorf("%s %q of the class %s has the warning %+v", o.Kind, o.Name, o.Class, w)
			}
		}
	}
	checkReferences(t, d, names)
	text, _ := json.Marshal(d)
	if bytes.Contains(text, []byte(canary)) {
		t.Errorf("the draft has a secret: %s", text)
	}
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("the fault has a secret: %v", err)
	}
}

// checkReferences checks that every object that is named exists.
func checkReferences(t testing.TB, d importer.Draft, names map[importer.Kind]map[string]bool) {
	t.Helper()
	refer := func(from string, kind importer.Kind, name string) {
		if name != "" && name != "fleet" && !names[kind][name] {
			t.Errorf("%q names the %s %q, which does not exist", from, kind, name)
		}
	}
	for _, o := range d.Objects {
		switch s := o.Spec.(type) {
		case *importer.ProjectSpec:
			refer(o.Name, importer.Credential, s.Credential)
		case *importer.ScheduleSpec:
			refer(o.Name, importer.Template, s.Template)
		case *importer.TemplateSpec:
			refer(o.Name, importer.Project, s.Project)
			refer(o.Name, importer.Inventory, s.Inventory)
			for _, c := range s.Credentials {
				refer(o.Name, importer.Credential, c)
			}
			checkSteps(t, o.Name, s)
			for _, x := range s.Steps {
				refer(o.Name, importer.Template, x.Template)
				refer(o.Name, importer.Inventory, x.Inventory)
			}
		}
	}
}

func checkSteps(t testing.TB, name string, s *importer.TemplateSpec) {
	t.Helper()
	if len(s.Steps) == 0 {
		if s.Command == "" && s.Playbook == "" {
			t.Errorf("%q executes nothing", name)
		}
		return
	}
	seen := map[string]bool{}
	for _, x := range s.Steps {
		for _, d := range x.DependsOn {
			if !seen[d] && x.On == "" {
				t.Errorf("the step %q of %q comes after %q, which is not before it", x.Name, name, d)
			}
		}
		if seen[x.Name] || x.Name == "" || (x.Template != "") == (x.Command != "" || x.Playbook != "") {
			t.Errorf("%q has the impossible step %+v", name, x)
		}
		seen[x.Name] = true
	}
	if s.Command != "" || s.Playbook != "" || s.Tool != "" || s.Limit != "" || s.Forks != 0 {
		t.Errorf("the workflow %q has settings of a step", name)
	}
}

// job reads one configuration and returns its template.
func job(t *testing.T, body string) (importer.TemplateSpec, importer.Object, importer.Draft) {
	t.Helper()
	d, err := read(t, importer.Export{File: "site.xml", Body: []byte(body), Inventory: "fleet"})
	if err != nil {
		t.Fatal(err)
	}
	o := find(t, d, importer.Template, "site")
	return *o.Spec.(*importer.TemplateSpec), o, d
}

func find(t *testing.T, d importer.Draft, kind importer.Kind, name string) importer.Object {
	t.Helper()
	i := slices.IndexFunc(d.Objects, func(o importer.Object) bool { return o.Kind == kind && o.Name == name })
	if i < 0 {
		t.Fatalf("no %s %q in %s", kind, name, asJSON(d))
	}
	return d.Objects[i]
}

func asJSON(v any) string {
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}

// warned reports whether an object has a warning about a member with a text.
func warned(o importer.Object, field, text string) bool {
	return slices.ContainsFunc(o.Warnings, func(w importer.Warning) bool {
		return strings.Contains(w.Field, field) && strings.Contains(w.Message, text)
	})
}

func wants(t *testing.T, o importer.Object, class importer.Class, warnings ...string) {
	t.Helper()
	if o.Class != class {
		t.Errorf("%s %q has the class %s, want %s: %s", o.Kind, o.Name, o.Class, class, asJSON(o))
	}
	for _, w := range warnings {
		if !warned(o, "", w) && !warned(o, w, "") {
			t.Errorf("%s %q has no warning with %q: %s", o.Kind, o.Name, w, asJSON(o.Warnings))
		}
	}
}

// pack returns a zip of files.
func pack(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(f, files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func shell(command string) string {
	return "<builders><hudson.tasks.Shell><command>" + command + "</command></hudson.tasks.Shell></builders>"
}

func TestArchive(t *testing.T) {
	build := "<project>" + shell("make") + "</project>"
	folder := "<com.cloudbees.hudson.plugins.folder.Folder plugin='cloudbees-folder@6'><properties/>" +
		"</com.cloudbees.hudson.plugins.folder.Folder>"
	d, err := read(t, importer.Export{Body: pack(t, map[string]string{
		"home/config.xml":                            "<hudson/>",
		"home/users/ann/config.xml":                  "<user><password>" + canary + "</password></user>",
		"home/secrets/master.key":                    canary,
		"home/jobs/build/config.xml":                 build,
		"home/jobs/build/builds/1/config.xml":        build,
		"home/jobs/build/nextBuildNumber":            "7",
		"home/jobs/web/config.xml":                   folder,
		"home/jobs/web/jobs/build/config.xml":        build,
		"home/jobs/web/jobs/a b/jobs/c/config.xml":   build,
		"home/jobs/broken/config.xml":                "<project>" + canary,
		"home/jobs/many/config.xml":                  "<x.WorkflowMultiBranchProject/>",
		"home/jobs/many/branches/main/config.xml":    build,
		"home/jobs/record/config.xml":                "<hudson.model.ExternalJob/>",
		"home/jobs/other/config.xml":                 "<com.example.Job__Type_-Inner/>",
		"home/jobs/xml11/config.xml":                 "<?xml version='1.1'?><project>" + shell("a&#x1;b") + "</project>",
		"home/jobs/dtd/config.xml":                   "<!DOCTYPE a [<!ENTITY b 'c'>]><project>&b;</project>",
		"home/jobs/build/promotions/up/config.xml":   build,
		"home/jobs/many/jobs/config.xml":             build,
		"home/jobs/web/jobs/build/configurations/ab": "",
	})})
	if err != nil {
		t.Fatal(err)
	}
	var templates, skipped []string
	for _, o := range d.Objects {
		if o.Spec != nil {
			templates = append(templates, o.Name)
		} else {
			skipped = append(skipped, string(o.Kind)+" "+o.Name)
		}
	}
	slices.Sort(templates)
	slices.Sort(skipped)
	if got := strings.Join(templates, "; "); got != "build; web/a b/c; web/build; xml11" {
		t.Errorf("templates %s", got)
	}
	if got := strings.Join(skipped, "; "); got != "external job record; file home; file jobs: branches; file jobs: "+
		"builds; "+
		"file jobs: configurations; file jobs: jobs; file jobs: nextBuildNumber; file jobs: promotions; folder web; "+
		"job broken; job dtd; job other; multibranch project many" {
		t.Errorf("left out: %s", got)
	}
	flat, err := read(t, importer.Export{Body: pack(t, map[string]string{"a/config.xml": build, "b/config.xml": build,
		"config.xml": "<hudson/>"})})
	if err != nil || len(flat.Objects) != 3 {
		t.Errorf("an archive of the jobs themselves: %s, %v", asJSON(flat), err)
	}
	for _, body := range []map[string]string{{}, {"pom.xml": "<project/>"}, {"users/a/config.xml": "<user/>"}} {
		if _, err := read(t, importer.Export{Body: pack(t, body)}); !importer.NothingFound.Is(err) {
			t.Errorf("%v: %v, want nothing_to_import", body, err)
		}
	}
	if _, err := read(t, importer.Export{Body: pack(t, map[string]string{"../jobs/a/config.xml": build})}); err == nil {
		t.Error("an archive that leads outside was read")
	}
}

func TestNameOfOneJob(t *testing.T) {
	for file, want := range map[string]string{
		"": "Jenkins job", "config.xml": "Jenkins job", "/x/deploy.xml": "deploy", `C:\x\deploy.xml`: "deploy",
	} {
		d, err := read(t, importer.Export{File: file, Body: []byte("<project>" + shell("make") + "</project>")})
		if err != nil || d.Objects[0].Name != want {
			t.Errorf("%q: %s, %v, want %q", file, asJSON(d), err, want)
		}
	}
	d, err := read(t, importer.Export{Body: []byte("<project><displayName>Shown</displayName></project>")})
	if err != nil || d.Objects[0].Name != "Shown" {
		t.Errorf("%s, %v", asJSON(d), err)
	}
	for _, body := range []string{"", "{}", "<project>", "<!DOCTYPE x><project/>"} {
		if _, err := read(t, importer.Export{Body: []byte(body)}); !importer.Malformed.Is(err) {
			t.Errorf("%q: %v, want malformed_export", body, err)
		}
	}
}
