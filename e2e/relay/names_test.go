package relay

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestNamesAsGiven: two workers of one name, both with the shared token, hold their own runs, and every reader sees the
// name as it was given.
func TestNamesAsGiven(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "", "--worker-queue", "*")
	gate := filepath.Join(harness.Shared(t), "gate")
	var workers []*harness.Worker
	for _, queue := range []string{"a", "b"} {
		workers = append(workers, w.worker("--name", "edge", "--queue", queue))
	}
	held := w.Submit(harness.Body{"tool": "bash", "queue": "a",
		"command": "echo begun; until [ -e " + gate + " ]; do sleep 0.05; done"})
	w.running(held.ID, "begun")
	ended := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "b"}).ID)
	var list struct {
		Workers []struct {
			Name, Kind string
			Queues     []string
		}
	}
	// A worker is reported beside its work, so that a slow report delays no run.
	harness.Eventually(t, time.Minute, "the list has both under the name", func() bool {
		w.Do(http.MethodGet, "/v1/workers", nil).JSON(t, &list)
		shown := map[string]string{}
		for _, x := range list.Workers {
			shown[strings.Join(x.Queues, ",")] = x.Kind + " " + x.Name
		}
		return shown["a"] == "relay edge" && shown["b"] == "relay edge"
	})
	if r := w.Get(held.ID); r.Status != "running" || r.Worker != "edge" || ended.Worker != "edge" {
		t.Errorf("%s by %q, then by %q", r.Status, r.Worker, ended.Worker)
	}
	for path, want := range map[string]string{
		"/v1/runs/" + held.ID + "/why":       `"object":"edge"`,
		"/v1/runs/" + ended.ID + "/evidence": "<dd>edge",
		"/v1/audit?object=" + ended.ID:       `"name":"edge"`,
		"/ui/queues":                         ">edge<",
		"/ui/trust/trail":                    ">edge<",
		"/ui/runs/" + ended.ID + "/evidence": ">edge<",
	} {
		a := w.Do(http.MethodGet, path, nil)
		if text := strings.ReplaceAll(string(a.Body), `": "`, `":"`); a.Status != http.StatusOK ||
			!strings.Contains(text, want) || strings.Contains(text, "edge~") || strings.Contains(text, "relay/edge") {
			t.Errorf("%s lacks %q, or has more than the name: %d\n%.4000s", path, want, a.Status, text)
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.Await(held.ID); r.Status != "succeeded" {
		t.Errorf("the run of the first: %s (%s)", r.Status, r.Error)
	}
	for _, x := range workers {
		if x.Name() != "edge" {
			t.Errorf("a worker says that it is %q", x.Name())
		}
		x.Stop()
	}
	harness.Eventually(t, time.Minute, "the list is empty", func() bool {
		w.Do(http.MethodGet, "/v1/workers", nil).JSON(t, &list)
		for _, x := range list.Workers {
			if x.Kind == "relay" {
				return false
			}
		}
		return true
	})
	for _, line := range []string{`level=INFO msg="worker connected" worker=edge version=`,
		`level=INFO msg="worker left" worker=edge` + "\n"} {
		harness.Eventually(t, time.Minute, "the log says once of each worker: "+line, func() bool {
			return strings.Count(w.Output(), line) == len(workers)
		})
	}
}

// TestDryRunExecutes: over the relay a script that says that it honours dry runs is executed in one, with
// WRIT_DRY_RUN=1; another one is only checked, and a real run has no such variable.
func TestDryRunExecutes(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	w.worker()
	const script = "echo dry=${WRIT_DRY_RUN-absent}"
	for _, c := range []struct {
		name          string
		executes, dry bool
		log           string
		checked       bool
	}{
		{"executed", true, true, "dry=1\n", true}, {"real", true, false, "dry=absent\n", false},
		{"checked", false, true, "", true},
	} {
		body := harness.Body{"name": c.name, "tool": "bash", "command": script, "dry_run_executes": c.executes,
			"allow_overrides": []string{"dry_run"}}
		launch := "/v1/templates/" + w.made("/v1/templates", body) + "/launch"
		id := w.made(launch, harness.Body{"dry_run": c.dry})
		if r := w.Await(id); r.Status != "succeeded" || r.Checked != c.checked || r.Worker == "" || w.Log(id) != c.log {
			t.Errorf("%s: %s (%s), checked %t, by %q: %q", c.name, r.Status, r.Error, r.Checked, r.Worker, w.Log(id))
		}
	}
}
