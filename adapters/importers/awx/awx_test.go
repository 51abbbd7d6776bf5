package awx

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/importer"
)

var update = flag.Bool("update", false, "write the golden files")

func now() time.Time { return time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC) }

// read returns the draft of a body, and checks what holds for all drafts.
func read(t testing.TB, body string) importer.Draft {
	t.Helper()
	d, err := New().Read(t.Context(), importer.Export{Body: []byte(body), Now: now()})
	if err != nil {
		t.Fatal(err)
	}
	valid(t, d)
	secretless(t, d)
	return d
}

// valid checks what holds for all drafts: kinds, names and classes.
func valid(t testing.TB, d importer.Draft) {
	t.Helper()
	names := map[importer.Kind]map[string]bool{}
	for _, o := range d.Objects {
		if o.Kind == "" || o.Name == "" || o.Ref == "" || !slices.Contains(importer.Classes(), o.Class) ||
			(o.Spec == nil) != (o.Class == importer.NoHome) || (o.Spec == nil) != (o.Reason != "") {
			t.Errorf("%s %q at %s: class %q, reason %q, %T", o.Kind, o.Name, o.Ref, o.Class, o.Reason, o.Spec)
		}
		if o.Spec != nil && (!slices.Contains(importer.Kinds(), o.Kind) || names[o.Kind][o.Name]) {
			t.Errorf("%s %q is no kind, or occurs twice", o.Kind, o.Name)
		}
		if o.Class == importer.Same && len(o.Warnings) > 0 {
			t.Errorf("%s %q has warnings and is the same", o.Kind, o.Name)
		}
		if o.Spec != nil {
			if names[o.Kind] == nil {
				names[o.Kind] = map[string]bool{}
			}
			names[o.Kind][o.Name] = true
		}
		for _, w := range o.Warnings {
			if w.Object != o.Name || w.Field == "" || w.Message == "" {
				t.Errorf("%s %q has the warning %+v", o.Kind, o.Name, w)
			}
		}
	}
}

// secretless requires that a draft has no secret: the word that the secrets of the tests have.
func secretless(t testing.TB, d importer.Draft) {
	t.Helper()
	for _, o := range d.Objects {
		if spec, ok := o.Spec.(*importer.TemplateSpec); ok {
			o.Spec = noAddress(spec)
		}
		text, err := json.Marshal(o)
		if err != nil || strings.Contains(string(text), "CANARY") {
			t.Errorf("%s %q has a secret, or is no JSON: %v\n%s", o.Kind, o.Name, err, text)
		}
	}
}

// noAddress returns a template without the addresses of notifications, which the server seals.
func noAddress(spec *importer.TemplateSpec) *importer.TemplateSpec {
	out := *spec
	out.Notifications = slices.Clone(spec.Notifications)
	for i := range out.Notifications {
		out.Notifications[i].URL = ""
	}
	return &out
}

// summary returns a draft as lines for a golden file.
func summary(t testing.TB, d importer.Draft) string {
	t.Helper()
	var b strings.Builder
	for _, o := range d.Objects {
		b.WriteString(string(o.Kind) + " " + o.Name + " (" + o.Ref + "): " + string(o.Class) + "\n")
		if o.Reason != "" {
			b.WriteString("  because " + o.Reason + "\n")
		}
		if o.Spec != nil {
			text, err := json.Marshal(o.Spec)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString("  is " + string(text) + "\n")
		}
		for _, m := range o.Mapping {
			b.WriteString("  + " + m + "\n")
		}
		for _, w := range o.Warnings {
			b.WriteString("  ! " + w.Field + ": " + w.Message + "\n")
		}
		for _, f := range o.Fires {
			b.WriteString("  @ " + f.UTC().Format(stamp) + "\n")
		}
	}
	return b.String()
}

// TestExport compares the draft of a whole export with the golden file.
func TestExport(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join("testdata", "export.yml"))
	if err != nil {
		t.Fatal(err)
	}
	got, golden := summary(t, read(t, string(body))), filepath.Join("testdata", "export.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error(diff)
	}
}
