package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/system"
)

// TestDrift lists what a dry run found and what it checked, and repairs it by a held run.
func TestDrift(t *testing.T) {
	t.Parallel()
	dir := harness.Shared(t)
	missing := filepath.Join(dir, "missing")
	for name, text := range map[string]string{
		"licence": string(harness.Licence(t, system.Team, time.Hour)),
		"hosts":   "web1 ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n",
		"site.yml": "- hosts: all\n  gather_facts: false\n  tasks:\n    - name: Notice\n      copy: {content: x, dest: '" +
			missing + "'}\n    - command: 'true'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := harness.Start(t, harness.Options{Flags: []string{"--license", filepath.Join(dir, "licence")}})
	u := userOf(t, s)
	do := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := u.do(args...)
		if code != want {
			t.Fatalf("%q: %d, %s%s", args, code, out, errs)
		}
		return out + errs
	}
	dry := s.Await(s.Submit(harness.Body{"playbook": filepath.Join(dir, "site.yml"),
		"inventory": filepath.Join(dir, "hosts"), "dry_run": true}).ID)
	if dry.Status != "succeeded" {
		t.Fatalf("%s\n%s", dry.Status, s.Log(dry.ID))
	}
	var out string
	harness.Eventually(t, time.Minute, "drift", func() bool {
		out = do(0, "drift")
		return strings.Contains(out, "RESOURCE")
	})
	var got []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if n := len(fields); n > 1 {
			got = append(got, strings.Join(fields[:n-1], " ")) // without the age
		}
	}
	want := "HOST RESOURCE TASKS CONFIDENCE; web1 copy " + missing + " Notice diff; " +
		"HOST CHECKED DRIFTED UNKNOWN; web1 1 1 1"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	id, _, held := strings.Cut(do(0, "drift", "reconcile", "web1"), " is held; ")
	if !held || !strings.HasPrefix(id, "run_") {
		t.Fatalf("the run is %q", id)
	}
	if again := do(1, "drift", "reconcile", "web1"); !strings.Contains(again, id) {
		t.Errorf("a second one: %s", again)
	}
	do(0, "approve", id)
	if r := s.Await(id); r.Status != "succeeded" {
		t.Fatalf("%s\n%s", r.Status, s.Log(id))
	}
	harness.Eventually(t, time.Minute, "the repair", func() bool {
		return !strings.Contains(do(0, "drift"), "RESOURCE")
	})
}
