package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/git"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/waittest"
)

// role creates a repository that contains a role.
func (w *fixture) role(name string) *repo {
	r := newRepo(w.t, filepath.Join(w.root, name))
	r.write("tasks/main.yml", "[]\n")
	r.write("meta/main.yml",
		"galaxy_info:\n  author: a\n  description: a role\n  license: MIT\n  min_ansible_version: '2.9'\ndependencies: []\n")
	r.commit("a role")
	return r
}

// collection builds the archive of a collection.
func collection(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	text := "namespace: acme\nname: " + name + "\nversion: 1.0.0\nreadme: README.md\nauthors: [a]\n"
	for file, content := range map[string]string{"galaxy.yml": text, "README.md": "x\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(dir, "ansible-galaxy", "collection", "build", "--output-path", dir); err != nil {
		t.Fatal("ansible-galaxy has to be installed: ", err)
	}
	return filepath.Join(dir, "acme-"+name+"-1.0.0.tar.gz")
}

func exists(parts ...string) bool {
	_, err := os.Stat(filepath.Join(parts...))
	return err == nil
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	role := w.role("role")
	tarball, other := collection(t, "tools"), collection(t, "more")
	roleLines := "  - src: file://" + role.dir + "\n    scm: git\n    name: web\n"
	for name, c := range map[string]struct {
		files              map[string]string
		roles, collections string // required files below the directories
	}{
		"both in one": {map[string]string{"requirements.yml": "---\nroles:\n" + roleLines + "collections:\n  - name: " +
			tarball + "\n    type: file\n"},
			"web/tasks", "ansible_collections/acme/tools"},
		"roles alone": {map[string]string{"requirements.yml": "roles:\n" + roleLines}, "web/tasks", ""},
		"the old list": {map[string]string{"requirements.yaml": "---\n" + strings.ReplaceAll(roleLines, "\n  ", "\n")[2:]},
			"web/tasks", ""},
		"in the roles": {map[string]string{"roles/requirements.yml": "---\n" + strings.ReplaceAll(roleLines, "\n  ",
			"\n")[2:]}, "web/tasks", ""},
		"in the collections": {map[string]string{"collections/requirements.yaml": "{\"collections\": [{\"name\": \"" +
			tarball + "\"}]}"},
			"", "ansible_collections/acme/tools"},
		"in all places": {map[string]string{"roles/requirements.yml": "roles:\n" + roleLines,
			"collections/requirements.yml": "collections:\n  - " + other + "\n"},
			"web/tasks", "ansible_collections/acme/more"},
		"nothing but comments": {map[string]string{"requirements.yml": "---\n# none so far\n\n",
			"roles/requirements.yml": ""}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := strings.ReplaceAll(name, " ", "-")
			r := w.repo(id)
			for path, text := range c.files {
				r.write(path, text)
			}
			commit := r.commit("requirements")
			deps, err := w.Tree(t.Context(), r.at(id), commit, w.place(), true)
			if err != nil {
				t.Fatal(err)
			}
			if (deps.Roles != "") != (c.roles != "") || c.roles != "" && !exists(deps.Roles, c.roles) {
				t.Errorf("roles in %q", deps.Roles)
			}
			if (deps.Collections != "") != (c.collections != "") ||
				c.collections != "" && !exists(deps.Collections, c.collections) {
				t.Errorf("collections in %q", deps.Collections)
			}
			again, err := w.Tree(t.Context(), r.at(id), commit, w.place(), true)
			if err != nil || again != deps {
				t.Errorf("%v, not %v: %v", again, deps, err)
			}
			if deps, err := w.Tree(t.Context(), r.at(id), commit, w.place(), false); err != nil || deps != (catalog.Deps{}) {
				t.Errorf("nothing was to be installed: %v %v", deps, err)
			}
		})
	}
}

