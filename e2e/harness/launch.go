package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a running writ.
type Process struct {
	PID  int
	t    testing.TB
	what string
	cmd  *exec.Cmd
	out  *lockedBuffer
	done chan struct{}
	err  error
}

// launch starts a command line. The test's end stops it.
func launch(t testing.TB, what, dir string, env, line []string) (*Process, error) {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = dir
	// In a session of its own, as a service has it, the kernel gives it a share of its own beside runs and compilers.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	p := &Process{t: t, what: what, cmd: cmd, out: &lockedBuffer{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.out, p.out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start writ: %w", err)
	}
	p.PID = cmd.Process.Pid
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.cleanup)
	return p, nil
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

// Output returns what the process printed so far.
func (p *Process) Output() string { return p.out.String() }

// Kill ends the process with SIGKILL and waits for it.
func (p *Process) Kill() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatalf("kill: %v", err)
	}
	<-p.done
}

// Signal sends a signal to the process.
func (p *Process) Signal(sig os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("signal: %v", err)
	}
}

// Wait waits for the process's end and returns its exit code.
func (p *Process) Wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		p.t.Fatalf("the %s did not end in %s\n%s", p.what, limit, p.Output())
		return -1
	}
}

// Stop drains the process with SIGTERM and waits for its end.
func (p *Process) Stop() int {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	return p.Wait(90 * time.Second)
}

// drainAtEnd is how long a server whose test is over may wait for its runs.
const drainAtEnd = 2 * time.Second

func (p *Process) cleanup() {
	select {
	case <-p.done:
	default:
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(drainAtEnd):
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	}
	if p.t.Failed() {
		p.t.Logf("%s output:\n%s", p.what, tail(p.Output(), 16<<10))
	}
	if bytes.Contains([]byte(p.Output()), []byte("WARNING: DATA RACE")) {
		p.t.Errorf("the %s raced:\n%s", p.what, tail(p.Output(), 32<<10))
	}
}

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}
