package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/depthtest"
)

// asWrit makes the test binary behave as writ: signals and exit codes need a process of their own.
const asWrit = "TEST_AS_WRIT"

func TestMain(m *testing.M) {
	if os.Getenv(asWrit) != "" {
		os.Exit(Execute(nil))
	}
	depthtest.Checks("20", "100") // each draw of a round trip is two servers
	os.Exit(m.Run())
}

// output collects the output of a process while the test reads it.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) { o.mu.Lock(); defer o.mu.Unlock(); return o.b.Write(p) }
func (o *output) String() string              { o.mu.Lock(); defer o.mu.Unlock(); return o.b.String() }

func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asWrit+"=1", "WRIT_DB=install.db")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

type process struct {
	cmd      *exec.Cmd
	out, err output
	url      string
	done     chan struct{}
}

var readyLine = regexp.MustCompile(`msg=ready address=(\S+)`)

func serve(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := spawn(t, command(t, dir, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...))
	p.await(t, "it is ready", func() bool {
		if m := readyLine.FindStringSubmatch(p.err.String()); m != nil {
			p.url = m[1]
		}
		return p.url != ""
	})
	return p
}

// spawn starts a command line, and ends it with the test.
func spawn(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.done })
	return p
}

func (p *process) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-limit:
			t.Fatalf("not in time: %s\n%s", what, p.err.String())
		case <-p.done:
			if ok() {
				return
			}
			t.Fatalf("it ended before %s\n%s", what, p.err.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// token waits for the token of a first start: output and log of a process arrive independently.
func (p *process) token(t *testing.T) string {
	t.Helper()
	p.awaitText(t, &p.out, "\n")
	return tokenForm.FindString(p.out.String())
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(60 * time.Second):
		t.Fatalf("it does not end\n%s", p.err.String())
		return -1
	}
}

// writ runs a command to its end.
func writ(t *testing.T, dir string, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	cmd := command(t, dir, args...)
	cmd.Env = append(cmd.Env, env...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

var tokenForm = regexp.MustCompile(`writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}`)

// TestStartsAndTokens tests an install through all its starts.
func TestStartsAndTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, dir, "--log-level", "debug")
	token := first.token(t)
	if token == "" || strings.Count(first.out.String(), "\n") != 1 {
		t.Fatalf("the first start prints %q", first.out.String())
	}
	env := []string{"WRIT_SERVER=" + first.url, "WRIT_TOKEN=" + token}
	if code, out, errs := writ(t, dir, env, "run", "--tool", "bash", "-c", "echo from the tool; exit 3",
		"--follow"); code != exitFailed ||
		!strings.Contains(out, "from the tool\n") || !strings.Contains(out, "exit code 3") {
		t.Errorf("a failing run: exit %d, %q, %q", code, out, errs)
	}
	if code, out, _ := writ(t, dir, env, "run", "--tool", "bash", "-c", "true", "--follow", "--json"); code != exitDone ||
		!strings.Contains(out, `"succeeded"`) {
		t.Errorf("a good run: exit %d, %q", code, out)
	}
	code, made, _ := writ(t, dir, nil, "token", "new", "--db", "install.db", "--name", "ci", "--expires", "1d",
		"--json")
	var tok madeTokenView
	if err := json.Unmarshal([]byte(made), &tok); err != nil || code != exitDone || !tokenForm.MatchString(tok.Token) ||
		tok.ExpiresAt.IsZero() {
		t.Fatalf("token new: exit %d, %q", code, made)
	}
	_, list, _ := writ(t, dir, nil, "token", "list", "--db", "install.db")
	if !strings.Contains(list, "first start") || !strings.Contains(list, tok.ID) || tokenForm.MatchString(list) {
		t.Errorf("token list: %q", list)
	}
	if code, _, _ := writ(t, dir, []string{"WRIT_SERVER=" + first.url, "WRIT_TOKEN=" + tok.Token},
		"runs"); code != exitDone {
		t.Errorf("the new token: exit %d", code)
	}
	if code, out, _ := writ(t, dir, nil, "token", "revoke", "--yes", "--db", "install.db", tok.ID); code != exitDone ||
		!strings.Contains(out, "revoked") {
		t.Errorf("token revoke: exit %d, %q", code, out)
	}
	if code, _, errs := writ(t, dir, []string{"WRIT_SERVER=" + first.url, "WRIT_TOKEN=" + tok.Token},
		"runs"); code != exitFailed || !strings.Contains(errs, "WRIT_TOKEN") {
		t.Errorf("the revoked token: exit %d, %q", code, errs)
	}
	if code, _, errs := writ(t, dir, nil, "token", "revoke", "--yes", "--db", "install.db", tok.ID); code != exitFailed ||
		errs == "" {
		t.Errorf("revoked again: exit %d, %q", code, errs)
	}
	first.signal(t, syscall.SIGTERM)
	if code := first.exit(t); code != exitDone {
		t.Errorf("a drained server: exit %d\n%s", code, first.err.String())
	}
	if tokenForm.MatchString(first.err.String()) {
		t.Error("the log holds a token")
	}
	second := serve(t, dir)
	if second.out.String() != "" {
		t.Errorf("the second start prints %q", second.out.String())
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve(t, dir)
	if code, out, errs := writ(t, dir, nil, "serve", "--addr", "127.0.0.1:0"); code != exitFailed || out != "" ||
		!strings.Contains(errs, "another writ process uses") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

// TestOpenServer prints no token and answers any client on this machine.
func TestOpenServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir, "--open")
	if p.out.String() != "" {
		t.Errorf("an open start prints %q", p.out.String())
	}
	if code, _, errs := writ(t, dir, []string{"WRIT_SERVER=" + p.url, "WRIT_TOKEN="}, "runs"); code != exitDone {
		t.Errorf("exit %d, %q", code, errs)
	}
	p.signal(t, syscall.SIGINT)
	if code := p.exit(t); code != exitDone {
		t.Errorf("after an interrupt: exit %d", code)
	}
	closed := serve(t, dir)
	if closed.out.String() != "" || !strings.Contains(closed.err.String(), "writ token reset-admin") {
		t.Errorf("the next start with tokens: %q, %q", closed.out.String(), closed.err.String())
	}
}

