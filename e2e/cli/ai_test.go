package cli

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestAdvice asks a language model: advice is printed alone, a proposal as the run that it became.
func TestAdvice(t *testing.T) {
	t.Parallel()
	m := harness.NewModel(t)
	s := harness.Start(t, harness.Options{Flags: m.Flags()})
	u := userOf(t, s)
	id := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "exit 3"}).ID).ID
	m.Say("set -e\necho\x1b[31m hello\n")
	for _, args := range [][]string{
		{"run", "explain", id}, {"ai", "ask", "--question", "Which?"},
		{"ai", "draft", "--tool", "bash", "--description", "x"},
	} {
		code, out, errs := u.do(args...)
		if code != 0 || out != "set -e\necho[31m hello\n" {
			t.Errorf("%v: %d, %q%s", args, code, out, errs)
		}
		if code, out, errs = u.do(append(args, "--json")...); code != 0 || !strings.Contains(out, `"provider": "ollama"`) {
			t.Errorf("%v: %d, %q%s", args, code, out, errs)
		}
	}
	m.Say(`{"tool": "bash", "command": "true"}`)
	code, out, errs := u.do("ai", "propose", "--request", "do nothing")
	if code != 0 || !strings.Contains(out, "run_") || !strings.Contains(out, "pending_approval") {
		t.Errorf("%d, %s%s", code, out, errs)
	}
	m.Say("no")
	if code, _, errs := u.do("ai", "propose", "--request", "do nothing"); code != 1 ||
		!strings.Contains(errs, "is not one JSON object of a run") {
		t.Errorf("%d, %s", code, errs)
	}
	without := userOf(t, harness.Start(t, harness.Options{}))
	if code, _, errs := without.do("ai", "ask", "--question", "Which?"); code != 1 ||
		!strings.Contains(errs, "has no AI provider") {
		t.Errorf("%d, %s", code, errs)
	}
}