// counting returns an ansible-galaxy that counts its calls, and fails or hangs according to then.
func counting(t *testing.T, then string) (program string, calls func() int) {
	t.Helper()
	dir := t.TempDir()
	program = filepath.Join(dir, "galaxy")
	text := "#!/bin/sh\necho x >>" + dir + "/calls\nenv >" + dir + "/env\nmkdir -p \"$6\"\n" + then + "\n"
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return program, func() int {
		b, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			return 0
		}
		return strings.Count(string(b), "x")
	}
}

func TestRequirementsAreInstalledOnce(t *testing.T) {
	t.Parallel()
	program, calls := counting(t, "")
	w := newFixture(t, func(c *git.Config) { c.Galaxy = program })
	r := w.repo("a")
	r.write("roles/requirements.yml", "- src: x\n")
	commit := r.commit("requirements")
	var wg sync.WaitGroup
	for range 8 {
		dir := w.place()
		wg.Go(func() {
			if deps, err := w.Tree(t.Context(), r.at("p1"), commit, dir, true); err != nil || !exists(deps.Roles) {
				t.Errorf("%v %v", deps, err)
			}
		})
	}
	wg.Wait()
	if calls() != 1 {
		t.Errorf("%d calls", calls())
	}
	r.write("site.yml", "changed")
	if _, err := w.Tree(t.Context(), r.at("p1"), r.commit("no requirement"), w.place(), true); err != nil || calls() != 1 {
		t.Errorf("%d calls, %v", calls(), err)
	}
	for n := range 24 {
		r.write("roles/requirements.yml", fmt.Sprintf("- src: x%d\n", n))
		if deps, err := w.Tree(t.Context(), r.at("p1"), r.commit("another requirement"), w.place(), true); err != nil ||
			!exists(deps.Roles) {
			t.Fatalf("%v %v", deps, err)
		}
	}
	if kept, err := os.ReadDir(filepath.Join(w.dir, "p1.deps")); err != nil || len(kept) != 20 {
		t.Errorf("%d installations are kept, %v", len(kept), err)
	}
	env := read(t, filepath.Join(filepath.Dir(program), "env"))
	for _, want := range []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "HOME=" + w.dir, "LC_ALL=C.UTF-8"} {
		if !strings.Contains(env, want) {
			t.Errorf("the environment lacks %s", want)
		}
	}
	if strings.Contains(env, "GOPATH") || strings.Contains(env, "\nUSER=") {
		t.Errorf("the environment is inherited: %s", env)
	}
	if err := w.Forget(t.Context(), "p1"); err != nil || exists(w.dir, "p1.deps") {
		t.Errorf("installed requirements are left: %v", err)
	}
}

