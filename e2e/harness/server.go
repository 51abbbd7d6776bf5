package harness

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options of a server under test. The zero value is SQLite in a fresh directory, everything at its default.
type Options struct {
	DB    string      // a postgres:// address; empty is SQLite below Dir
	Dir   string      // the server's directory, kept over restarts; empty makes one
	Flags []string    // more flags of serve
	Env   []string    // more environment, KEY=value
	Tags  []string    // build tags, or Release
	Main  string      // the import path of another main that calls cli.Execute; empty is the stock binary
	Admin string      // the admin token of an earlier start
	TLS   *tls.Config // what clients trust; the server was given a certificate by Flags
	Wrap  []string    // a program, with its arguments, that turns itself into the server, such as prlimit
}

// Server is one running writ process.
type Server struct {
	Client
	Options
	PID  int
	t    testing.TB
	cmd  *exec.Cmd
	out  *lockedBuffer
	done chan struct{}
	err  error
}

// lockedBuffer collects a process's output, capped, while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const outputCap = 8 << 20

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() < outputCap {
		l.b.Write(p)
	}
	return len(p), nil
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Start starts a server and waits until it is ready. The test's end stops it.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Launch(t, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s
}

// Launch is Start for tests that expect the server not to come up.
func Launch(t testing.TB, o Options) (*Server, error) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.DB == "" {
		o.DB = filepath.Join(o.Dir, "writ.db")
	}
	// Port 0, read back from what the server says of itself: a port that was picked beforehand may be another server's by now.
	args := append([]string{"serve", "--addr", "127.0.0.1:0", "--db", o.DB, "--data-dir", filepath.Join(o.Dir, "data")}, o.Flags...)
	line := append(append(slices.Clone(o.Wrap), BinaryOf(t, o.Main, o.Tags...)), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.Dir = o.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	s := &Server{Options: o, t: t, cmd: cmd, out: &lockedBuffer{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = s.out, s.out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start writ: %w", err)
	}
	s.PID = cmd.Process.Pid
	go func() {
		s.err = cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(func() { s.cleanup() })
	s.Client = Client{Token: o.Admin, t: t}
	if o.TLS != nil {
		transport := &http.Transport{TLSClientConfig: o.TLS, ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		s.Via = &http.Client{Transport: transport}
	}
	if err := s.waitReady(60 * time.Second); err != nil {
		return s, err
	}
	if s.Token == "" {
		s.Token = tokenForm.FindString(s.Output())
		s.Admin = s.Token
	}
	return s, nil
}

var readyForm = regexp.MustCompile(`msg=ready address=(https?://[^\s]+)`)

var tokenForm = regexp.MustCompile(`writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}`)

// Output returns what the process printed so far.
func (s *Server) Output() string { return s.out.String() }

func (s *Server) waitReady(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		select {
		case <-s.done:
			return fmt.Errorf("writ ended before it was ready: %w\n%s", errors.Join(s.err, errors.New("exit")), s.Output())
		case <-time.After(10 * time.Millisecond):
		}
		said := readyForm.FindStringSubmatch(s.Output())
		if said == nil {
			continue
		}
		s.URL = said[1]
		resp, err := s.via().Get(s.URL + "/readyz")
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("writ was not ready in %s\n%s", limit, s.Output())
}

// Kill ends the process with SIGKILL and waits for it.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatalf("kill: %v", err)
	}
	<-s.done
}

// Signal sends a signal to the process.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signal: %v", err)
	}
}

// Wait waits for the process's end and returns its exit code.
func (s *Server) Wait(limit time.Duration) int {
	s.t.Helper()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		s.t.Fatalf("writ did not end in %s\n%s", limit, s.Output())
		return -1
	}
}

// Stop drains the server with SIGTERM and waits for its end.
func (s *Server) Stop() int {
	s.t.Helper()
	s.Signal(syscall.SIGTERM)
	return s.Wait(90 * time.Second)
}

// Again starts another process over the same directory and database.
func (s *Server) Again() *Server {
	s.t.Helper()
	return Start(s.t, s.Options)
}

func (s *Server) cleanup() {
	select {
	case <-s.done:
	default:
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.done:
		case <-time.After(20 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.done
		}
	}
	if s.t.Failed() {
		s.t.Logf("server output:\n%s", tail(s.Output(), 16<<10))
	}
	if bytes.Contains([]byte(s.Output()), []byte("WARNING: DATA RACE")) {
		s.t.Errorf("the server raced:\n%s", tail(s.Output(), 32<<10))
	}
}

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}
