package scenarios

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestAnswers checks what the server answers about hosts that are fine, hosts outside of a limit, queues that nobody
// serves, search terms and dry runs.
func TestAnswers(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		compared(t, s)
		unserved(t, s)
		searched(t, s)
		executedDry(t, s)
	})
}

// made posts an object and returns its id.
func made(t *testing.T, s *harness.Server, path string, body harness.Body) string {
	t.Helper()
	var out struct {
		ID string `json:"id"`
	}
	a := s.Do(http.MethodPost, path, body)
	if a.JSON(t, &out); a.Status != http.StatusCreated {
		t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	return out.ID
}

// compared compares a run of all hosts, one of which is never ok, with a run of one host and with a relaunch.
func compared(t *testing.T, s *harness.Server) {
	t.Helper()
	local := " ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n"
	inventory := made(t, s, "/v1/inventories", harness.Body{"name": "compared",
		"content": "[web]\na" + local + "b" + local + "[db]\nc" + local})
	playbook := filepath.Join(harness.Shared(t), "compared.yml")
	if err := os.WriteFile(playbook, []byte(`- hosts: all
  gather_facts: false
  tasks:
    - {debug: {msg: x}, when: inventory_hostname != 'b'}
    - {fail: {msg: on purpose}, ignore_errors: true}
    - {fail: {msg: broken}, when: inventory_hostname == 'c'}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	body := func(more ...string) harness.Body {
		b := harness.Body{"playbook": playbook, "inventory_id": inventory}
		for i := 0; i+1 < len(more); i += 2 {
			b[more[i]] = more[i+1]
		}
		return b
	}
	all := s.Await(s.Submit(body()).ID)
	if d := cmp.Diff(map[string]int{"ok": 1, "ignored": 1, "failed": 1}, all.Hosts); d != "" {
		t.Errorf("hosts: %s\n%s", d, s.Log(all.ID))
	}
	one := s.Await(s.Submit(body("limit", "web:!b")).ID)
	again := s.Await(s.Act("/v1/runs/" + all.ID + "/relaunch-failed").ID)
	for name, c := range map[string]struct {
		run, with string
		want      map[string]string
		outside   int
	}{
		"limited":  {one.ID, all.ID, map[string]string{"a": "same"}, 2},
		"widened":  {all.ID, one.ID, map[string]string{"a": "same"}, 2},
		"relaunch": {again.ID, all.ID, map[string]string{"c": "still_failing"}, 2},
		"apart":    {again.ID, one.ID, map[string]string{}, 2},
		"the same": {all.ID, all.ID, map[string]string{"a": "same", "b": "same", "c": "still_failing"}, 0},
	} {
		var got struct {
			Hosts []struct{ Host, Verdict string }
			// Outside is a pointer to see that it is always there.
			Outside *int
		}
		s.Do(http.MethodGet, "/v1/runs/"+c.run+"/compare?with="+c.with, nil).JSON(t, &got)
		verdicts := map[string]string{}
		for _, h := range got.Hosts {
			verdicts[h.Host] = h.Verdict
		}
		if d := cmp.Diff(c.want, verdicts); d != "" || got.Outside == nil || *got.Outside != c.outside {
			t.Errorf("%s: %v outside, %s", name, got.Outside, d)
		}
	}
}

// unserved submits runs to a queue that nobody serves, on every way.
func unserved(t *testing.T, s *harness.Server) {
	t.Helper()
	const code = "queue_unserved"
	script := func(queue string) harness.Body {
		return harness.Body{"tool": "bash", "command": "true", "queue": queue}
	}
	template := script("gpu")
	template["name"], template["max_concurrent"] = "unserved", 0
	launched := s.Act("/v1/templates/" + made(t, s, "/v1/templates", template) + "/launch")
	far := s.Submit(script("gpu"))
	for what, r := range map[string]harness.Run{"submission": far, "launch": launched,
		"rerun": s.Act("/v1/runs/" + far.ID + "/rerun")} {
		if r.WarnedTimes(code) != 1 || s.Get(r.ID).WarnedTimes(code) != 1 {
			t.Errorf("%s: %v", what, r.Warnings)
		}
	}
	step := func(name, queue string) harness.Body {
		b := script(queue)
		b["name"] = name
		return b
	}
	var p harness.Run
	s.Do(http.MethodPost, "/v1/pipelines", harness.Body{"steps": []harness.Body{step("near", ""), step("far", "gpu")}}).
		JSON(t, &p)
	if p.WarnedTimes(code) != 1 || !strings.Contains(p.Warnings[0].Message, `"gpu" of the step far`) {
		t.Errorf("pipeline: %v", p.Warnings)
	}
	if near := s.Submit(script("")); near.Warned(code) {
		t.Errorf("the server's own queue: %v", near.Warnings)
	}
}

// searched searches for terms that do not exist, and for templates by name.
func searched(t *testing.T, s *harness.Server) {
	t.Helper()
	for q, want := range map[string]string{"statsu:failed": "Did you mean status:?", "owner:ada": "Terms are status:"} {
		if a := s.Do(http.MethodGet, "/v1/runs?q="+url.QueryEscape(q), nil); a.Status != http.StatusBadRequest ||
			!strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %d %s", q, a.Status, a.Body)
		}
	}
	template := made(t, s, "/v1/templates", harness.Body{"name": "say: hello", "tool": "bash", "command": "echo hello"})
	run := s.Act("/v1/templates/" + template + "/launch")
	for q, want := range map[string]int{`template:"say: hello"`: 1, "template:" + template: 1, "template:none": 0,
		`template:"Say: hello"`: 0, "https://example.org": 0, `"statsu:failed"`: 0, "12:30": 0} {
		rows, total := s.Runs("q=" + url.QueryEscape(q))
		if len(rows) != want || total != want || want == 1 && rows[0].ID != run.ID {
			t.Errorf("%s: %d of %d", q, len(rows), total)
		}
	}
}

// executedDry makes dry runs and real runs of a script that honours WRIT_DRY_RUN, and of one that does not say so.
func executedDry(t *testing.T, s *harness.Server) {
	t.Helper()
	template := harness.Body{"name": "dry", "tool": "bash", "command": "echo dry=${WRIT_DRY_RUN-absent}",
		"allow_overrides": []string{"dry_run"}, "dry_run_executes": true, "max_concurrent": 0}
	executes := "/v1/templates/" + made(t, s, "/v1/templates", template) + "/launch"
	template["name"], template["dry_run_executes"] = "checked", false
	checks := "/v1/templates/" + made(t, s, "/v1/templates", template) + "/launch"
	flow := "/v1/templates/" + made(t, s, "/v1/templates", harness.Body{"name": "flow", "dry_run_executes": true,
		"allow_overrides": []string{"dry_run"},
		"steps":           []harness.Body{{"name": "one", "tool": "bash", "command": template["command"]}}}) + "/launch"
	launch := func(path string, dry bool) harness.Run {
		t.Helper()
		var r harness.Run
		s.Do(http.MethodPost, path, harness.Body{"dry_run": dry}).JSON(t, &r)
		return s.Await(r.ID)
	}
	dry := launch(executes, true)
	logOf := func(r harness.Run) string {
		if r.Kind == "pipeline" {
			return s.Log(r.Steps[0].RunID)
		}
		return s.Log(r.ID)
	}
	for what, c := range map[string]struct {
		run  harness.Run
		want string
	}{
		"dry": {dry, "dry=1\n"}, "dry again": {s.Await(s.Act("/v1/runs/" + dry.ID + "/rerun").ID), "dry=1\n"},
		"real": {launch(executes, false), "dry=absent\n"}, "only checked": {launch(checks, true), ""},
		"workflow": {launch(flow, true), "dry=1\n"}, "real workflow": {launch(flow, false), "dry=absent\n"},
	} {
		if got := logOf(c.run); got != c.want || c.run.Status != "succeeded" {
			t.Errorf("%s: %s, %q", what, c.run.Status, got)
		}
	}
	if a := s.Do(http.MethodGet, "/v1/runs/"+dry.ID, nil); !strings.Contains(string(a.Body), `"dry_run_executes":true`) {
		t.Errorf("%s", a.Body)
	}
	a := s.Do(http.MethodPost, "/v1/templates", harness.Body{"name": "play", "playbook": "site.yml",
		"dry_run_executes": true})
	if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "dry_run_executes") {
		t.Errorf("a playbook: %d %s", a.Status, a.Body)
	}
}
