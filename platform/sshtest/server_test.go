package sshtest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer accepts logins of this process's user, and returns the arguments for ssh.
func newServer(t testing.TB, more ...string) (*sshtest.Server, []string) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "client")
	if err := sshtest.WriteKey(key, "client"); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s := sshtest.New(t, sshtest.Config{Lines: append(more, "AuthorizedKeysFile "+key+".pub")})
	return s, []string{
		"-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=yes",
		"-o", "GlobalKnownHostsFile=none", "-o", "UserKnownHostsFile=" + s.KnownHosts(),
		"-i", key, "-p", strconv.Itoa(s.Port()), "-l", me.Username, "127.0.0.1",
	}
}

// session is an ssh client that runs a command until its input ends.
type session struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func open(t testing.TB, args []string, command string) *session {
	t.Helper()
	s := &session{Cmd: exec.Command("ssh", append(args[:len(args):len(args)], command)...)}
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in, s.out = in, bufio.NewReader(out)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Process.Kill()
		_ = s.Wait()
	})
	return s
}

func (s *session) line(t testing.TB) string {
	t.Helper()
	text, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(text, "\n")
}

func TestTwoLogInAtOnce(t *testing.T) {
	t.Parallel()
	s, args := newServer(t)
	want := fmt.Sprintf("[127.0.0.1]:%d %s", s.Port(), s.PublicKey())
	if known, err := os.ReadFile(s.KnownHosts()); err != nil || string(known) != want {
		t.Errorf("%q, %v", known, err)
	}
	both := []*session{open(t, args, "echo up; exec cat"), open(t, args, "echo up; exec cat")}
	for _, one := range both {
		if got := one.line(t); got != "up" {
			t.Errorf("it says %q", got)
		}
	}
	for i, one := range both {
		if _, err := fmt.Fprintln(one.in, i); err != nil {
			t.Fatal(err)
		}
		if got := one.line(t); got != strconv.Itoa(i) {
			t.Errorf("it says %q, not %d", got, i)
		}
		if err := one.in.Close(); err != nil {
			t.Error(err)
		}
		if err := one.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestNothingIsLeft uses a running session, and a process whose session has ended.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	s, args := newServer(t)
	apart := open(t, args, "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!")
	pids := []string{apart.line(t)}
	if err := apart.Wait(); err != nil {
		t.Fatal(err)
	}
	busy := open(t, args, "echo $$; echo $PPID; exec cat")
	pids = append(pids, busy.line(t), busy.line(t))
	for _, pid := range pids {
		if !runs(t, pid) {
			t.Errorf("process %s does not run before the end", pid)
		}
	}
	address := s.Address().String()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if runs(t, pid) {
			t.Errorf("process %s is left", pid)
		}
	}
	if err := busy.Wait(); err == nil {
		t.Error("a session outlived its server")
	}
	if c, err := net.Dial("tcp", address); err == nil {
		_ = c.Close()
		t.Error("something listens still")
	}
	if err := s.Close(); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

// runs reports whether a process exists and is no zombie.
func runs(t testing.TB, pid string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	return err == nil && !strings.Contains(string(text), "State:\tZ")
}

func TestFreezeAndThaw(t *testing.T) {
	t.Parallel()
	s, args := newServer(t)
	one := open(t, args, "echo up; exec cat")
	one.line(t)
	s.Freeze()
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatalf("a frozen server refuses connections: %v", err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintln(one.in, "still there"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("a frozen server wrote %d bytes", n)
	}
	s.Thaw()
	if got := one.line(t); got != "still there" {
		t.Errorf("a thawed session says %q", got)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if text, err := bufio.NewReader(c).ReadString('-'); err != nil || text != "SSH-" {
		t.Errorf("a thawed server says %q, %v", text, err)
	}
}

// TestCloseWhileFrozen checks that Close ends processes that wait for Thaw.
func TestCloseWhileFrozen(t *testing.T) {
	t.Parallel()
	s, args := newServer(t)
	open(t, args, "echo up; exec cat").line(t)
	s.Freeze()
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// failing is a test that has failed.
type failing struct {
	testing.TB
	ends []func()
	log  strings.Builder
}

func (f *failing) Cleanup(end func())              { f.ends = append(f.ends, end) }
func (f *failing) Failed() bool                    { return true }
func (f *failing) Logf(format string, args ...any) { fmt.Fprintf(&f.log, format, args...) }

func TestAFailedTestShowsTheLog(t *testing.T) {
	t.Parallel()
	f := &failing{TB: t}
	_, args := newServer(f, "NoSuchWord yes")
	if out, err := exec.Command("ssh", append(args, "true")...).CombinedOutput(); err == nil {
		t.Errorf("a server without a valid configuration answers: %s", out)
	}
	for _, end := range f.ends {
		end()
	}
	if got := f.log.String(); !strings.Contains(got, "Bad configuration option: NoSuchWord") {
		t.Errorf("the test shows %q", got)
	}
}

func TestTheSamePortAgain(t *testing.T) {
	t.Parallel()
	c := sshtest.Config{Dir: t.TempDir(), IP: netip.AddrFrom4([4]byte{127, 0, 3, 1})} // no other server listens there
	first := sshtest.New(t, c)
	key := first.PublicKey()
	c.Port = first.Address().Port()
	taken := fmt.Sprintf("another program has taken port %d of 127.0.3.1", c.Port)
	if _, err := sshtest.Start(c); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("two servers on a port: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if again := sshtest.New(t, c); again.PublicKey() != key || again.Address() != first.Address() {
		t.Errorf("it comes back as %s with %s", again.Address(), again.PublicKey())
	}
}

// TestTheServerDiesWithItsProcess starts one in a process that is killed.
func TestTheServerDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("SSHTEST_DIR"); dir != "" {
		s, err := sshtest.Start(sshtest.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("address " + s.Address().String())
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheServerDiesWithItsProcess$")
	cmd.Env = append(os.Environ(), "SSHTEST_DIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	text, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _ := strings.CutPrefix(strings.TrimSpace(text), "address ")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	greeting := bufio.NewReader(c)
	if _, err := greeting.ReadString('\n'); err != nil { // an sshd serves it
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, greeting); err != nil && os.IsTimeout(err) {
		t.Errorf("its sshd lives on: %v", err)
	}
}
