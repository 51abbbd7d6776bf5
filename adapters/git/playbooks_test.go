package git_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
)

func TestPlaybooks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	r.write("roles/b/tasks/main.yaml", "- debug:\n\x00")
	r.write("empty.yml", "")
	r.write("text.md", "no playbook")
	r.write("large.yml", strings.Repeat("#", 257<<10))
	r.write("line\nbreak.yml", "odd")
	r.link("link.yml", "/etc/passwd")
	r.commit("second")
	commit := w.fetch(r.at("p1"))
	got, leaving, err := w.Playbooks(t.Context(), r.at("p1"), commit)
	texts := make(map[string]string, len(got))
	for name, text := range got {
		texts[name] = string(text)
	}
	want := map[string]string{"roles/b/tasks/main.yaml": "- debug:\n\x00", "empty.yml": "", "line\nbreak.yml": "odd",
		"site.yml": texts["site.yml"]}
	if diff := cmp.Diff(want, texts); diff != "" || err != nil || len(texts["site.yml"]) != 13 ||
		!slices.Equal(leaving, []string{"link.yml"}) {
		t.Error(err, diff)
	}
	if _, _, err := w.Playbooks(t.Context(), r.at("p1"), strings.Repeat("0", 40)); !catalog.CommitNotFound.Is(err) {
		t.Error(err)
	}
	for i := range 2100 {
		r.write(fmt.Sprintf("many/%d.yml", i), "x")
	}
	r.commit("many")
	got, _, err = w.Playbooks(t.Context(), r.at("p1"), w.fetch(r.at("p1")))
	if err != nil || len(got) != 2000 {
		t.Error(len(got), err)
	}
}
