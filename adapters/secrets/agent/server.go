package agent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"

	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// maxConns is how many clients are served at once; others wait. A playbook opens one for each login in progress.
	maxConns = 128
	// maxRequest bounds a request in bytes. The request of a login is below one kilobyte.
	maxRequest = 64 << 10
	// acceptPause is the pause after the system had no descriptor for a client.
	acceptPause = 50 * time.Millisecond
)

// These are the messages of the agent's protocol that this package reads or writes itself.
const (
	agentFailure      = 5
	requestIdentities = 11
	signRequest       = 13
)

// server is one agent.
type server struct {
	keys     signer   // holds no key once the server is closed
	blobs    [][]byte // the public halves of the keys; they do not change while clients are served
	path     string   // of the socket
	folder   string   // a directory made for the socket; empty if the socket is in the directory of Start
	publics  []string // paths of the public halves
	client   *secrets.Client
	listener *net.UnixListener
	free     chan struct{} // one for each client
	stop     chan struct{}
	work     sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	close  func() error
}

var _ secrets.Agent = (*server)(nil)

func newServer(client *secrets.Client) *server {
	s := &server{
		client: client,
		keys:   signer{sshagent.NewKeyring().(sshagent.ExtendedAgent)},
		free:   make(chan struct{}, maxConns), stop: make(chan struct{}), conns: make(map[net.Conn]bool),
	}
	s.close = sync.OnceValue(s.end)
	return s
}

func (s *server) Socket() string { return s.path }

func (s *server) PublicKeys() []string { return slices.Clone(s.publics) }

// Close may be called again.
func (s *server) Close() error { return s.close() }

func (s *server) end() error {
	close(s.stop)
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close() // ends serveClient, which closes it again
	}
	s.mu.Unlock()
	var err error
	if s.listener != nil {
		err = s.listener.Close()
	}
	s.work.Wait()
	if err = errors.Join(err, s.keys.RemoveAll(), s.sweep()); err != nil {
		return fmt.Errorf("close an agent: %w", err)
	}
	return nil
}

// accept accepts clients until the server is closed. It tries again after a pause if the system has no descriptor left.
func (s *server) accept() {
	for {
		select {
		case s.free <- struct{}{}:
		case <-s.stop:
			return
		}
		c, err := s.listener.AcceptUnix()
		if err != nil {
			<-s.free
			if errors.Is(err, net.ErrClosed) || !s.pause() {
				return
			}
			continue
		}
		if !s.admits(c) {
			_ = c.Close()
			<-s.free
			continue
		}
		if !s.enter(c) {
			return
		}
	}
}

// admits reports whether the other end is a process of the client's account. The permissions of the socket already say
// so, but not to root.
func (s *server) admits(c *net.UnixConn) bool {
	want := os.Getuid()
	if s.client != nil {
		want = s.client.UID
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	admitted := false
	err = raw.Control(func(fd uintptr) {
		peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET,
			syscall.SO_PEERCRED) //nolint:gosec // descriptors are small
		admitted = err == nil && int(peer.Uid) == want
	})
	return err == nil && admitted
}

// pause waits for acceptPause and reports whether the server is still open.
func (s *server) pause() bool {
	t := time.NewTimer(acceptPause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.stop:
		return false
	}
}

func (s *server) enter(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return false
	}
	s.conns[c] = true
	s.work.Go(func() { s.serveClient(c) })
	return true
}

// serveClient answers the requests of one client until it closes the connection or sends a frame that is not a request.
func (s *server) serveClient(c net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		_ = c.Close()
		<-s.free
	}()
	for {
		frame := make([]byte, 4, 512)
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(frame)
		if n == 0 || n > maxRequest {
			return
		}
		frame = append(frame, make([]byte, n)...)
		if _, err := io.ReadFull(c, frame[4:]); err != nil {
			return
		}
		if err := s.answer(c, frame); err != nil {
			return
		}
	}
}

// answer writes the answer to one request, a frame with its length. It passes on only requests which the library
// answers without an error: the library logs each error, and a run could fill the log of the server.
func (s *server) answer(w io.Writer, frame []byte) error {
	if !s.allows(frame[4:]) {
		_, err := w.Write([]byte{0, 0, 0, 1, agentFailure})
		return err
	}
	err := sshagent.ServeAgent(s.keys, struct {
		io.Reader
		io.Writer
	}{bytes.NewReader(frame), w})
	if errors.Is(err, io.EOF) { // the end of the frame
		return nil
	}
	return err
}

// allows reports whether a request lists the keys or signs with one of them. Every other request is refused,
// extensions and the binding to a session among them; OpenSSH continues without those.
func (s *server) allows(request []byte) bool {
	if request[0] != signRequest {
		return request[0] == requestIdentities
	}
	var r struct {
		Key, Data []byte
		Flags     uint32
	}
	return ssh.Unmarshal(request[1:], &r) == nil &&
		slices.ContainsFunc(s.blobs, func(blob []byte) bool { return bytes.Equal(blob, r.Key) })
}

// signer is a keyring that ignores flags which have no meaning for a key, as the agent of OpenSSH does.
type signer struct{ sshagent.ExtendedAgent }

func (s signer) SignWithFlags(key ssh.PublicKey, data []byte, flags sshagent.SignatureFlags) (*ssh.Signature, error) {
	switch {
	case key.Type() != ssh.KeyAlgoRSA:
		flags = 0
	case flags&sshagent.SignatureFlagRsaSha512 != 0:
		flags = sshagent.SignatureFlagRsaSha512
	default:
		flags &= sshagent.SignatureFlagRsaSha256
	}
	return s.ExtendedAgent.SignWithFlags(key, data, flags)
}
