package cli

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files into a directory of their own.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, input := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(input), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// smallCatalog is a catalog with one object of each kind.
func smallCatalog() map[string]string {
	return map[string]string{
		"all.yaml": `kind: Project
name: site
spec:
  repo_url: https://git.example.org/site.git
  branch: 1.10
  credential: deploy key
---
kind: Inventory
name: web
spec:
  content_file: hosts.ini
---
kind: InventorySource
name: cloud
spec:
  kind: plugin
  inventory: web
  config: {plugin: amazon.aws.aws_ec2, regions: [eu-west-1], port: 12345678901234567890}
---
kind: Template
name: deploy
spec:
  playbook: site.yml
  project: site
  inventory: web
  credentials: [deploy key]
  extra_vars: {release: "1.4", port: 8080, mode: 0644, on_call: yes, ratio: 1.50}
  survey:
    - {var: count, type: int, default: 0, min: 0}
    - {var: sure, type: bool, default: false}
    - {var: version, type: text, default: "7"}
---
kind: Template
name: flow
spec:
  steps:
    - {name: one, tool: bash, command_file: one.sh, inventory: web}
    - {name: two, tool: bash, command: "true", depends_on: [one]}
---
kind: Schedule
name: nightly
spec: {cron: "0 2 * * *", timezone: Europe/Berlin, template: deploy, answers: {count: 3}}
---
kind: Trigger
name: push
spec: {template: deploy, branch: main}
`,
		"hosts.ini": "[web]\nweb1\nweb2\n",
		"one.sh":    "set -e\necho one\n",
	}
}

