package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrganizations(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	retail, bank := s.put("orgs", obj{"name": "retail"}), s.put("orgs", obj{"name": "bank"})
	s.put("inventories", obj{"name": "web", "format": "ini"})
	s.put("inventories", obj{"name": "web", "format": "ini", "org_id": bank})
	dir := tree(t, map[string]string{"a.yaml": `kind: Template
name: general
spec: {playbook: x.yml, inventory: web}
---
{kind: Template, name: ours, org: bank, spec: {playbook: x.yml, inventory: web}}
---
{kind: Template, name: theirs, org: bank, spec: {playbook: x.yml, inventory: {name: web, org: ""}}}
`})
	s.mustWrit(t, "apply", dir, "--org", "retail")
	got := map[string][2]any{}
	for _, b := range s.bodies {
		inventory := s.objects["inventories"][b["inventory_id"].(string)].fields["org_id"]
		got[b["name"].(string)] = [2]any{b["org_id"], inventory}
	}
	if diff := cmp.Diff(map[string][2]any{"general": {retail, nil}, "ours": {bank, bank}, "theirs": {bank, nil}},
		got); diff != "" {
		t.Error(diff)
	}
	if code, _, errs := s.writ(t, "apply", dir, "--org", "nowhere"); code != exitFailed ||
		!strings.Contains(errs, `a.yaml:1: org: there is no organization "nowhere"`) {
		t.Errorf("exit %d, %q", code, errs)
	}
	out := filepath.Join(t.TempDir(), "out")
	s.mustWrit(t, "export", out, "--org", "bank", "--kind", "Template")
	raw, err := os.ReadFile(filepath.Join(out, "templates", "theirs.yaml"))
	want := "kind: Template\nname: theirs\norg: bank\nspec:\n  playbook: x.yml\n  inventory:\n    name: web\n    org: " +
		"\"\"\n"
	if err != nil || string(raw) != want {
		t.Errorf("%s %v", raw, err)
	}
	if entries, err := os.ReadDir(filepath.Join(out, "templates")); err != nil || len(entries) != 2 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestCredentialsWithoutAList(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	s.unlisted = true
	id := "crd_" + strings.Repeat("0", 26)
	s.mustWrit(t, "apply", tree(t,
		map[string]string{"a.yaml": "kind: Project\nname: a\nspec: {repo_url: x, credential: " + id + "}\n"}))
	if s.bodies[0]["credential_id"] != id {
		t.Errorf("sent %v", s.bodies[0])
	}
	code, _, errs := s.writ(t, "apply",
		tree(t, map[string]string{"a.yaml": "kind: Project\nname: a\nspec: {repo_url: x, credential: key}\n"}))
	if code != exitFailed || !strings.Contains(errs,
		"a.yaml:3: spec.credential: this caller may not list the credentials of the server: give the id, crd_...\n") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

func TestApplyUsage(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	dir := tree(t, smallCatalog())
	for _, args := range [][]string{
		{"apply"}, {"apply", dir, "--kind", "Template"},
		{"apply", dir, "--prune", "--yes", "--kind", "Thing"}, {"apply", dir, "--prune"},
		{"export"}, {"export", "a", "b"}, {"export", dir, "--kind", "Thing"}, {"launch"}, {"launch", "a", "b"},
		{"launch", "a", "--answer", "x"},
		{"launch", "a", "--answers-file", "/nowhere/at/all"}, {"launch", "a", "-e", "x"},
	} {
		if code, out, errs := s.writ(t, args...); code != exitUsage || out != "" || errs == "" {
			t.Errorf("%v: exit %d, %q, %q", args, code, out, errs)
		}
	}
	if code, _, errs := s.writ(t, "apply", t.TempDir()); code != exitFailed ||
		!strings.Contains(errs, "no documents in") {
		t.Errorf("exit %d, %q", code, errs)
	}
	if w := s.changed(); w != nil {
		t.Error("something was written")
	}
}

// TestApplyMakesTemplatesOfStepsFirst has workflows before the templates that their steps launch.
func TestApplyMakesTemplatesOfStepsFirst(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	dir := tree(t, map[string]string{"all.yml": `kind: Template
name: outer
spec:
  steps: [{name: one, template: chain}]
---
kind: Template
name: chain
spec:
  steps: [{name: one, template: z, answers: {n: 1}}, {name: two, template: z, depends_on: [one]}]
---
kind: Template
name: z
spec: {tool: bash, command: "true"}
`})
	s.mustWrit(t, "apply", dir)
	want := []string{"POST templates z", "POST templates chain", "POST templates outer"}
	if diff := cmp.Diff(want, s.changed()); diff != "" {
		t.Error(diff)
	}
	raw, err := json.Marshal(s.bodies[1]["steps"])
	if err != nil || !strings.Contains(string(raw), `"template_id":"tpl_`) {
		t.Errorf("the steps are %s", raw)
	}
}
