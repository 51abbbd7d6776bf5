package scenarios

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/fleet"
	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/system"
)

// managed makes hosts be something, with a mode, a template, a line, a tree of files in place of a package, and the
// unit file of a service. The hosts of a fleet share one machine, so none of it is installed or started.
const managed = `- name: Managed
  hosts: all
  gather_facts: false
  tasks:
    - name: Folder
      ansible.builtin.file: {path: "{{ host_root }}/data", state: directory, mode: "0750"}
    - name: Configuration
      ansible.builtin.template: {src: app.conf.j2, dest: "{{ host_root }}/app.conf", mode: "0644"}
    - name: Notice
      ansible.builtin.copy: {content: "managed\n", dest: "{{ host_root }}/notice", mode: "0644"}
    - name: Setting
      ansible.builtin.lineinfile: {path: "{{ host_root }}/settings", line: "debug = no", create: true, mode: "0644"}
    - name: Package
      ansible.builtin.copy: {src: app/, dest: "{{ host_root }}/data/app/", mode: preserve}
    - name: Unit
      ansible.builtin.template: {src: app.service.j2, dest: "{{ host_root }}/app.service", mode: "0644"}
      notify: Reload
    - name: Stamp
      ansible.builtin.file: {path: "{{ host_root }}/stamp", state: touch, mode: "0644"}
    - name: Probe
      ansible.builtin.command: "true"
      changed_when: false
    - name: Look
      ansible.builtin.command: "true"
      check_mode: false
      changed_when: false
    - name: Order
      ansible.builtin.shell: "true"
      check_mode: false
  handlers:
    - name: Reload
      ansible.builtin.command: "true"
`

// onlyCommands can be checked in no part.
const onlyCommands = `- hosts: all
  tasks:
    - ansible.builtin.command: "true"
`

