package relay

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// collection returns the archive of a collection with a role that prints a text.
func collection(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for file, content := range map[string]string{
		"galaxy.yml":                  "namespace: acme\nname: tools\nversion: 1.0.0\nreadme: README.md\nauthors: [a]\n",
		"README.md":                   "x\n",
		"roles/hello/tasks/main.yml":  "- debug: {msg: " + text + "}\n",
		"roles/hello/meta/main.yml":   "dependencies: []\n",
		"roles/hello/defaults/a.yml":  "{}\n",
		"plugins/modules/__init__.py": "",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("ansible-galaxy", "collection", "build", "--output-path", dir)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "acme-tools-1.0.0.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRequirementsOfWorkers runs a play with a collection that its project requires. A server that executes nothing
// leaves the installation to the worker, one with executors sends what it installed.
// Keeps T43.
func TestRequirementsOfWorkers(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"tools.tar.gz":                 collection(t, "installed"),
		"collections/requirements.yml": "collections:\n  - {name: ./tools.tar.gz, type: file}\n",
		"site.yml":                     "- hosts: localhost\n  gather_facts: false\n  roles: [acme.tools.hello]\n",
	}
	for name, c := range map[string]struct {
		flags          []string
		server, worker int // projects with installations
	}{
		"executes nothing": {nil, 0, 1}, "executes": {[]string{"--executors", "1", "--queue", "own"}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "", c.flags...)
			worker := w.worker("--name", "one")
			id := w.made("/v1/projects", harness.Body{"name": "p", "repo_url": w.repo("p", files), "branch": "main",
				"install_deps": true})
			for range 2 {
				r := w.Await(w.Submit(harness.Body{"playbook": "site.yml", "project_id": id}).ID)
				if r.Status != "succeeded" || !strings.Contains(w.Log(r.ID), "installed") {
					t.Errorf("%s (%s)\n%s", r.Status, r.Error, w.Log(r.ID))
				}
			}
			for dir, want := range map[string]int{w.Dir: c.server, worker.Dir: c.worker} {
				found, err := filepath.Glob(filepath.Join(dir, "*", "projects", "*.deps", "*", "collections"))
				if err != nil || len(found) != want {
					t.Errorf("installations of %s: %v %v", dir, found, err)
				}
			}
		})
	}
}