// TestInstall installs the requirements of a tree from elsewhere, whose repository is on another machine's disk, and
// keeps those of a hundred projects.
func TestInstall(t *testing.T) {
	t.Parallel()
	program, calls := counting(t, "")
	w := newFixture(t, func(c *git.Config) { c.Galaxy, c.LocalRoot = program, "" })
	tree := t.TempDir()
	deps, err := w.Install(t.Context(), catalog.Repository{ProjectID: "p0"}, tree)
	if err != nil || deps != (catalog.Deps{}) {
		t.Errorf("nothing to install: %v %v", deps, err)
	}
	if err := os.WriteFile(filepath.Join(tree, "requirements.yml"), []byte("- src: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		old := time.Unix(int64(n+1), 0)
		mark := filepath.Join(w.dir, fmt.Sprintf("old%d.deps", n), ".used")
		if err := errors.Join(os.Mkdir(filepath.Dir(mark), 0o700), os.WriteFile(mark, nil, 0o600),
			os.Chtimes(mark, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		deps, err := w.Install(t.Context(), catalog.Repository{ProjectID: "p1"}, tree)
		if err != nil || !exists(deps.Roles) || calls() != 1 {
			t.Errorf("%v %v, %d calls", deps, err, calls())
		}
	}
	if exists(w.dir, "old0.deps") || !exists(w.dir, "old1.deps") {
		t.Error("the project that was used longest ago is not the one that was forgotten")
	}
}

func TestRequirementsFail(t *testing.T) {
	t.Parallel()
	program, _ := counting(t, `echo "before"; echo "ERROR! no `+canary+
		` at https://u:p@example.com/x in $HOME" >&2; exit 3`)
	w := newFixture(t, func(c *git.Config) { c.Galaxy = program })
	r := w.repo("a")
	r.write("requirements.yml", "- src: x\n")
	commit := r.commit("requirements")
	at, dir := r.at("p1"), w.place()
	at.Login.Password = canary
	_, err := w.Tree(t.Context(), at, commit, dir, true)
	syncFailed(t, err, canary, w.dir, "u:p@")
	if !strings.Contains(err.Error(), "requirements: no *** at https://example.com/x") {
		t.Error(err)
	}
	if exists(dir) {
		t.Error("the work tree was left")
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, "p1.deps")); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	missing := newFixture(t, func(c *git.Config) { c.LocalRoot, c.Galaxy = w.root, "no-such-program" })
	_, err = missing.Tree(t.Context(), r.at("p1"), commit, missing.place(), true)
	syncFailed(t, err)
}

// TestClonesFail has what ansible-galaxy prints about a role, with a secret in two lines, and about a collection.
func TestClonesFail(t *testing.T) {
	t.Parallel()
	for reason, output := range map[string]string{
		"x was NOT installed successfully: who are you, ***? This key may not be used, or not at all": `
[WARNING]: - x was NOT installed successfully: - command git clone failed
(rc=128) - Cloning into 'x'... who are you, pass-
word-1? This key may not be used, or not at                                    ` + `
all fatal: Could not read from remote repository.  Please make sure
ERROR! - you can use --ignore-errors to skip failed roles and finish processing the list.`,
		"Failed to clone it: u@h: Permission denied (publickey).": `
Cloning into '/` + strings.Repeat("long/", 20) + `'...
u@h: Permission denied (publickey).
fatal: Could not read from remote repository.

ERROR! Failed to clone it`,
	} {
		program, _ := counting(t, "cat >&2 <<'END'\n"+output+"\nEND\nexit 1")
		w := newFixture(t, func(c *git.Config) { c.Galaxy = program })
		r := w.repo("a")
		r.write("requirements.yml", "- src: x\n")
		commit := r.commit("requirements")
		at := r.at("p1")
		at.Login.Password = "pass-word-1"
		_, err := w.Tree(t.Context(), at, commit, w.place(), true)
		syncFailed(t, err, "word-1")
		if !strings.HasSuffix(err.Error(), ": "+reason) {
			t.Error(err)
		}
	}
}

// TestRequirementsEnd runs an ansible-galaxy that never ends, with a child process.
func TestRequirementsEnd(t *testing.T) {
	t.Parallel()
	program, calls := counting(t, "trap '' TERM\nsh -c 'sleep 1000; :' \"$0\" &\nwait")
	w := newFixture(t, func(c *git.Config) { c.Galaxy, c.InstallTimeout = program, 300*time.Millisecond })
	r := w.repo("a")
	r.write("requirements.yml", "- src: x\n")
	commit := r.commit("requirements")
	_, err := w.Tree(t.Context(), r.at("p1"), commit, w.place(), true)
	syncFailed(t, err)
	if !strings.Contains(err.Error(), "within 300ms") {
		t.Error(err)
	}
	long := newFixture(t, func(c *git.Config) { c.LocalRoot, c.Galaxy = w.root, program })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	before := calls()
	dir := long.place()
	go func() { done <- second(long.Tree(ctx, r.at("p1"), commit, dir, true)) }()
	waittest.Eventually(t, 20*time.Second, "ansible-galaxy does not begin", func() bool { return calls() > before })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left := processes(t, program); len(left) > 0 {
		t.Errorf("processes: %v", left)
	}
}
