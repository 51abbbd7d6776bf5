package relay

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// fixture is a server that executes nothing itself and accepts workers.
type fixture struct {
	*harness.Server
	t     *testing.T
	root  string        // the directory of the repositories
	front *harness.Link // its address stays the same after a restart of the server
}

// newFixture starts a server. The flags follow the common ones and override them.
func newFixture(t *testing.T, dbURL string, flags ...string) *fixture {
	t.Helper()
	return serve(t, dbURL, []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken}, flags...)
}

// serve starts one in an environment.
func serve(t *testing.T, dbURL string, environ []string, flags ...string) *fixture {
	t.Helper()
	root := t.TempDir()
	o := harness.Options{
		DB: dbURL, Flags: append([]string{"--executors", "0", "--local-projects", root}, flags...), Env: environ,
	}
	w := &fixture{Server: harness.Start(t, o), t: t, root: root}
	w.front = harness.NewLink(t, strings.TrimPrefix(w.URL, "http://"))
	w.URL = "http://" + w.front.Addr()
	return w
}

// again starts another server over the same directory and database, under the same address.
func (w *fixture) again() *fixture {
	w.t.Helper()
	s := harness.Start(w.t, w.Options)
	w.front.Lead(strings.TrimPrefix(s.URL, "http://"))
	s.URL = w.URL
	return &fixture{Server: s, t: w.t, root: w.root, front: w.front}
}

// worker starts a worker over the relay.
func (w *fixture) worker(flags ...string) *harness.Worker {
	w.t.Helper()
	return harness.StartWorker(w.t, harness.WorkerOptions{Server: w.URL, Flags: flags})
}

// want sends a request and ends the test if the status differs.
func (w *fixture) want(status int, method, path string, body any) map[string]any {
	w.t.Helper()
	a := w.Do(method, path, body)
	if a.Status != status {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.Status, status, a.Body)
	}
	out := map[string]any{}
	if len(a.Body) > 0 {
		a.JSON(w.t, &out)
	}
	return out
}

// made creates an object and returns its id.
func (w *fixture) made(path string, body harness.Body) string {
	w.t.Helper()
	id, _ := w.want(http.StatusCreated, http.MethodPost, path, body)["id"].(string)
	return id
}

// running waits until the run has printed a text.
func (w *fixture) running(id, text string) {
	w.t.Helper()
	harness.Eventually(w.t, 60*time.Second, "run "+id+" says "+text, func() bool {
		return strings.Contains(w.Log(id), text)
	})
}

// leaseEnds returns when the lease of a run ends; a test that waits for it sleeps until then.
func (w *fixture) leaseEnds(id string) time.Time {
	w.t.Helper()
	var record struct {
		LeaseExpiresAt time.Time `json:"lease_expires_at"`
	}
	w.Do(http.MethodGet, "/v1/runs/"+id, nil).JSON(w.t, &record)
	return record.LeaseExpiresAt
}

// fleet returns the server's list of workers, by name.
func (w *fixture) fleet() map[string]map[string]any {
	w.t.Helper()
	out := map[string]map[string]any{}
	list, _ := w.want(http.StatusOK, http.MethodGet, "/v1/workers", nil)["workers"].([]any)
	for _, one := range list {
		row, _ := one.(map[string]any)
		name, _ := row["name"].(string)
		out[name] = row
	}
	return out
}

// repo makes a git repository with these files below the root and returns its address.
func (w *fixture) repo(name string, files map[string]string) string {
	w.t.Helper()
	dir := filepath.Join(w.root, name)
	for file, text := range files {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=w", "-c", "user.email=w@example.org"},
			args...)...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + dir}
		if out, err := c.CombinedOutput(); err != nil {
			w.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return "file://" + dir
}

// project makes a project of a repository and fetches it.
func (w *fixture) project(name string, files map[string]string) string {
	w.t.Helper()
	id := w.made("/v1/projects", harness.Body{"name": name, "repo_url": w.repo(name, files), "branch": "main"})
	w.want(http.StatusOK, http.MethodPost, "/v1/projects/"+id+"/sync", nil)
	return id
}

// localHosts sets the interpreter, so that Ansible does not search for it on each host.
const localHosts = `[web]
a ansible_connection=local
b ansible_connection=local
c ansible_connection=local
[web:vars]
ansible_python_interpreter={{ ansible_playbook_python }}
`

// grant is the answer to a claim over the relay.
type grant struct {
	Run struct {
		ID      string         `json:"id"`
		Epoch   int64          `json:"epoch"`
		Worker  string         `json:"worker"`
		NextSeq int64          `json:"next_seq"`
		Vars    map[string]any `json:"extra_vars"`
	} `json:"run"`
	Capability   string         `json:"capability"`
	LeaseSeconds int            `json:"lease_seconds"`
	Secrets      map[string]any `json:"secrets"`
}

// peer uses the relay's protocol directly, as a third-party worker would.
func (w *fixture) peer() harness.Client { return w.As(harness.WorkerToken) }

// claim claims the next run of the queues under a name; nil if none waits.
func (w *fixture) claim(name string, queues ...string) *grant {
	w.t.Helper()
	body := harness.Body{"worker": harness.Body{"name": name, "version": "1", "executors": 1}, "queues": queues}
	a := w.peer().Do(http.MethodPost, "/relay/v1/claim", body)
	if a.Status == http.StatusNoContent {
		return nil
	}
	if a.Status != http.StatusOK {
		w.t.Fatalf("claim: %d %s", a.Status, a.Body)
	}
	var g grant
	a.JSON(w.t, &g)
	return &g
}

// report calls the relay about a run.
func (w *fixture) report(method, run, what string, body any, capability string) harness.Answer {
	w.t.Helper()
	path := "/relay/v1/runs/" + run
	if what != "" {
		path += "/" + what
	}
	if what == "heartbeat" {
		path = "/relay/v1/heartbeat"
	}
	var header []string
	if capability != "" {
		header = []string{"Relay-Capability", capability}
	}
	return w.peer().Do(method, path, body, header...)
}

// mustReport reports something and ends the test if the status differs.
func (w *fixture) mustReport(status int, g *grant, what string, body any) map[string]any {
	w.t.Helper()
	a := w.report(http.MethodPost, g.Run.ID, what, body, g.Capability)
	if a.Status != status {
		w.t.Fatalf("%s: %d, want %d: %s", what, a.Status, status, a.Body)
	}
	out := map[string]any{}
	if len(a.Body) > 0 {
		a.JSON(w.t, &out)
	}
	return out
}
