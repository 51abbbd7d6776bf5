package sshtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	maxConnections = 100         // at once; more of them wait
	logTail        = 16 << 10    // bytes of the log's end
	killTimeout    = time.Minute // for killed processes to be gone
)

// Config holds the settings of a server. Its zero value makes a server that accepts no logins.
type Config struct {
	Dir     string     // for keys, configuration and log; New creates a temporary one if it is empty
	IP      netip.Addr // listen address, 127.0.0.1 if none is given
	Port    uint16     // 0 for any
	Comment string     // of the host key
	Lines   []string   // of sshd_config; they take precedence over those of the server
	Before  []string   // a program with arguments that runs sshd; it then determines the home directories
}

// Server is a running server. It is safe for concurrent use.
type Server struct {
	dir      string
	argv     []string
	public   string
	listener *net.TCPListener
	log      *os.File
	slots    chan struct{}
	running  sync.WaitGroup

	mu     sync.Mutex
	thawed *sync.Cond // also signalled by Close
	frozen bool
	closed bool
	used   bool
	conns  map[*exec.Cmd]struct{}
}

// New starts a server for a test and ends it with the test. If the test failed, it shows the server's log.
func New(t testing.TB, c Config) *Server {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	s, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("sshd on %s wrote:\n%s", s.Address(), s.Log())
		}
	})
	return s
}

// Start starts a server in a directory, which remains after Close. It uses an existing host key.
func Start(c Config) (*Server, error) {
	sshd, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		// sshd refuses to run as root without its privilege separation directory.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			return nil, err
		}
	}
	s := &Server{
		dir:   dir,
		argv:  append(c.Before[:len(c.Before):len(c.Before)], sshd, "-i", "-e", "-f", filepath.Join(dir, "sshd_config")),
		slots: make(chan struct{}, maxConnections), conns: map[*exec.Cmd]struct{}{},
	}
	s.thawed = sync.NewCond(&s.mu)
	if err := s.configure(c); err != nil {
		return nil, err
	}
	if s.log, err = os.OpenFile(s.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	if err := s.listen(c); err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	known := fmt.Sprintf("[%s]:%d %s", s.Address().Addr(), s.Port(), s.public)
	if err := os.WriteFile(s.KnownHosts(), []byte(known), 0o644); err != nil {
		return nil, errors.Join(err, s.listener.Close(), s.log.Close())
	}
	s.running.Go(s.serve)
	return s, nil
}

func find() (string, error) {
	for _, c := range []string{"sshd", "/usr/sbin/sshd", "/usr/local/sbin/sshd"} {
		if p, err := exec.LookPath(c); err == nil {
			return filepath.Abs(p) // sshd requires an absolute path
		}
	}
	return "", errors.New("there is no sshd on this machine; install it with: apt-get install openssh-server")
}

