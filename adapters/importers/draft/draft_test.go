package draft_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// TestName: names are unique among their kind, valid, and the same for the same export.
func TestName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 250)
	var b draft.Builder
	var got []string
	for _, name := range []string{
		"web", "web", "web (2)", "web", "", " ", "a\nb\u2028c", "x\xff", long, long, "  db ",
	} {
		got = append(got, b.Name(importer.CredentialType, name))
	}
	want := []string{
		"web", "web (2)", "web (2) (2)", "web (3)", "credential type", "credential type (2)", "a b c", "x?", long[:400],
		long[:392] + " (2)", "db",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if name := b.Name(importer.Project, "web"); name != "web" {
		t.Errorf("a name of another kind is %q", name)
	}
}

// TestManyNames: a name that very many objects have stays quick, and each gets another one.
func TestManyNames(t *testing.T) {
	t.Parallel()
	var b draft.Builder
	seen := make(map[string]bool)
	for range 20_000 {
		seen[b.Name(importer.Template, "deploy")] = true
	}
	if len(seen) != 20_000 {
		t.Errorf("%d names for 20000 objects", len(seen))
	}
}

// TestDraft: an object with a warning is adapted, one that somebody has to complete needs that, and one that is skipped
// has a reason and no specification.
func TestDraft(t *testing.T) {
	t.Parallel()
	var b draft.Builder
	if _, err := b.Draft(); !importer.NothingFound.Is(err) {
		t.Errorf("an empty draft: %v", err)
	}
	add := func(name string) *importer.Object {
		return b.Add(importer.Object{Kind: importer.Project, Name: b.Name(importer.Project, name),
			Spec: &importer.ProjectSpec{}})
	}
	add("same")
	warned := add("warned")
	draft.Warn(warned, "scm_refspec", "The refspec %q is lost.", "x")
	draft.Map(warned, "The %s becomes the address.", "repository")
	draft.Need(add("needed"), "secret", "Enter it.")
	draft.Warn(add("needed too"), "", "A warning after all.")
	skip := b.Skip
	skip("user", "ada\n", "users[0]", "Accounts are not %s.", "imported")
	d, err := b.Draft()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range d.Objects {
		got = append(got, string(o.Class)+" "+o.Name)
	}
	want := []string{"same same", "adapted warned", "needs_you needed", "adapted needed too", "no_home ada"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w := d.Objects[1]
	if diff := cmp.Diff([]importer.Warning{{Object: "warned", Field: "scm_refspec", Message: `The refspec "x" is lost.`}},
		w.Warnings); diff != "" || w.Mapping[0] != "The repository becomes the address." {
		t.Errorf("%s %v", diff, w.Mapping)
	}
	if o := d.Objects[4]; o.Spec != nil || o.Reason != "Accounts are not imported." || o.Ref != "users[0]" {
		t.Errorf("the skipped object is %+v", o)
	}
}
