package relay

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/sshtest"
)

// sources are the files of a collection with a role that prints a text.
func sources(text string) map[string]string {
	return map[string]string{
		"galaxy.yml":                  "namespace: acme\nname: tools\nversion: 1.0.0\nreadme: README.md\nauthors: [a]\n",
		"README.md":                   "x\n",
		"roles/hello/tasks/main.yml":  "- debug: {msg: " + text + "}\n",
		"roles/hello/meta/main.yml":   "dependencies: []\n",
		"roles/hello/defaults/a.yml":  "{}\n",
		"plugins/modules/__init__.py": "",
	}
}

// collection returns the archive of a collection.
func collection(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for file, content := range sources(text) {
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

// gitServer is a git server over ssh that one key opens. It refuses that key repositories with closed in their name.
type gitServer struct {
	*fixture
	user, key string
	server    *sshtest.Server
}

func newGitServer(w *fixture) *gitServer {
	w.t.Helper()
	dir := w.t.TempDir()
	who, err := user.Current()
	if err != nil {
		w.t.Fatal(err)
	}
	path, script := filepath.Join(dir, "key"), filepath.Join(dir, "git.sh")
	text := "case $SSH_ORIGINAL_COMMAND in\n*closed*) echo 'this key may not read it' >&2; exit 1 ;;\n" +
		"git-upload-pack*) eval exec \"$SSH_ORIGINAL_COMMAND\" ;;\n*) exit 1 ;;\nesac\n"
	if err := errors.Join(sshtest.WriteKey(path, "deploy"), os.WriteFile(script, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
	key, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return &gitServer{fixture: w, user: who.Username, key: string(key), server: sshtest.New(w.t, sshtest.Config{
		Lines: []string{"AuthorizedKeysFile " + path + ".pub", "ForceCommand /bin/sh " + script}})}
}

// add makes a repository and returns its address.
func (f *gitServer) add(name string, files map[string]string) string {
	f.t.Helper()
	f.repo(name, files)
	return fmt.Sprintf("ssh://%s@127.0.0.1:%d%s", f.user, f.server.Port(), filepath.Join(f.root, name))
}

// TestPrivateRequirements installs a role and a collection from the git server of the project, which asks for its
// login, for a server that executes nothing. The answer to the claim has the login, and nothing else that a worker gets
// or leaves. A requirement that the login does not open fails the run with the message of git, and a worker that
// installs no requirements gets no such run.
// Keeps T21, T43.
func TestPrivateRequirements(t *testing.T) {
	t.Parallel()
	f := newGitServer(newFixture(t, ""))
	login := f.made("/v1/credentials", harness.Body{"name": "deploy", "kind": "ssh_key",
		"secret": harness.Body{"private_key": f.key}})
	role := map[string]string{"tasks/main.yml": "- debug: {msg: greeted}\n", "meta/main.yml": "dependencies: []\n"}
	project := func(name, role, collection string) string {
		files := map[string]string{"site.yml": "- hosts: localhost\n  gather_facts: false\n" +
			"  roles: [greet, acme.tools.hello]\n", "requirements.yml": "roles:\n  - {src: '" + role +
			"', scm: git, name: greet, version: main}\ncollections:\n  - {name: '" + collection +
			"', type: git, version: main}\n"}
		return f.made("/v1/projects", harness.Body{"name": name, "repo_url": f.add(name, files), "branch": "main",
			"credential_id": login, "install_deps": true})
	}
	greet, tools := f.add("greet", role), f.add("tools", sources("installed"))
	app := project("app", greet, tools)
	submit := func(id string) string { return f.Submit(harness.Body{"playbook": "site.yml", "project_id": id}).ID }

	refused := submit(app)
	if g := f.claim("old"); g != nil {
		t.Errorf("a worker that installs nothing gets %+v", g)
	}
	if r := f.Await(refused); r.Status != "failed" || !strings.Contains(r.Error, "the worker old does not install any") {
		t.Errorf("%s (%s)", r.Status, r.Error)
	}
	good := submit(app)
	f.grants(good)
	worker := f.worker("--name", "one")
	r := f.Await(good)
	log := f.Log(good)
	if r.Status != "succeeded" || !strings.Contains(log, "greeted") || !strings.Contains(log, "installed") {
		t.Errorf("%s (%s)\n%s", r.Status, r.Error, log)
	}
	if found, err := filepath.Glob(filepath.Join(f.Dir, "*", "projects", "*.deps")); err != nil || len(found) > 0 {
		t.Errorf("the server installs %v %v", found, err)
	}
	const closed, failed = "this key may not read it", "Failed to clone a Git repository"
	stranger := sshtest.New(t, sshtest.Config{Lines: []string{"AuthorizedKeysFile none"}})
	for name, c := range map[string]struct{ role, collection, what, message string }{
		"role":       {f.add("closed-role", role), tools, "greet was NOT installed", closed},
		"collection": {greet, f.add("closed-tools", sources("x")), failed, closed},
		"server": {greet, fmt.Sprintf("ssh://%s@127.0.0.1:%d/x", f.user, stranger.Port()), failed,
			"Permission denied (publickey"},
	} {
		r := f.Await(submit(project(name, c.role, c.collection)))
		if r.Status != "failed" || !strings.Contains(r.Error, c.what) || !strings.Contains(r.Error, c.message) {
			t.Errorf("a closed %s: %s (%s)", name, r.Status, r.Error)
		}
	}
	f.hidesLogin(worker.Output(), f.Output(), log, string(f.Do(http.MethodGet, "/v1/runs/"+good, nil).Body),
		string(f.Do(http.MethodGet, "/v1/runs/"+good+"/evidence?format=json", nil).Body))
	worker.Stop()
	for _, dir := range []string{worker.Dir, f.Dir} {
		if found := exec.Command("grep", "-rlF", f.secret(), dir).Run(); found == nil {
			t.Errorf("a file below %s has the login", dir)
		}
	}
}

// secret is the line of the key with its private half, which stays the same when the server writes the key anew.
func (f *gitServer) secret() string { return strings.Split(f.key, "\n")[4] }

func (f *gitServer) hidesLogin(texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		if strings.Contains(text, f.secret()) {
			f.t.Errorf("the login is shown: %s", text)
		}
	}
}

// grants claims a run as a worker that installs requirements, looks at what it gets, and gives the run back.
func (f *gitServer) grants(id string) {
	f.t.Helper()
	a := f.peer().Do(http.MethodPost, "/relay/v1/claim", harness.Body{"worker": harness.Body{"name": "peer",
		"executors": 1, "installs_requirements": true}})
	var g struct {
		grant
		Requirements struct{ URL, Key string }
	}
	a.JSON(f.t, &g)
	if g.Run.ID != id || !strings.Contains(g.Requirements.Key, f.secret()) ||
		!strings.HasSuffix(g.Requirements.URL, "/app") {
		f.t.Fatalf("%d %s", a.Status, a.Body)
	}
	for what, method := range map[string]string{"": http.MethodGet, "project": http.MethodGet,
		"heartbeat": http.MethodPost} {
		var body any
		if what == "heartbeat" {
			body = harness.Body{"run_id": id}
		}
		a := f.report(method, id, what, body, g.Capability)
		if a.Status != http.StatusOK {
			f.t.Errorf("%s: %d %s", what, a.Status, a.Body)
		}
		f.hidesLogin(string(a.Body))
	}
	f.mustReport(http.StatusNoContent, &g.grant, "save", harness.Body{"status": "pending"})
}