// configure writes the host key and sshd_config, where the first line about an option takes precedence.
func (s *Server) configure(c Config) error {
	key := filepath.Join(s.dir, "host_key")
	if err := WriteKey(key, c.Comment); err != nil {
		return err
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		return err
	}
	s.public = string(public)
	lines := append(c.Lines[:len(c.Lines):len(c.Lines)],
		"KexAlgorithms curve25519-sha256,curve25519-sha256@libssh.org", // the default costs a client seven times as much CPU
		"HostKey "+key, "AuthorizedKeysFile none", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
		"PermitRootLogin prohibit-password", "StrictModes no", "UsePAM no", "UseDNS no", "PidFile none",
		"PrintMotd no", "PrintLastLog no", "X11Forwarding no", "MaxSessions 200", "Subsystem sftp internal-sftp",
	)
	if len(c.Before) == 0 {
		// Sessions read no files of the account's own home, such as a slow .bashrc.
		home := filepath.Join(s.dir, "home")
		if err := os.MkdirAll(home, 0o700); err != nil {
			return err
		}
		lines = append(lines, "SetEnv HOME="+home)
	}
	return os.WriteFile(filepath.Join(s.dir, "sshd_config"), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func (s *Server) listen(c Config) error {
	if !c.IP.IsValid() {
		c.IP = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.IP, c.Port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another program has taken port %d of %s: %w", c.Port, c.IP, err)
	}
	s.listener = l
	return err
}

// Address returns the server's listen address.
func (s *Server) Address() netip.AddrPort { return s.listener.Addr().(*net.TCPAddr).AddrPort() }

// Port returns the port of Address.
func (s *Server) Port() int { return int(s.Address().Port()) }

// PublicKey returns the line of the host's key, in the form of authorized_keys.
func (s *Server) PublicKey() string { return s.public }

// KnownHosts returns the path of a known_hosts file with only this server.
func (s *Server) KnownHosts() string { return filepath.Join(s.dir, "known_hosts") }

func (s *Server) logPath() string { return filepath.Join(s.dir, "sshd.log") }

// Log returns the end of the server's log.
func (s *Server) Log() string {
	f, err := os.Open(s.logPath())
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > logTail {
		_, _ = f.Seek(-logTail, io.SeekEnd) // on an error, Log returns the log from its beginning
	}
	text, _ := io.ReadAll(io.LimitReader(f, logTail)) // an error leaves the part read so far
	return string(text)
}

// serve starts an sshd for each connection. It keeps its thread, because the kernel ends an sshd with the thread that
// started it.
func (s *Server) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		s.slots <- struct{}{}
		c, err := s.listener.AcceptTCP()
		if err != nil {
			s.logError(err)
			_ = s.listener.Close() // redundant if a close ended the loop
			return
		}
		if err := s.connect(c); err != nil {
			s.logError(err) // the client gets a closed connection
			<-s.slots
		}
	}
}

func (s *Server) logError(err error) {
	if !errors.Is(err, net.ErrClosed) {
		_, _ = fmt.Fprintf(s.log, "sshtest: %v\n", err)
	}
}

// connect starts an sshd for a connection, or waits until the server is thawed.
func (s *Server) connect(c *net.TCPConn) error {
	defer func() { _ = c.Close() }() // sshd has its own descriptor
	f, err := c.File()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.frozen && !s.closed {
		s.thawed.Wait()
	}
	if s.closed {
		return net.ErrClosed
	}
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = f, f, s.log, processAttributes()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.used, s.conns[cmd] = true, struct{}{}
	s.running.Go(func() {
		_ = cmd.Wait() // its log contains the error
		s.mu.Lock()
		delete(s.conns, cmd)
		s.mu.Unlock()
		<-s.slots
	})
	return nil
}

// suspend stops all processes of the server and returns them.
func (s *Server) suspend() []int {
	if !s.used {
		return nil
	}
	var roots []int
	for cmd := range s.conns {
		if cmd.Process.Signal(syscall.SIGSTOP) == nil { // the process is not reaped yet, so its id is valid
			roots = append(roots, cmd.Process.Pid)
		}
	}
	a := s.Address()
	return suspend(roots, fmt.Sprintf(" %s %d", a.Addr(), a.Port()))
}

// Freeze makes the server accept connections without responding, also on open connections.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
	s.suspend()
}

// Thaw resumes a frozen server.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range s.suspend() {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may be gone already
	}
	s.frozen = false
	s.thawed.Broadcast()
}

// Close ends the server with its connections and waits until all its processes have ended. A second call does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil // it ended before, as its log shows
	}
	pids := s.suspend()
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
	}
	s.thawed.Broadcast()
	s.mu.Unlock()
	s.running.Wait()
	err = errors.Join(err, s.log.Close())
	deadline := time.Now().Add(killTimeout)
	for anyAlive(pids) {
		if time.Now().After(deadline) {
			return errors.Join(err, fmt.Errorf("sshd on %s leaves processes behind: %v", s.Address(), pids))
		}
		time.Sleep(5 * time.Millisecond)
	}
	return err
}
