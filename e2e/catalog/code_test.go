package catalog

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// files is a catalog in files. URL is a placeholder for the address of a repository.
const files = `
kind: Project
name: site
spec: {repo_url: "URL", branch: main}
---
kind: Inventory
name: web
spec:
  format: ini
  content: |
    [web]
    a ansible_connection=local
    b ansible_connection=local
---
kind: Inventory
name: found
spec: {format: ini, content: ""}
---
kind: InventorySource
name: finder
spec:
  kind: script
  inventory: found
  update_on_launch: true
  config:
    content: |
      #!/bin/sh
      # a comment, so that it is long
      # enough for a file of its own
      echo '{"web": {"hosts": ["x"]}}'
---
kind: Template
name: Deploy it
spec:
  playbook: site.yml
  project: site
  inventory: web
  extra_vars: {greeting: "hi {{ inventory_hostname }}", big: 12345678901234567890, list: [1, two, null]}
  survey:
    - {var: version, type: text, required: true, pattern: "v[0-9]+"}
    - {var: count, type: int, min: 1, max: 9, default: 3}
  labels: {team: web}
  allow_overrides: [limit]
---
kind: Template
name: Flow
spec:
  steps:
    - {name: one, tool: bash, command: "echo one"}
    - {name: two, tool: bash, command: "echo two", depends_on: [one]}
---
kind: Schedule
name: nightly
spec: {cron: "30 2 * * mon-fri", timezone: Europe/Berlin, template: Deploy it, answers: {version: v1}}
---
kind: Schedule
name: direct
spec: {cron: "@weekly", enabled: false, run: {tool: bash, command: "true", inventory: web}}
---
kind: Trigger
name: push
spec: {template: Flow, branch: main, events: [push]}
---
kind: Policy
name: web needs a look
spec:
  effect: require_approval
  enabled: false
  match: {inventories: [web], templates: [Deploy it, Flow], labels: {team: web}, hosts_over: 0, tools: [ansible]}
  exclude_dry_run: true
  message: ask first
`

// cli runs a client command and returns what it printed and its exit code.
func (w *fixture) cli(arg ...string) (string, int) {
	w.t.Helper()
	c := exec.CommandContext(w.t.Context(), harness.Binary(w.t), arg...)
	c.Env = append(os.Environ(), "WRIT_SERVER="+w.URL, "WRIT_TOKEN="+w.Token)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		w.t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

func (w *fixture) must(arg ...string) string {
	w.t.Helper()
	out, code := w.cli(arg...)
	if code != 0 {
		w.t.Fatalf("writ %s: exit code %d\n%s", strings.Join(arg, " "), code, out)
	}
	return out
}

// tree reads a directory of files.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTheCatalogAsCode applies files to a server, exports it, and applies the export to a server over the other engine.
func TestTheCatalogAsCode(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		r := w.repo("site",
			map[string]string{"site.yml": "- hosts: web\n  gather_facts: false\n  tasks:\n    - debug: {msg: \"{{ greeting }} " +
				"{{ version }} {{ count + 1 }}\"}\n"})
		dir := t.TempDir()
		source := filepath.Join(dir, "catalog.yaml")
		if err := os.WriteFile(source, []byte(strings.Replace(files, "URL", r.url(), 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := w.cli("apply", source, "--check"); code != 3 || !strings.Contains(out, "10 to create") {
			t.Errorf("check: %d\n%s", code, out)
		}
		if out := w.must("apply", source); !strings.Contains(out, "/hooks/") {
			t.Errorf("no hook is shown:\n%s", out)
		}
		if out := w.must("apply", source, "--check"); !strings.Contains(out, "10 unchanged") {
			t.Errorf("applied twice:\n%s", out)
		}
		first := filepath.Join(dir, "first")
		w.must("export", first)
		w.must("apply", first, "--check")
		w.elsewhere(first)

		out := w.must("launch", "Deploy it", "--answer", "version=v7", "--answer", "count=4", "--limit", "a", "-f", "--log")
		if !strings.Contains(out, "hi a v7 5") || strings.Contains(out, "hi b") {
			t.Errorf("launch:\n%s", out)
		}
		for _, bad := range [][]string{
			{"launch", "Deploy it"}, {"launch", "Deploy it", "--answer", "version=7"},
			{"launch", "Deploy it", "--answer", "nothing=7"}, {"launch", "No such"},
		} {
			if out, code := w.cli(bad...); code == 0 {
				t.Errorf("%v: %s", bad, out)
			}
		}
		if err := os.Remove(filepath.Join(first, "triggers", "push.yaml")); err != nil {
			t.Fatal(err)
		}
		w.must("apply", first, "--prune", "--yes", "--kind", "Trigger")
		if list := w.want(200, "GET", "/v1/triggers", nil); list["total"] != 0.0 {
			t.Errorf("the trigger is still there: %v", list)
		}
	})
}

// secretFiles hold secrets in plain.
const secretFiles = `
kind: Template
name: told
spec:
  tool: bash
  command: "true"
  extra_vars: {db_password: hunter22, region: eu}
  notifications:
    - {kind: webhook, url: "https://hooks.example.com/path-1", key: signing-key-1, on_failure: true}
---
kind: Inventory
name: filled
spec: {format: ini, content: ""}
---
kind: InventorySource
name: cmdb
spec: {kind: http, inventory: filled, config: {url: "https://cmdb.example.com/hosts", headers: {X-Key: header-1}}}
---
kind: Schedule
name: direct
spec:
  cron: "@weekly"
  run: {tool: bash, command: "true", extra_vars: {api_token: token-1}, notifications: [{kind: slack, url: "https://chat.example.com/path-2"}]}
`

// TestSecretsInFiles: masked members are compared too, and only real differences are changes.
func TestSecretsInFiles(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		file := filepath.Join(t.TempDir(), "catalog.yaml")
		apply := func(text string, arg ...string) (string, int) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return w.cli(append([]string{"apply", file}, arg...)...)
		}
		if out, code := apply(secretFiles); code != 0 {
			t.Fatal(out)
		}
		if out, code := apply(secretFiles, "--check"); code != 0 ||
			!strings.Contains(out, "0 to change, 0 to delete, 4 unchanged") {
			t.Errorf("the same secrets: %d\n%s", code, out)
		}
		for _, was := range []string{"hunter22", "path-1", "signing-key-1", "header-1", "token-1", "path-2", "region: eu"} {
			next := strings.Replace(secretFiles, was, was+"x", 1)
			out, code := apply(next, "--check")
			if code != 3 || !strings.Contains(out, "1 to change, 0 to delete, 3 unchanged") ||
				was != "region: eu" && strings.Contains(out, was) {
				t.Errorf("%s: %d\n%s", was, code, out)
			}
		}
	})
}

// elsewhere applies exported files to an empty server and exports that one: the files are identical.
func (w *fixture) elsewhere(dir string) {
	w.t.Helper()
	other := &fixture{t: w.t, root: w.root,
		Server: harness.Start(w.t, harness.Options{Flags: []string{"--local-projects", w.root}})}
	other.must("apply", dir)
	again := filepath.Join(w.t.TempDir(), "again")
	other.must("export", again)
	if diff := cmp.Diff(tree(w.t, dir), tree(w.t, again)); diff != "" {
		w.t.Error(diff)
	}
}
