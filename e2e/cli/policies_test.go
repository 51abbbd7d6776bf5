package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestSimulatePolicies tries the policies of a file on a run, as text and as JSON, and names a wrong time.
func TestSimulatePolicies(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	id := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "echo once"}).ID).ID
	file := filepath.Join(t.TempDir(), "policies.yaml")
	text := "policies:\n- {name: scripts, effect: deny, match: {command_contains: echo}}\n" +
		"- {name: playbooks, effect: require_approval, match: {tools: [ansible]}}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := u.do("policy", "simulate", file)
	for _, want := range []string{"scripts: of 1 runs it would have held 0 and denied 1\n", "  actor usr_", ": 1\n",
		"  such as " + id + "\n", "playbooks: of 1 runs it would have held 0 and denied 0\n"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d, %s%s lacks %q", code, out, errs, want)
		}
	}
	code, out, errs = u.do("policy", "simulate", file, "--json", "--from", "2020-01-01", "--to", "2020-02-01T00:00:00Z")
	if code != 0 || strings.Count(out, `"scanned": 0`) != 2 || !strings.Contains(out, `"name": "scripts"`) {
		t.Errorf("%d, %s%s", code, out, errs)
	}
	if code, _, errs := u.do("policy", "simulate", file, "--from", "soon"); code != 2 ||
		!strings.Contains(errs, "--from: expected a date") {
		t.Errorf("%d, %s", code, errs)
	}
	if code, out, errs := u.do("policy", "list"); code != 0 || out != "" || !strings.Contains(errs, "no policies") {
		t.Errorf("%d, %s%s", code, out, errs)
	}
}
