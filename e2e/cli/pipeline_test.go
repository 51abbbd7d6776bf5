package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// pipelineFile writes the file of a pipeline.
func pipelineFile(t *testing.T, steps string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipeline.yaml")
	if err := os.WriteFile(name, []byte("name: release\nqueue: default\nsteps:\n"+steps), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// idOf returns the id of the run that a line of a command is about.
func idOf(t *testing.T, out, line string) string {
	t.Helper()
	m := regexp.MustCompile(line).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no %s in\n%s", line, out)
	}
	return m[1]
}

// TestFollowsAPipeline follows a pipeline of which two steps run at once, one is held until somebody approves it, and
// one is skipped; and reads its output afterwards.
func TestFollowsAPipeline(t *testing.T) {
	t.Parallel()
	u := userOf(t, harness.Start(t, harness.Options{}))
	p := u.start("pipeline", "submit", "--follow", pipelineFile(t, `
  - {name: left, tool: bash, command: "echo from the left"}
  - {name: right, tool: bash, command: "echo from the right; printf unfinished"}
  - {name: gate, tool: bash, command: "echo released; exit 3", depends_on: [left, right], require_approval: true}
  - {name: after, tool: bash, command: "true", depends_on: [gate]}
`))
	p.shows(p.out, "an administrator approves or rejects the run")
	held := idOf(t, p.out.String(), `(?m)^gate  \| ○ run_\w+ is held by .*: writ approve (run_\w+)$`)
	if code, _, errs := u.do("approve", held); code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	code := p.end()
	out := p.out.String()
	for _, want := range []string{
		`(?m)^left  \| from the left$`, `(?m)^left  \| ✓ run_\w+ succeeded in `,
		`(?m)^right \| from the right$`, `(?m)^right \| unfinished$`, `(?m)^gate  \| released$`,
		`(?m)^gate  \| ✗ run_\w+ failed in .*exit code 3`,
		`(?m)^○ step after skipped: step "gate", which it depends on, ended as failed$`,
		`(?m)^STEP +STATUS +TOOK +HOSTS +ID$`, `(?m)^after +skipped +- +-$`, `(?m)^✗ run_\w+ failed in .*step "gate" failed`,
	} {
		if n := len(regexp.MustCompile(want).FindAllString(out, -1)); n != 1 {
			t.Errorf("exit %d, %d times %s in\n%s%s", code, n, want, out, p.err)
		}
	}
	if code != 1 || p.err.String() != "" {
		t.Errorf("exit %d, %s", code, p.err)
	}
	id := idOf(t, out, `(?m)^✗ (run_\w+) failed`)
	if code, out, errs := u.do("logs", id); code != 0 ||
		out != "left  | from the left\nright | from the right\nright | unfinished\ngate  | released\n" {
		t.Errorf("logs: exit %d, %q, %q", code, out, errs)
	}
	if code, out, _ := u.do("logs", id, "--step", "right"); code != 0 || out != "from the right\nunfinished" {
		t.Errorf("--step: exit %d, %q", code, out)
	}
	if code, out, _ := u.do("logs", id, "--find", "from the"); code != 0 ||
		out != "left  | 1: from the left\nright | 1: from the right\n" {
		t.Errorf("--find: exit %d, %q", code, out)
	}
}

// TestServerRestartsWhileFollowingAPipeline kills the server while two steps of a pipeline are followed. The next one
// reports how both ended, and every line of theirs came once.
func TestServerRestartsWhileFollowingAPipeline(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	x := newLine(t, host(s))
	u := userOf(t, s)
	u.url = "http://" + x.l.Addr().String()
	steps := pipelineFile(t, `
  - {name: a, tool: bash, command: "echo begun a; sleep 600", depends_on: []}
  - {name: b, tool: bash, command: "echo begun b; sleep 600", depends_on: []}
  - {name: c, tool: bash, command: "true", depends_on: [a, b]}
`)
	for _, args := range [][]string{{"pipeline", "submit", "--follow", steps}, nil} {
		if args == nil {
			args = []string{"logs", "-f", "latest"}
			u.submitPipeline(steps)
		}
		p := u.start(args...)
		p.shows(p.out, "a | begun a\n")
		p.shows(p.out, "b | begun b\n")
		s.Kill()
		p.shows(p.err, "the connection is lost, trying again")
		s = s.Again()
		x.cut(host(s))
		code := p.end()
		if code != 1 || strings.Count(p.err.String(), "connected again") != 1 ||
			strings.Count(p.err.String(), "is lost") != 1 ||
			strings.Count(p.out.String(), "begun a") != 1 || strings.Count(p.out.String(), "begun b") != 1 {
			t.Errorf("%v: exit %d, %s\n%s", args, code, p.out, p.err)
		}
		if args[0] == "pipeline" && len(regexp.MustCompile(`(?m)^[ab] \| ! run_\w+ interrupted`).
			FindAllString(p.out.String(), -1)) != 2 {
			t.Errorf("the ends of the steps: %s\n%s", p.out, p.err)
		}
	}
}

func (u user) submitPipeline(file string) {
	u.t.Helper()
	if code, out, errs := u.do("pipeline", "submit", file); code != 0 || !strings.HasPrefix(out, "run_") {
		u.t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
}

// TestWaitsAreExplained follows a run that waits for a lock, and tells each reason once.
func TestWaitsAreExplained(t *testing.T) {
	t.Parallel()
	u := userOf(t, harness.Start(t, harness.Options{}))
	gate := filepath.Join(harness.Shared(t), "gate")
	first := u.start("run", "--tool", "bash", "--lock", "db", "--follow", "--command",
		fmt.Sprintf("echo begun; until [ -e %s ]; do sleep 0.05; done", gate))
	first.shows(first.out, "begun\n")
	p := u.start("run", "--tool", "bash", "--lock", "db", "--follow", "--command", "echo mine")
	p.shows(p.out, `has or waits for the lock "db"`)
	list := u.start("watch")
	if code := list.end(); code != 0 || !strings.HasPrefix(list.out.String(), "1 running, 1 waiting, 0 held\n") {
		t.Errorf("watch: exit %d, %s", code, list.out)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := p.end(); code != 0 || strings.Count(p.out.String(), "the lock") != 1 ||
		!regexp.MustCompile(`(?m)^  run run_\w+ ends, then this one is next$`).MatchString(p.out.String()) ||
		!strings.Contains(p.out.String(), "mine\n✓ ") {
		t.Errorf("exit %d, %s%s", code, p.out, p.err)
	}
	if code := first.end(); code != 0 {
		t.Errorf("exit %d, %s", code, first.out)
	}
}