// sharedDir returns a directory of the test that every account may write. Runs see it if the server shows it.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "writ-cli-")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestSecondSignal ends a draining server at once and leaves its run to the next start.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shared := sharedDir(t)
	p := serve(t, dir, "--drain-timeout", "10m", "--isolation-show", shared+":rw")
	env := []string{"WRIT_SERVER=" + p.url, "WRIT_TOKEN=" + p.token(t)}
	mark := filepath.Join(shared, "mark")
	code, id, errs := writ(t, dir, env, "run", "--tool", "bash", "-c", "touch "+mark+"; sleep 600")
	if code != exitDone {
		t.Fatalf("exit %d, %q", code, errs)
	}
	p.await(t, "the run runs", func() bool { _, err := os.Stat(mark); return err == nil })
	p.signal(t, syscall.SIGTERM)
	p.await(t, "it drains", func() bool { return strings.Contains(p.err.String(), "msg=draining") })
	p.await(t, "the address is free", func() bool {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	select {
	case <-p.done:
		t.Fatal("it did not wait for its run")
	default:
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != exitFailed || !strings.Contains(p.err.String(), "stopping at once") {
		t.Errorf("exit %d\n%s", code, p.err.String())
	}
	again := serve(t, dir)
	env[0] = "WRIT_SERVER=" + again.url
	again.await(t, "the run is told as interrupted", func() bool {
		_, out, _ := writ(t, dir, env, "runs", strings.TrimSpace(id))
		return strings.Contains(out, "interrupted")
	})
}

// TestFollowThroughADrain follows a run whose server stops: the end arrives before the connection closes.
func TestFollowThroughADrain(t *testing.T) {
	t.Parallel()
	dir, shared := t.TempDir(), sharedDir(t)
	p := serve(t, dir, "--isolation-show", shared+":rw")
	env := []string{"WRIT_SERVER=" + p.url, "WRIT_TOKEN=" + p.token(t)}
	mark := filepath.Join(shared, "mark")
	cmd := command(t, dir, "run", "--tool", "bash", "-c",
		"echo the first line; touch "+mark+"; sleep 1; echo the last line", "--follow", "--log")
	cmd.Env = append(cmd.Env, env...)
	var out output
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.await(t, "the run runs", func() bool { _, err := os.Stat(mark); return err == nil })
	p.awaitText(t, &out, "the first line") // a server that drains accepts no new followers
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
	p.awaitText(t, &out, "the last line")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func (p *process) awaitText(t *testing.T, o *output, text string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(o.String(), text); {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not in %q", text, o.String())
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestReadiness shows the health routes of a running server.
func TestReadiness(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	for _, path := range []string{"/healthz", "/readyz"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}
