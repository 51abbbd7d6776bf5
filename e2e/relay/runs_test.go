package relay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

const play = `- hosts: a
  gather_facts: true
  gather_subset: ["!all", "!min", distribution, python]
- hosts: all
  gather_facts: false
  tasks:
    - name: say
      ansible.builtin.debug: {msg: "hello {{ who }} on {{ inventory_hostname }}"}
    - name: change
      ansible.builtin.command: echo done
      when: inventory_hostname != 'c'
    - name: keep
      ansible.builtin.set_stats: {data: {answer: 42}}
      run_once: true
`

// alike returns the parts of a run that must not depend on its executor.
func alike(t *testing.T, w *fixture, r harness.Run) string {
	t.Helper()
	var types []string
	for _, e := range w.Events(r.ID) {
		if e.Type != "status" {
			types = append(types, e.Type+" "+e.Host+" "+e.Task)
		}
	}
	slices.Sort(types)
	var tasks struct {
		Tasks []struct {
			Index           int
			Task, Play      string
			OK, Failed      int
			Changed, Hosts  int
			Skipped         int
			TaskID, Unnamed string
		}
	}
	w.Do(http.MethodGet, "/v1/runs/"+r.ID+"/tasks", nil).JSON(t, &tasks)
	raw, err := json.MarshalIndent([]any{
		r.Status, r.ExitCode, r.Error, r.Hosts, r.HostsTouched, r.Outputs, r.Warnings, r.ExtraVars, w.Hosts(r.ID),
		tasks, types,
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestTheSameAsAServer executes the same runs on a server, on a worker over the relay and on one over the database:
// the results are the same.
func TestTheSameAsAServer(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, dbURL, "--executors", "2", "--queue", "server")
		w.worker("--queue", "relay", "--labels", "site=north")
		harness.StartWorker(t, harness.WorkerOptions{DB: w.DB, Dir: w.t.TempDir(),
			Flags: append([]string{"--queue", "database"}, w.keys()...)})
		project := w.project("site", map[string]string{"site.yml": play, "ansible.cfg": "[defaults]\n",
			"broken.yml": "- hosts: all\n  tasks: [{fail: {msg: no}}]\n",
			"nobody.yml": "- hosts: nobody\n  tasks: [{ping: {}}]\n"})
		inventory := w.made("/v1/inventories", harness.Body{"name": "three", "content": localHosts})
		bodies := []harness.Body{
			{"tool": "bash", "command": "echo one; echo two >&2; echo '{\"k\": [1, 2.50]}' > \"$WRIT_OUTPUTS\"; exit 3",
				"extra_vars": harness.Body{"password": "hunter2hunter2", "n": 1}},
			{"playbook": "site.yml", "project_id": project, "inventory_id": inventory,
				"extra_vars": harness.Body{"who": "{{ lookup('pipe', 'id') }}"}},
			{"playbook": "broken.yml", "project_id": project, "inventory_id": inventory},
			{"playbook": "site.yml", "project_id": project, "inventory_id": inventory, "extra_vars": harness.Body{"who": "you"},
				"dry_run": true, "diff_mode": true},
			{"playbook": "none.yml", "project_id": project, "inventory_id": inventory},
			{"tool": "python", "command": "import os; print(os.environ['WRIT_VAR_N'])", "extra_vars": harness.Body{"n": 7}},
			{"tool": "bash", "command": "head -c 3000000 /dev/zero | tr '\\0' y"},
			{"playbook": "nobody.yml", "project_id": project, "inventory_id": inventory, "fail_on": []string{"no_hosts"}},
		}
		ends := []string{"failed", "succeeded", "failed", "succeeded", "failed", "succeeded", "succeeded", "failed"}
		for i, body := range bodies {
			if dbURL != "" && i > depthtest.Of(0, 1) {
				break // the work on a run does not depend on the database
			}
			if i >= 2 && i <= 4 && !depthtest.Long {
				continue // more playbooks
			}
			var first harness.Run
			for _, queue := range []string{"server", "relay", "database"} {
				body["queue"] = queue
				r := w.Await(w.Submit(body).ID)
				if queue == "server" {
					if first = r; r.Status != ends[i] {
						t.Errorf("run %d is %s (%s): %.2000s", i, r.Status, r.Error, w.Log(r.ID))
					}
					continue
				}
				if got, want := alike(t, w, r), alike(t, w, first); got != want {
					t.Errorf("run %d over the %s is\n%s\nand on the server\n%s", i, queue, got, want)
				}
				if got, want := w.Log(r.ID), w.Log(first.ID); i != 1 && i != 2 && i != 3 && i != 4 && got != want {
					t.Errorf("run %d over the %s said %.300q, on the server %.300q", i, queue, got, want)
				}
				if kind := w.fleet()[r.Worker]["kind"]; (kind == "relay") != (queue == "relay") {
					t.Errorf("the %s's run was executed by %q", queue, r.Worker)
				}
			}
		}
		w.Intact()
		kinds := map[string]int{}
		for _, row := range w.fleet() {
			kinds[fmt.Sprintf("%v %v %v %v", row["kind"], row["queues"], row["fresh"], row["labels"])]++
		}
		if len(kinds) != 3 || kinds["relay [relay] true map[site:north]"] != 1 ||
			kinds["worker [database] true <nil>"] != 1 ||
			kinds["server [server] true <nil>"] != 1 {
			t.Errorf("the fleet is %v", kinds)
		}
	})
}

