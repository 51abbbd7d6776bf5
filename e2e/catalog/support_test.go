package catalog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// fixture is a server that accepts projects from repositories below its root.
type fixture struct {
	*harness.Server
	t    *testing.T
	root string
}

func newFixture(t *testing.T, o harness.Options) *fixture {
	t.Helper()
	w := &fixture{t: t, root: t.TempDir()}
	o.Flags = append(o.Flags, "--local-projects", w.root)
	w.Server = harness.Start(t, o)
	return w
}

// repo is a git repository below the root.
type repo struct {
	t   *testing.T
	dir string
}

func (w *fixture) repo(name string, files map[string]string) *repo {
	w.t.Helper()
	r := &repo{t: w.t, dir: filepath.Join(w.root, name)}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	r.commit(files)
	return r
}

func (r *repo) url() string { return "file://" + r.dir }

// commit writes files and commits them all; it returns the commit.
func (r *repo) commit(files map[string]string) string {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "change")
	return r.git("rev-parse", "HEAD")
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=w", "-c", "user.email=w@example.org"},
		args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + r.dir}
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// make creates an object and returns its answer.
func (w *fixture) make(path string, body harness.Body) map[string]any {
	w.t.Helper()
	return w.want(http.StatusCreated, http.MethodPost, path, body)
}

func (w *fixture) id(path string, body harness.Body) string {
	w.t.Helper()
	id, _ := w.make(path, body)["id"].(string)
	return id
}

// want sends a request and ends the test if the status differs.
func (w *fixture) want(status int, method, path string, body any, header ...string) map[string]any {
	w.t.Helper()
	a := w.Do(method, path, body, header...)
	if a.Status != status {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.Status, status, a.Body)
	}
	out := map[string]any{}
	if len(a.Body) > 0 && strings.Contains(a.Header.Get("Content-Type"), "json") {
		a.JSON(w.t, &out)
	}
	return out
}

// project creates a project of a repository and fetches it.
func (w *fixture) project(name string, r *repo, more ...string) string {
	w.t.Helper()
	body := harness.Body{"name": name, "repo_url": r.url(), "branch": "main"}
	for _, m := range more {
		body[m] = true
	}
	id := w.id("/v1/projects", body)
	w.want(http.StatusOK, http.MethodPost, "/v1/projects/"+id+"/sync", nil)
	return id
}

// localHosts sets the interpreter, so that Ansible does not search for it on each host.
const localHosts = "[web]\na ansible_connection=local\nb ansible_connection=local\n" +
	"[web:vars]\nansible_python_interpreter={{ ansible_playbook_python }}\n"

func (w *fixture) inventory(name string) string {
	w.t.Helper()
	return w.id("/v1/inventories", harness.Body{"name": name, "content": localHosts, "format": "ini"})
}

// launch launches a template and returns the run.
func (w *fixture) launch(id string, body harness.Body) harness.Run {
	w.t.Helper()
	var r harness.Run
	if body == nil {
		body = harness.Body{}
	}
	a := w.Do(http.MethodPost, "/v1/templates/"+id+"/launch", body)
	if a.Status != http.StatusCreated {
		w.t.Fatalf("launch: %d %s", a.Status, a.Body)
	}
	a.JSON(w.t, &r)
	return r
}

func (w *fixture) log(run string) string {
	w.t.Helper()
	return string(w.Do(http.MethodGet, "/v1/runs/"+run+"/logs", nil).Body)
}

// succeeds waits for a run's success and returns its record.
func (w *fixture) succeeds(run string) harness.Run {
	w.t.Helper()
	r := w.Await(run)
	if r.Status != "succeeded" {
		w.t.Fatalf("%s: %s %s\n%s", run, r.Status, r.Error, w.log(run))
	}
	return r
}

func sign(secret, body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

func absent(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", path, err)
	}
}
