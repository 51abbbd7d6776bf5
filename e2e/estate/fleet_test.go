package estate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

const limit = 60 * time.Second

// oddHosts are names that are hard to put into a path.
func oddHosts() []string {
	return []string{`a/b%2Fc`, `it's "odd"`, strings.Repeat("n", 255)}
}

// results are a server with ended plays on hosts: web-1 fails in every second one, and only the run of the restricted
// queue reached the host hidden.
type results struct {
	*harness.Server
	play, inventory string
	viewer, reader  string
}

func newResults(t *testing.T, db string) *results {
	t.Helper()
	queues := []string{"--queue", "default", "--queue", "vault"}
	s := &results{Server: harness.Start(t, harness.Options{DB: db, Flags: queues})}
	dir := harness.Shared(t)
	s.play, s.inventory = filepath.Join(dir, "site.yml"), filepath.Join(dir, "hosts.json")
	hosts := map[string]any{"web-1": nil, "web-2": nil, "hidden": nil}
	for _, name := range oddHosts() {
		hosts[name] = nil
	}
	inventory, err := json.Marshal(map[string]any{"all": map[string]any{"hosts": hosts, "vars": map[string]any{
		"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}}})
	if err == nil {
		err = os.WriteFile(s.inventory, inventory, 0o644)
	}
	if err == nil {
		err = os.WriteFile(s.play, []byte(`- hosts: all
  gather_facts: false
  tasks:
    - name: Reach it
      ansible.builtin.raw: "true"
      changed_when: false
    - name: Fail on request
      ansible.builtin.raw: "false"
      when: inventory_hostname == broken | default('')
`), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	reader := s.account(t, "reader")
	s.viewer, s.reader = s.token(t, s.account(t, "viewer")), s.token(t, reader)
	s.created(t, "/v1/grants", harness.Body{"subject": "user:" + reader, "object": "queue:vault", "level": "read"})
	return s
}

func (s *results) created(t *testing.T, path string, body harness.Body) (out struct{ ID, Token string }) {
	t.Helper()
	a := s.Do(http.MethodPost, path, body)
	if a.JSON(t, &out); a.Status != http.StatusCreated {
		t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return out
}

func (s *results) account(t *testing.T, name string) string {
	t.Helper()
	return s.created(t, "/v1/users", harness.Body{"username": name, "role": "viewer"}).ID
}

func (s *results) token(t *testing.T, account string) string {
	t.Helper()
	return s.created(t, "/v1/tokens", harness.Body{"name": "test", "user_id": account}).Token
}

// runs executes a play on all hosts but one, in one queue.
func (s *results) runs(queue, broken, limit string) harness.Run {
	return s.Await(s.Submit(harness.Body{"playbook": s.play, "inventory": s.inventory, "queue": queue, "limit": limit,
		"extra_vars": harness.Body{"broken": broken}}).ID)
}

type ranked struct {
	Host        string
	Failures    int
	Total       int
	LastOutcome string `json:"last_outcome"`
	Flips       int
	Flaky       bool
	Recent      []struct {
		RunID string `json:"run_id"`
	}
}

// fleet reads ranks by name.
func fleet(t *testing.T, c harness.Client, query string) (by map[string]ranked, order []string) {
	t.Helper()
	var page struct {
		Hosts        []ranked
		Count, Total int
	}
	a := c.Do(http.MethodGet, "/v1/fleet"+query, nil)
	if a.JSON(t, &page); a.Status != http.StatusOK || page.Count != len(page.Hosts) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	by = map[string]ranked{}
	for _, r := range page.Hosts {
		by[r.Host], order = r, append(order, r.Host)
	}
	return by, order
}

// TestFleet ranks the hosts of real plays, for several readers.
func TestFleet(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		s := newResults(t, db)
		var made []harness.Run
		for _, broken := range []string{"", "web-1", ""} {
			made = append(made, s.runs("default", broken, "all:!hidden"))
		}
		s.runs("vault", "web-2", "web-1:web-2:hidden")
		harness.Eventually(t, limit, "all results", func() bool {
			by, _ := fleet(t, s.Client, "")
			return by["web-1"].Total == 4 && by["hidden"].Total == 1
		})
		all, order := fleet(t, s.As(s.reader), "")
		if len(all) != 6 || order[0] != "web-1" || !all["web-1"].Flaky || all["web-1"].Flips != 2 ||
			all["web-2"].LastOutcome != "failed" {
			t.Errorf("%q %+v", order, all)
		}
		seen, order := fleet(t, s.As(s.viewer), "")
		if r := seen["web-1"]; len(seen) != 5 || order[0] != "web-1" || r.Total != 3 || r.Failures != 1 || !r.Flaky ||
			r.Recent[0].RunID != made[2].ID || r.Recent[1].RunID != made[1].ID {
			t.Errorf("%q %+v", order, seen)
		}
		if r := seen["web-2"]; r.Total != 3 || r.Failures != 0 || r.LastOutcome != "ok" {
			t.Errorf("%+v", r)
		}
		if _, order := fleet(t, s.As(s.viewer), "?window=1&q=WEB&limit=1&offset=1"); len(order) != 1 || order[0] != "web-2" {
			t.Errorf("%q", order)
		}
		s.pages(t)
		s.refused(t)
		s.commands(t)
		a := s.As("").Do(http.MethodGet, "/metrics", nil)
		for _, line := range []string{`writ_hosts{outcome="ok"} 5`, `writ_hosts{outcome="failed"} 1`} {
			if !strings.Contains(string(a.Body), line) {
				t.Errorf("the metrics lack %s", line)
			}
		}
	})
}

// pages reads single hosts, and tasks.
func (s *results) pages(t *testing.T) {
	t.Helper()
	for _, host := range append(oddHosts(), "web-1") {
		var page struct {
			Host  string
			Total int
			Runs  []struct{ Outcome string }
		}
		a := s.As(s.viewer).Do(http.MethodGet, "/v1/hosts/"+url.PathEscape(host), nil)
		if a.JSON(t, &page); a.Status != http.StatusOK || page.Host != host || page.Total != 3 || len(page.Runs) != 3 {
			t.Errorf("%.20q: %d %s", host, a.Status, a.Body)
		}
	}
	var list struct {
		Runs         []struct{ Outcome string }
		Count, Limit int
	}
	a := s.Do(http.MethodGet, "/v1/hosts/web-1/runs?limit=2", nil)
	if a.JSON(t, &list); list.Count != 2 || list.Limit != 2 || list.Runs[1].Outcome != "ok" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.Do(http.MethodGet, "/v1/hosts/web-1/runs?limit=99999999999999999999", nil); !strings.Contains(string(a.Body),
		`"limit":500`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	var tasks struct {
		Tasks []struct {
			Task   string
			Runs   int
			Recent []int64 `json:"recent_ms"`
		}
		Total, Window int
	}
	a = s.As(s.viewer).Do(http.MethodGet, "/v1/tasks?window=1000", nil)
	if a.JSON(t, &tasks); tasks.Total != 2 || tasks.Window != 100 || tasks.Tasks[0].Runs != 3 ||
		len(tasks.Tasks[0].Recent) != 3 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// refused sends requests that are answered with faults.
func (s *results) refused(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{
		"/v1/fleet?window=x": "window", "/v1/fleet?limit=-1": "limit", "/v1/fleet?offset=1.5": "offset",
		"/v1/fleet?no=1": "no", "/v1/tasks?q=" + strings.Repeat("q", 256): "q", "/v1/hosts/web-1?limit=1": "limit",
		"/v1/hosts/web-1/runs?window=1": "window",
	} {
		a := s.Do(http.MethodGet, path, nil)
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), want) {
			t.Errorf("%.40s: %d %s", path, a.Status, a.Body)
		}
		if a := s.As("").Do(http.MethodGet, path, nil); a.Status != http.StatusUnauthorized {
			t.Errorf("%.40s without a token: %d", path, a.Status)
		}
	}
	for _, path := range []string{"/v1/hosts/hidden", "/v1/hosts/hidden/runs", "/v1/hosts/web-3", "/v1/hosts/%2e%2e"} {
		var missing struct {
			Reason string
			Near   []string
		}
		a := s.As(s.viewer).Do(http.MethodGet, path, nil)
		if a.JSON(t, &missing); a.Status != http.StatusNotFound || missing.Reason != "host_not_found" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		near := fmt.Sprint(missing.Near)
		if strings.Contains(near, "hidden") || strings.HasSuffix(path, "3") && near != "[web-1 web-2]" {
			t.Errorf("%s is near %s", path, near)
		}
	}
}

// commands reads the same with the command line.
func (s *results) commands(t *testing.T) {
	t.Helper()
	command := func(args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), harness.Binary(t), args...)
		c.Env = append(os.Environ(), "WRIT_SERVER="+s.URL, "WRIT_TOKEN="+s.viewer)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"hosts", "-q", "web", "--window", "3"}, "2 flaky"}, {[]string{"hosts", "--json"}, `"total": 5`},
		{[]string{"host", "web-1"}, "after 1 failed run."}, {[]string{"host", "a/b%2Fc"}, "each of its newest runs: 3."},
		{[]string{"host", "web-1", "--json"}, `"last_outcome": "ok"`},
	} {
		if out, err := command(c.args...); err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%q: %v\n%s", c.args, err, out)
		}
	}
	if out, err := command("host", "web-9"); err == nil || !strings.Contains(out, "similar names: web-1, web-2") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestKilledBeforeTheResults kills the server when runs have ended, and counts each of them once.
func TestKilledBeforeTheResults(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		s := newResults(t, db)
		for n := 1; n <= 3; n++ {
			s.runs("default", "", "web-1:web-2")
			s.Kill()
			s.Server = s.Again()
			harness.Eventually(t, limit, "the results", func() bool {
				by, _ := fleet(t, s.Client, "")
				return by["web-1"].Total == n && by["web-2"].Total == n
			})
		}
	})
}