func writeManaged(t *testing.T) (dir string) {
	t.Helper()
	dir = harness.Shared(t)
	if err := os.MkdirAll(filepath.Join(dir, "app", "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"site.yml": managed, "commands.yml": onlyCommands,
		"app/bin/app": "#!/bin/sh\n", "app/VERSION": "1\n",
		"app.conf.j2": "host = {{ inventory_hostname }}\n", "app.service.j2": "[Service]\nExecStart=/bin/true\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// driftRow is a resource that drifts.
type driftRow struct {
	ID             string    `json:"id"`
	Host           string    `json:"host"`
	Resource       string    `json:"resource"`
	TargetID       string    `json:"target_id"`
	Tasks          []string  `json:"changed_tasks"`
	Path           string    `json:"path"`
	Confidence     string    `json:"confidence"`
	RunID          string    `json:"run_id"`
	FirstSeen      time.Time `json:"first_seen"`
	Unconfirmed    bool      `json:"unconfirmed"`
	ReconcileRunID string    `json:"reconcile_run_id"`
}

type driftAnswer struct {
	Resources []driftRow `json:"resources"`
	Coverage  []struct {
		Host                      string
		Checked, Drifted, Unknown int
		At                        time.Time `json:"checked_at"`
	} `json:"coverage"`
	Total, Ignored, Withheld, Hosts int
}

// driftStory is a fleet whose drift is looked at.
type driftStory struct {
	*harness.Server
	t     *testing.T
	fleet *fleet.Fleet
	dir   string
	want  map[string]time.Time // "host task" and when it was first seen
}

func (s *driftStory) run(more harness.Body) harness.Run {
	s.t.Helper()
	body := harness.Body{"playbook": filepath.Join(s.dir, "site.yml"), "inventory": s.fleet.InventoryPath(), "forks": 20,
		"env": map[string]string{"ANSIBLE_PIPELINING": "1"}}
	maps.Copy(body, more)
	return s.ended(s.Submit(body).ID)
}

func (s *driftStory) ended(id string) harness.Run {
	s.t.Helper()
	r := s.Until(id, 30*time.Minute, harness.Run.Ended)
	if r.Status != "succeeded" {
		s.t.Fatalf("%s is %s\n%s", id, r.Status, s.Log(id))
	}
	return r
}

func (s *driftStory) drift(query string) (a driftAnswer) {
	s.t.Helper()
	s.Do(http.MethodGet, "/v1/drift"+query, nil).JSON(s.t, &a)
	return a
}

// await waits until as many hosts were checked since a time, and returns what drifts.
func (s *driftStory) await(hosts int, since time.Time) (a driftAnswer) {
	s.t.Helper()
	harness.Eventually(s.t, time.Minute, "what the dry run tells", func() bool {
		a = s.drift("")
		n := 0
		for _, c := range a.Coverage {
			if c.At.After(since) {
				n++
			}
		}
		return n == hosts
	})
	return a
}

// tamper changes a file of a host by hand, and expects that the task tells it.
func (s *driftStory) tamper(host int, task string, change func(root string) error) {
	s.t.Helper()
	h := s.fleet.Host(host)
	if err := change(h.Root()); err != nil {
		s.t.Fatal(err)
	}
	s.want[h.Name+" "+task] = time.Time{}
}

func rewrite(name, text string) func(string) error {
	return func(root string) error { return os.WriteFile(filepath.Join(root, name), []byte(text), 0o644) }
}

// check expects exactly what was tampered with, first seen when it was seen first.
func (s *driftStory) check(what string, a driftAnswer) {
	s.t.Helper()
	got := map[string]time.Time{}
	for _, r := range a.Resources {
		key := r.Host + " " + r.Tasks[0]
		got[key] = r.FirstSeen
		if first, known := s.want[key]; known && first.IsZero() {
			s.want[key] = r.FirstSeen
		}
		if r.Confidence != "diff" && r.Tasks[0] != "Package" || r.Unconfirmed || strings.HasPrefix(r.Path, "/") ||
			!strings.HasPrefix(r.Path, "site.yml:") {
			s.t.Errorf("%s: %+v", what, r)
		}
		if unit := []string{"Unit", "Reload"}; r.Tasks[0] == "Unit" && !slices.Equal(r.Tasks, unit) {
			s.t.Errorf("%s: the tasks are %v", what, r.Tasks)
		}
	}
	if d := cmp.Diff(s.want, got); d != "" {
		s.t.Errorf("%s: %s", what, d)
	}
	for _, c := range a.Coverage {
		if c.Checked != 7 || c.Unknown != 2 { // the commands of Probe, which is skipped, and of Order
			s.t.Errorf("%s: %+v", what, c)
		}
	}
}

// tellDrift tampers with a fleet and checks that every one of the dry runs tells exactly that.
func tellDrift(t *testing.T, hosts, times int) {
	licence := filepath.Join(t.TempDir(), "licence.json")
	if err := os.WriteFile(licence, harness.Licence(t, system.Team, time.Hour), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &driftStory{t: t, fleet: fleet.New(t, hosts), dir: writeManaged(t), want: map[string]time.Time{},
		Server: harness.Start(t, harness.Options{Flags: []string{"--license", licence}})}
	s.run(nil)
	dry := s.run(harness.Body{"dry_run": true})
	s.check("a converged fleet", s.await(hosts, dry.CreatedAt))

	s.tamper(1, "Folder", func(root string) error { return os.Chmod(filepath.Join(root, "data"), 0o700) })
	s.tamper(1, "Unit", rewrite("app.service", "[Service]\nExecStart=/bin/false\n"))
	s.tamper(2, "Configuration", rewrite("app.conf", "host = other\n"))
	s.tamper(2, "Package", func(root string) error { return os.Remove(filepath.Join(root, "data", "app", "bin", "app")) })
	s.tamper(3, "Notice", func(root string) error { return os.Remove(filepath.Join(root, "notice")) })
	s.tamper(3, "Setting", rewrite("settings", "debug = yes\n"))
	if hosts > 10 {
		for i := 11; i <= hosts; i += 3 {
			s.tamper(i, "Unit", rewrite("app.service", "[Service]\n"))
		}
	}
	for n := range times {
		dry := s.run(harness.Body{"dry_run": true})
		s.check(fmt.Sprint("dry run ", n+1), s.await(hosts, dry.CreatedAt))
	}

	s.run(harness.Body{"limit": "node01"})
	s.repaired("node01 ")
	s.reconciles()
	s.hides()
	other := s.run(harness.Body{"playbook": filepath.Join(s.dir, "commands.yml"), "dry_run": true, "inventory": "nowhere,",
		"extra_vars": harness.Body{"ansible_connection": "local"}})
	a := s.await(1, other.CreatedAt)
	for _, c := range a.Coverage {
		if c.Host == "nowhere" && (c.Checked != 0 || c.Unknown != 1) {
			t.Errorf("where everything is skipped: %+v", c)
		}
	}
}

// repaired waits until the rows of a host are gone, and expects all others.
func (s *driftStory) repaired(prefix string) {
	s.t.Helper()
	maps.DeleteFunc(s.want, func(key string, _ time.Time) bool { return strings.HasPrefix(key, prefix) })
	var a driftAnswer
	harness.Eventually(s.t, time.Minute, "the repair", func() bool {
		a = s.drift("")
		return !slices.ContainsFunc(a.Resources, func(r driftRow) bool { return r.Host+" " == prefix })
	})
	s.check("after a repair", a)
}

// reconciles repairs one host by a run that is held.
func (s *driftStory) reconciles() {
	s.t.Helper()
	refused := func(body harness.Body, status int, reason string) {
		s.t.Helper()
		a := s.Do(http.MethodPost, "/v1/drift/reconcile", body)
		if a.Status != status || !strings.Contains(string(a.Body), `"reason":"`+reason+`"`) {
			s.t.Errorf("%v: %d %s", body, a.Status, a.Body)
		}
	}
	refused(harness.Body{"host": "node01"}, 409, "no_drift")
	refused(harness.Body{"host": "unheard"}, 404, "host_not_found")
	refused(harness.Body{"host": ""}, 400, "invalid")
	a := s.Do(http.MethodPost, "/v1/drift/reconcile", harness.Body{"host": "node02"})
	var run harness.Run
	if a.JSON(s.t, &run); a.Status != 201 || run.Status != "pending_approval" || run.Source != "reconcile" ||
		a.Header.Get("Location") != "/v1/runs/"+run.ID {
		s.t.Fatalf("%d %s", a.Status, a.Body)
	}
	refused(harness.Body{"host": "node02"}, 409, "drift_reconciling")
	bound := s.drift("?reconcile_run_id=" + run.ID)
	if len(bound.Resources) != 2 || bound.Resources[0].Host != "node02" {
		s.t.Errorf("the run is to repair %+v", bound.Resources)
	}
	if a := s.Do(http.MethodPost, "/v1/runs/"+run.ID+"/approve", nil); a.Status != http.StatusOK {
		s.t.Fatalf("approve: %d %s", a.Status, a.Body)
	}
	s.ended(run.ID)
	if hosts := slices.Collect(maps.Keys(s.Hosts(run.ID))); !slices.Equal(hosts, []string{"node02"}) {
		s.t.Errorf("it touched %v", hosts)
	}
	s.repaired("node02 ")
	refused(harness.Body{"host": "node02"}, 409, "no_drift")
}

// hides leaves drift out by a rule, and withholds it from who may not read the runs.
func (s *driftStory) hides() {
	s.t.Helper()
	made := s.Do(http.MethodPost, "/v1/drift/ignores",
		harness.Body{"host": "node*", "resource": "copy *", "reason": "test"})
	if made.Status != 201 {
		s.t.Fatalf("%d %s", made.Status, made.Body)
	}
	all := len(s.want)
	if a := s.drift(""); a.Total != all-1 || a.Ignored != 1 || len(a.Resources) != all-1 {
		s.t.Errorf("%d of %d, %d ignored", a.Total, all, a.Ignored)
	}
	if a := s.Do(http.MethodDelete, made.Header.Get("Location"), nil); a.Status != 204 {
		s.t.Errorf("%d %s", a.Status, a.Body)
	}
	var user, team struct{ ID string }
	var token struct{ Token string }
	s.Do(http.MethodPost, "/v1/users", harness.Body{"username": "reader", "role": "viewer"}).JSON(s.t, &user)
	s.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "t", "user_id": user.ID}).JSON(s.t, &token)
	reader := &driftStory{t: s.t, Server: &harness.Server{Client: s.As(token.Token)}}
	if a := reader.drift(""); a.Total != all || a.Withheld != 0 {
		s.t.Errorf("a viewer reads %d of %d, %d withheld", a.Total, all, a.Withheld)
	}
	s.Do(http.MethodPost, "/v1/teams", harness.Body{"name": "Others"}).JSON(s.t, &team)
	if a := s.Do(http.MethodPost, "/v1/grants", harness.Body{"subject": "team:" + team.ID, "object": "queue:default",
		"level": "read"}); a.Status != 201 {
		s.t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := reader.drift(""); a.Total != 0 || a.Withheld != all || a.Hosts != 0 || len(a.Resources)+len(a.Coverage) > 0 {
		s.t.Errorf("a viewer who may not read the runs: %+v", a)
	}
}

// TestDriftOfThreeHosts is a small fleet; TestDriftOfAFleet is a large one.
func TestDriftOfThreeHosts(t *testing.T) {
	t.Parallel()
	tellDrift(t, 3, 1)
}
