package faults

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// crash is the n-th pass through a point, at which a server dies.
type crash struct {
	point string
	pass  int
}

func (c crash) String() string { return fmt.Sprintf("%s-%d", c.point, c.pass) }

// TestCrashOfAPipeline kills the server between the steps of a pipeline and before and after each commit: every step
// starts at most once and the pipeline ends.
// Keeps F32.
func TestCrashOfAPipeline(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		cases := []crash{{"after-claim", 2}, {"before-finish", 1}, {"after-finish", 1}, {"before-finish", 2},
			{"after-finish", 2}}
		for n := 1; n <= 6; n++ {
			if !depthtest.Long && n%3 != 2 {
				continue
			}
			cases = append(cases, crash{"unit-before-commit", n}, crash{"unit-after-commit", n})
		}
		admin := ""
		for _, c := range cases {
			tr := newTrap(t, dbURL, c.point, "--executors", "2")
			h := harness.NewHistory(t)
			s := tr.start(&admin)
			step := func(name string) harness.Body {
				return harness.Body{"name": name, "tool": "bash", "command": "echo " + name + "; " + h.Note()}
			}
			body := harness.Body{"name": "p", "steps": []harness.Body{step("one"), step("two")}}
			tr.set(c.pass)
			_, _, err := h.Post(s.Client, "/v1/pipelines", body, "Idempotency-Key", c.String())
			s.Wait(time.Minute)
			s = tr.release(s)
			if err != nil {
				if _, a, err := h.Post(s.Client, "/v1/pipelines", body, "Idempotency-Key", c.String()); err != nil ||
					a.Status != 201 {
					t.Fatalf("%s: again: %v %d", c, err, a.Status)
				}
			}
			checkSteps(t, c, h, s)
			s.Stop()
		}
	})
}

// checkSteps checks that the steps of a history's only pipeline are in a state that a crash may leave.
func checkSteps(t *testing.T, c crash, h *harness.History, s *harness.Server) {
	t.Helper()
	p := h.Check(s.Client)[0]
	var made struct {
		Steps []harness.Run `json:"steps"`
	}
	s.Do(http.MethodGet, "/v1/runs/"+p.ID+"/steps", nil).JSON(t, &made)
	seen := map[string]string{}
	for _, r := range made.Steps {
		if seen[r.StepName] != "" {
			t.Errorf("%s: step %s was made twice", c, r.StepName)
		}
		seen[r.StepName] = r.Status
		if n := h.Starts(r.ID); n > 1 || r.Status == "succeeded" && n != 1 {
			t.Errorf("%s: step %s is %s and started %d times", c, r.StepName, r.Status, n)
		}
	}
	switch p.Status {
	case "succeeded":
		if seen["one"] != "succeeded" || seen["two"] != "succeeded" {
			t.Errorf("%s: succeeded with %v", c, seen)
		}
	case "interrupted":
		// A step that had begun is not executed again, and no later step is executed.
		if seen["one"] != "interrupted" && seen["two"] != "interrupted" || seen["one"] == "interrupted" && seen["two"] != "" {
			t.Errorf("%s: interrupted with %v", c, seen)
		}
		if c.point[:5] != "unit-" {
			t.Errorf("%s: nothing was running", c)
		}
	default:
		t.Errorf("%s: the pipeline is %s (%s)", c, p.Status, p.Error)
	}
}

// TestCrashOfASplit kills the server that divides a run, or ends one of its shards. Another server over the same
// database, or the restarted one, ends every shard and rolls them up once.
// Keeps F33.
func TestCrashOfASplit(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		playbook, inventory, starts := splitPlay(t)
		body := harness.Body{"playbook": playbook, "inventory": inventory, "shards": 2}
		admin := ""
		cases := []crash{{"unit-after-commit", 3}, {"after-finish", 1}, {"after-claim", 1}, {"unit-before-commit", 2},
			{"before-finish", 2}}
		cases = cases[:depthtest.Of(2, len(cases))]
		for i, c := range cases {
			tr := newTrap(t, dbURL, c.point, "--executors", "1")
			s := tr.start(&admin)
			h := harness.NewHistory(t)
			tr.set(c.pass)
			_, _, _ = h.Submit(s.Client, body, "Idempotency-Key", c.String()) // the answer may be lost with the server
			s.Wait(5 * time.Minute)                                           // playbooks start slowly beside other tests
			if dbURL != "" && c.point == "after-finish" {
				s = harness.Start(t, harness.Options{DB: dbURL, Admin: s.Admin}) // another server
			} else {
				s = tr.release(s)
			}
			h.Insist(s.Client, body, c.String())
			if r := h.Check(s.Client)[0]; r.Status != "succeeded" || r.HostsTouched == nil || *r.HostsTouched != 4 {
				t.Errorf("%s: %s (%s), touched %v\n%s", c, r.Status, r.Error, r.HostsTouched, s.Output())
			}
			s.Stop()
			if got := countLines(t, starts); got != 4*(i+1) {
				t.Errorf("%s: %d hosts were worked on, want %d", c, got, 4*(i+1))
			}
		}
	})
}

// splitPlay writes a playbook that records each host, and an inventory of four hosts.
func splitPlay(t *testing.T) (playbook, inventory, starts string) {
	t.Helper()
	dir := harness.Shared(t)
	playbook, inventory, starts = filepath.Join(dir, "play.yml"), filepath.Join(dir, "hosts.ini"), harness.SharedFile(t)
	for name, text := range map[string]string{
		playbook: "- hosts: all\n  gather_facts: false\n  tasks:\n" +
			"    - ansible.builtin.raw: echo {{ inventory_hostname }} >> " + starts + "\n",
		inventory: "h1\nh2\nh3\nh4\n[all:vars]\nansible_connection=local\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return playbook, inventory, starts
}