func (s *catalogServer) mustWrit(t testing.TB, args ...string) string {
	t.Helper()
	code, out, errs := s.writ(t, args...)
	if code != exitDone || errs != "" {
		t.Fatalf("writ %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

func TestApplyCreates(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	s.page = 1
	s.put("credentials", obj{"name": "deploy key"})
	dir := tree(t, smallCatalog())
	plan := s.mustWrit(t, "apply", dir, "--plan")
	want := `+ project "site"
+ inventory "web"
+ inventory source "cloud"
+ template "deploy"
+ template "flow"
+ schedule "nightly"
+ trigger "push"

7 to create, 0 to change, 0 to delete, 0 unchanged
`
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Error(diff)
	}
	if code, out, errs := s.writ(t, "apply", dir, "--check"); code != exitDiffers || out != plan || errs != "" {
		t.Errorf("--check: exit %d, %q, %q", code, out, errs)
	}
	if w := s.changed(); w != nil {
		t.Errorf("a plan wrote %q", w)
	}
	out := s.mustWrit(t, "apply", dir)
	for _, want := range []string{`created project "site" prj_`, "  hook path       /hooks/toktrg_",
		"  signing secret  shh-trg_"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	order := []string{"POST projects site", "POST inventories web", "POST inventory-sources cloud",
		"POST templates deploy", "POST templates flow",
		"POST schedules nightly", "POST triggers push"}
	if diff := cmp.Diff(order, s.changed()); diff != "" {
		t.Error(diff)
	}
	raw, err := json.Marshal(s.bodies[3])
	body := string(raw)
	for _, want := range []string{`"mode":"0644"`, `"on_call":"yes"`, `"port":8080`, `"ratio":1.50`, `"release":"1.4"`,
		`"default":"7"`, `"default":0`, `"default":false`,
		`"credential_ids":["crd_`, `"project_id":"prj_`, `"inventory_id":"inv_`} {
		if err != nil || !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if got := s.bodies[0]["branch"]; got != "1.10" {
		t.Errorf("the branch is %v", got)
	}
	if raw, _ := json.Marshal(s.bodies[2]["config"]); !strings.Contains(string(raw), `"port":12345678901234567890`) {
		t.Errorf("the config is %s", raw)
	}
	if again := s.mustWrit(t, "apply", dir); again != "0 to create, 0 to change, 0 to delete, 7 unchanged\n" {
		t.Errorf("again:\n%s", again)
	}
	s.mustWrit(t, "apply", dir, "--check")
	if w := s.changed(); w != nil {
		t.Errorf("applying again wrote %q", w)
	}
}

// applied is a server that has the small catalog, and its files.
func applied(t *testing.T) (*catalogServer, map[string]string) {
	t.Helper()
	s := newCatalogServer(t)
	s.put("credentials", obj{"name": "deploy key"})
	files := smallCatalog()
	s.mustWrit(t, "apply", tree(t, files))
	s.changed()
	return s, files
}

func TestPlanOfChanges(t *testing.T) {
	t.Parallel()
	s, files := applied(t)
	files["hosts.ini"] = "[web]\nweb1\nweb3\n"
	files["one.sh"] = "set -e\necho one"
	r := strings.NewReplacer("  playbook: site.yml\n", "  playbook: other.yml\n  limit: \"we\\eb\"\n",
		"branch: 1.10\n  credential: deploy key", "branch: 1.20",
		"port: 8080", "port: 8081, db_password: hunter22", "branch: main", "require_signature: false",
		"- {name: two, tool: bash, command: \"true\", depends_on: [one]}",
		"- {name: two, tool: bash, command: \"false\"}", "answers: {count: 3}", "enabled: false")
	files["all.yaml"] = r.Replace(files["all.yaml"])
	dir := tree(t, files)
	want := `~ project "site"
    - branch: 1.10
    + branch: 1.20
    - credential: deploy key
~ inventory "web"
      content:
        [web]
        web1
    -   web2
    +   web3
~ template "deploy"
    - playbook: site.yml
    + playbook: other.yml
      extra_vars:
    +   db_password: "***"
        mode: "0644"
        on_call: "yes"
    -   port: 8080
    +   port: 8081
        ratio: 1.50
        release: "1.4"
    + limit: we\x1bb
~ template "flow"
      steps:
          tool: bash
          command: |
            set -e
    -       echo one
    -     inventory: web
    -   - name: two
    -     tool: bash
    -     command: "true"
    -     depends_on:
    -       - one
`
	out := s.mustWrit(t, "apply", dir, "--plan")
	if head, _, _ := strings.Cut(out, "~ template \"flow\""); head != want[:strings.Index(want, "~ template \"flow\"")] {
		t.Error(cmp.Diff(want, out))
	}
	tail := `~ schedule "nightly"
    + enabled: false
    - answers: count: 3
~ trigger "push"
    + require_signature: false
    - branch: main

0 to create, 6 to change, 0 to delete, 1 unchanged
`
	if !strings.HasSuffix(out, tail) {
		t.Error(out)
	}
	for _, want := range []string{"    -     command: |\n", "    +     command: |-\n",
		"    -     command: \"true\"\n    -     depends_on:\n    -       - one\n    +     command: \"false\"\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "hunter22") {
		t.Errorf("a secret shows:\n%s", out)
	}
	s.mustWrit(t, "apply", dir)
	if w := s.changed(); len(w) != 6 {
		t.Errorf("wrote %q", w)
	}
	// The one value that reads back masked is sent again; all others equal the files.
	if out := s.mustWrit(t, "apply", dir, "--plan"); !strings.HasSuffix(out,
		"0 to create, 1 to change, 0 to delete, 6 unchanged\n") ||
		!strings.Contains(out, "~ template \"deploy\"\n      extra_vars:\n        (a secret value)\n") {
		t.Error(out)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	s, files := applied(t)
	retail := s.put("orgs", obj{"name": "retail"})
	s.put("templates", obj{"name": "of others", "playbook": "x.yml", "org_id": retail})
	head, _, _ := strings.Cut(files["all.yaml"], "---\nkind: InventorySource")
	files["all.yaml"] = head
	dir := tree(t, files)
	if code, out, errs := s.writ(t, "apply", dir, "--prune"); code != exitUsage || out != "" ||
		!strings.Contains(errs, "--yes") {
		t.Errorf("without a terminal: exit %d, %q, %q", code, out, errs)
	}
	if out := s.mustWrit(t, "apply", dir, "--prune",
		"--plan"); out != "0 to create, 0 to change, 0 to delete, 2 unchanged\n" {
		t.Errorf("of the kinds of the files: %s", out)
	}
	out := s.mustWrit(t, "apply", dir, "--prune", "--yes", "--kind", "InventorySource,templates,Schedule,Trigger")
	want := `- trigger "push"
- schedule "nightly"
- template "deploy"
- template "flow"
- inventory source "cloud"

0 to create, 0 to change, 5 to delete, 2 unchanged
deleted trigger "push"`
	if !strings.HasPrefix(out, want) {
		t.Error(out)
	}
	if diff := cmp.Diff([]string{"DELETE triggers push", "DELETE schedules nightly", "DELETE templates deploy",
		"DELETE templates flow", "DELETE inventory-sources cloud"},
		s.changed()); diff != "" {
		t.Error(diff)
	}
	if len(s.objects["templates"]) != 1 {
		t.Error("what belongs to an organization that no file names is gone")
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "": false,
		"yes": true} {
		var out strings.Builder
		if got := confirm(bufio.NewReader(strings.NewReader(input)), &out, "Delete 2 objects"); got != want ||
			!strings.HasPrefix(out.String(), "Delete 2 objects? [y/N] ") {
			t.Errorf("%q: %v, %q", input, got, out.String())
		}
	}
}

// TestApplyStops fails in the middle, reports how far it came, and continues from there.
func TestApplyStops(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	s.put("credentials", obj{"name": "deploy key"})
	broken := true
	s.before = func(_, path string, body map[string]any) bool {
		return !broken || path != "/v1/templates" || body["name"] != "flow"
	}
	dir := tree(t, smallCatalog())
	code, out, errs := s.writ(t, "apply", dir)
	want := `writ: stopped: 4 done, 3 not done
  not done: create template "flow"
  not done: create schedule "nightly"
  not done: create trigger "push"
writ: create template "flow": the disk is full
`
	if code != exitFailed || errs != want || strings.Count(out, "created ") != 4 {
		t.Errorf("exit %d, %s\n%s", code, out, cmp.Diff(want, errs))
	}
	broken = false
	if out := s.mustWrit(t, "apply", dir); !strings.Contains(out,
		"3 to create, 0 to change, 0 to delete, 4 unchanged") {
		t.Error(out)
	}
}

// TestApplyOverwritesNothing changes an object between the comparison and the writing.
func TestApplyOverwritesNothing(t *testing.T) {
	t.Parallel()
	s, files := applied(t)
	files["all.yaml"] = strings.ReplaceAll(files["all.yaml"], "branch: 1.10", "branch: next")
	s.before = func(method, _ string, _ map[string]any) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, k := range s.objects["projects"] {
			k.revision++
			k.fields["branch"] = "of somebody else"
		}
		return method == http.MethodPut
	}
	code, _, errs := s.writ(t, "apply", tree(t, files))
	want := `writ: project "site": it changed after the comparison and was not overwritten: apply again to see the difference` + "\n"
	if code != exitFailed || !strings.HasSuffix(errs, want) {
		t.Errorf("exit %d, %q", code, errs)
	}
	for _, k := range s.objects["projects"] {
		if k.fields["branch"] != "of somebody else" {
			t.Errorf("overwritten with %v", k.fields["branch"])
		}
	}
}

func TestApplyJSON(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	s.put("credentials", obj{"name": "deploy key"})
	s.before = func(_, path string, _ map[string]any) bool { return path != "/v1/triggers" }
	dir := tree(t, smallCatalog())
	code, out, _ := s.writ(t, "apply", dir, "--json")
	var v planView
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitFailed || v.Applied || v.Counts.Create != 7 ||
		!v.Steps[5].Done || v.Steps[6].Done ||
		v.Error != `create trigger "push": the disk is full` {
		t.Errorf("exit %d, %s %v", code, out, err)
	}
	s.before = nil
	if err := json.Unmarshal([]byte(s.mustWrit(t, "apply", dir, "--json")), &v); err != nil || !v.Applied ||
		v.Counts.Unchanged != 6 ||
		!strings.HasPrefix(v.Steps[6].SigningSecret, "shh-") || !strings.HasPrefix(v.Steps[6].HookPath, "/hooks/") ||
		v.Steps[6].ID == "" {
		t.Errorf("%+v %v", v, err)
	}
}
