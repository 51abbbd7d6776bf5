// Package cli tests the client commands as users run them: the real binary, on a terminal and without one, against a
// real server.
package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// waitTimeout bounds every wait. The example playbook takes over two minutes on a machine with much other work.
const waitTimeout = 5 * time.Minute

// user runs commands with WRIT_SERVER and WRIT_TOKEN set.
type user struct {
	t   *testing.T
	url string
	env []string
}

func userOf(t *testing.T, s *harness.Server, env ...string) user {
	t.Helper()
	return user{t: t, url: s.URL, env: append([]string{"WRIT_TOKEN=" + s.Token}, env...)}
}

// screenText collects what a command prints while the test reads it.
type screenText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screenText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screenText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// process is a running command.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *screenText
	done     chan struct{}
	keys     io.Writer // of a terminal
}

func (u user) command(args ...string) *exec.Cmd {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), harness.Binary(u.t), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "WRIT_SERVER=" + u.url}, u.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start starts a command whose output is not a terminal.
func (u user) start(args ...string) *process {
	u.t.Helper()
	return u.run(u.command(args...))
}

// run starts a prepared command.
func (u user) run(cmd *exec.Cmd) *process {
	u.t.Helper()
	p := &process{t: u.t, cmd: cmd, out: &screenText{}, err: &screenText{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	if err := p.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is in the state
		close(p.done)
	}()
	u.t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.done })
	return p
}

// do runs a command to its end.
func (u user) do(args ...string) (code int, out, errs string) {
	u.t.Helper()
	p := u.start(args...)
	return p.end(), p.out.String(), p.err.String()
}

// end waits for the command's end and returns its exit code.
func (p *process) end() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(waitTimeout):
		p.t.Fatalf("it does not end\n%s\n%s", p.out, p.err)
		return -1
	}
}

// shows waits until the command has printed a text.
func (p *process) shows(where *screenText, text string) {
	p.t.Helper()
	for deadline := time.Now().Add(waitTimeout); !strings.Contains(where.String(), text); {
		if time.Now().After(deadline) {
			p.t.Fatalf("%q is not in\n%s\n%s", text, p.out, p.err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// submit submits a run without following it and returns its id.
func (u user) submit(args ...string) string {
	u.t.Helper()
	code, out, errs := u.do(append([]string{"run"}, args...)...)
	if code != 0 || errs != "" || !strings.HasPrefix(out, "run_") || strings.Count(out, "\n") != 1 {
		u.t.Fatalf("run %v: exit %d, %q, %q", args, code, out, errs)
	}
	return strings.TrimSpace(out)
}

// site copies the example playbook and returns the flags that run it on hosts below the test's own directory.
func site(t *testing.T) []string {
	t.Helper()
	dir := harness.Shared(t)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "docs", "examples", "site"))); err != nil {
		t.Fatal(err)
	}
	return []string{"--playbook", filepath.Join(dir, "site.yml"), "--inventory", filepath.Join(dir, "hosts.ini"),
		"--extra-var", "site_base=" + filepath.Join(dir, "base")}
}

// firstRun returns the id of the newest run.
func firstRun(t *testing.T, s *harness.Server) string {
	t.Helper()
	rows, _ := s.Runs("limit=1")
	if len(rows) != 1 {
		t.Fatal("there is no run")
	}
	return rows[0].ID
}
