package scenarios

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// repoFile returns the absolute path of a file of this repository.
func repoFile(t *testing.T, parts ...string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(append([]string{"..", ".."}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFirstRun runs a real playbook against three local hosts, like a new user, and checks all of its results.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		if dbURL != "" && !depthtest.Long {
			return // TestSplit runs plays on it
		}
		s := harness.Start(t, harness.Options{DB: dbURL})
		site := copyTree(t, repoFile(t, "docs", "examples", "site"))
		body := harness.Body{"playbook": filepath.Join(site, "site.yml"), "inventory": filepath.Join(site, "hosts.ini"),
			"name": "newcomer", "labels": map[string]string{"team": "web"}, "change": "CHG-1"}
		if !depthtest.Long {
			body["tags"] = []string{"always"} // the whole of it is run by e2e/cli
		}
		r := s.Submit(body)
		if r.Status != "pending" || r.Tool != "ansible" || r.Kind != "single" || r.Source != "api" {
			t.Fatalf("submitted as %+v", r)
		}
		r = s.Await(r.ID)
		if r.Status != "succeeded" || r.ExitCode == nil || *r.ExitCode != 0 {
			t.Fatalf("ended as %+v\n%s", r, s.Log(r.ID))
		}
		if r.HostsTouched == nil || *r.HostsTouched != 3 {
			t.Errorf("hosts touched: %+v", r.HostsTouched)
		}
		if log := s.Log(r.ID); !strings.Contains(log, "PLAY RECAP") {
			t.Errorf("the log has no recap:\n%s", log)
		}
		checkJournal(t, s.Client, r)
		for name, h := range s.Hosts(r.ID) {
			if h.OK == 0 || h.Failed != 0 {
				t.Errorf("host %s: %+v", name, h)
			}
		}
		quietSuccesses(t, s, dbURL == "" || depthtest.Long) // what a playbook does depends on no database
	})
}

// checkJournal compares a run's events with its record: they are complete, in order, and begin and end with a status.
func checkJournal(t *testing.T, c harness.Client, r harness.Run) {
	t.Helper()
	events := c.Events(r.ID)
	if int64(len(events)) != r.EventCount {
		t.Errorf("run %s: %d events, the record counts %d", r.ID, len(events), r.EventCount)
	}
	if len(events) < 2 {
		t.Fatalf("run %s has %d events", r.ID, len(events))
	}
	first, last := events[0], events[len(events)-1]
	if first.Type != "status" || first.From != "pending" || first.To != "running" {
		t.Errorf("first event: %+v", first)
	}
	if last.Type != "status" || last.From != "running" || last.To != r.Status {
		t.Errorf("last event: %+v", last)
	}
}

// TestAnonymous checks that only the public routes answer without a token.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/metrics": 200, "/openapi.json": 200, "/openapi.yaml": 200, "/docs": 200,
		"/ui/":     200,
		"/v1/runs": 401, "/v1/runs/run_01": 401, "/v1/nothing": 404,
	} {
		if a := s.As("").Do(http.MethodGet, path, nil); a.Status != want {
			t.Errorf("GET %s: %d, want %d", path, a.Status, want)
		}
	}
	a := s.As("").Do(http.MethodPost, "/v1/runs", "{not json")
	if a.Status != 401 || a.Header.Get("Www-Authenticate") != "Bearer" {
		t.Errorf("anonymous submit: %d %q", a.Status, a.Header.Get("Www-Authenticate"))
	}
}

// copyTree copies a directory into a temporary one, so that runs do not write into the repository.
func copyTree(t *testing.T, from string) string {
	t.Helper()
	to := harness.Shared(t)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}