// keys returns the flags with which a worker over the database opens secrets that the server sealed.
func (w *fixture) keys() []string {
	return []string{"--encryption-key-file", filepath.Join(w.Dir, "data", "encryption.key"), "--local-projects", w.root}
}

// TestSplitOverTheRelay divides a run on one worker and executes its shards on two.
func TestSplitOverTheRelay(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	w.worker()
	w.worker()
	inventory := filepath.Join(harness.Shared(t), "hosts.ini")
	playbook := filepath.Join(harness.Shared(t), "site.yml")
	write(t, inventory, localHosts)
	write(t, playbook, play)
	n := depthtest.Of(2, 3)
	r := w.Await(w.Submit(harness.Body{
		"playbook": playbook, "inventory": inventory, "shards": n, "extra_vars": harness.Body{"who": "x"},
	}).ID)
	if r.Status != "succeeded" || r.ShardCount != n || *r.HostsTouched != 3 || len(w.Hosts(r.ID)) != 3 {
		t.Errorf("the split is %+v with hosts %v", r, w.Hosts(r.ID))
	}
	w.Intact()
}

// TestCancelAndTimeout ends runs on a worker. All their processes have ended.
func TestCancelAndTimeout(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	w.worker("--kill-grace", "1s")
	slow := "(setsid sleep 300 &) \n echo up; sleep 300"
	for name, c := range map[string]struct {
		body harness.Body
		end  string
	}{
		"cancel":  {harness.Body{"tool": "bash", "command": slow}, "canceled"},
		"timeout": {harness.Body{"tool": "bash", "command": slow, "timeout": 2}, "failed"},
	} {
		id := w.Submit(c.body).ID
		w.running(id, "up")
		if c.end == "canceled" {
			w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+id+"/cancel", nil)
		}
		if r := w.Until(id, 60*time.Second, harness.Run.Ended); r.Status != c.end {
			t.Errorf("%s: %s (%s)", name, r.Status, r.Error)
		}
		if left := harness.Marked(t, []string{id}); len(left) > 0 {
			t.Errorf("%s: orphans live: %v", name, left)
		}
	}
}

// TestCancelWithoutAHeartbeat checks that a cancel reaches a busy worker by its waiting claim. At least one of a few
// cancels arrives between two heartbeats.
func TestCancelWithoutAHeartbeat(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	w.worker("--executors", "1", "--kill-grace", "1s")
	beats := func() (n int) {
		for line := range strings.Lines(string(w.Do(http.MethodGet, "/metrics", nil).Body)) {
			if strings.HasPrefix(line, "writ_http_request_duration_seconds_count") &&
				strings.Contains(line, "/relay/v1/heartbeat") {
				if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &n); err != nil {
					t.Fatal(err)
				}
			}
		}
		return n
	}
	for range 5 {
		id := w.Submit(harness.Body{"tool": "bash", "command": "echo up; sleep 300"}).ID
		w.running(id, "up")
		before := beats()
		w.want(http.StatusOK, http.MethodPost, "/v1/runs/"+id+"/cancel", nil)
		if r := w.Until(id, time.Minute, harness.Run.Ended); r.Status != "canceled" {
			t.Fatalf("%s (%s)", r.Status, r.Error)
		}
		if beats() == before {
			return
		}
	}
	t.Error("every cancel came with a heartbeat")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
