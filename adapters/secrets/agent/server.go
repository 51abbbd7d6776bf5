package agent

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"

	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// maxConns is how many clients are served at once; others wait. A playbook opens one for each login that is under way.
	maxConns = 128
	// maxRequest bounds a request in bytes. What logins have signed is below one kilobyte.
	maxRequest = 64 << 10
	// acceptPause is how long to wait where the system gave no descriptor for a client.
	acceptPause = 50 * time.Millisecond
)

// The messages of the agent's protocol that are known here. Every other one is answered as a failure, those of
// extensions and the binding to a session among them, which is how OpenSSH learns that an agent has none.
const (
	failure           = 5
	requestIdentities = 11
	identitiesAnswer  = 12
	signRequest       = 13
	signResponse      = 14
)

// key is one that is served. It does not change, and many clients may sign with it at once.
type key struct {
	signer  ssh.Signer
	blob    []byte // the public half
	comment string
}

// server is one agent.
type server struct {
	keys     []key    // in the order of Start; none are there any more once it is closed
	path     string   // of the socket
	folder   string   // of its own, where there is one
	publics  []string // paths of the public halves
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

func newServer() *server {
	s := &server{free: make(chan struct{}, maxConns), stop: make(chan struct{}), conns: make(map[net.Conn]bool)}
	s.close = sync.OnceValue(s.end)
	return s
}

func (s *server) Socket() string { return s.path }

func (s *server) PublicKeys() []string { return append([]string(nil), s.publics...) }

// Close may be called again.
func (s *server) Close() error { return s.close() }

func (s *server) end() error {
	close(s.stop)
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close() // whoever serves it sees that and closes it again
	}
	s.mu.Unlock()
	var err error
	if s.listener != nil {
		err = s.listener.Close()
	}
	s.work.Wait()
	s.keys = nil
	if err = errors.Join(err, s.sweep()); err != nil {
		return fmt.Errorf("close an agent: %w", err)
	}
	return nil
}

// accept takes clients until the end. A listener that fails for want of descriptors is asked again when a client has
// gone.
func (s *server) accept() {
	for {
		select {
		case s.free <- struct{}{}:
		case <-s.stop:
			return
		}
		c, err := s.listener.Accept()
		if err != nil {
			<-s.free
			if errors.Is(err, net.ErrClosed) || !s.pause() {
				return
			}
			continue
		}
		if !s.enter(c) {
			return
		}
	}
}

// pause waits a moment and reports whether the agent goes on.
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

// serveClient answers one client until it goes or says something that is no request.
func (s *server) serveClient(c net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		_ = c.Close()
		<-s.free
	}()
	for {
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(size[:])
		if n == 0 || n > maxRequest {
			return
		}
		request := make([]byte, n)
		if _, err := io.ReadFull(c, request); err != nil {
			return
		}
		answer := s.answer(request)
		answer = append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...) //nolint:gosec // a few kilobytes
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

// answer does what a request asks for.
func (s *server) answer(request []byte) []byte {
	switch request[0] {
	case requestIdentities:
		return s.list()
	case signRequest:
		return s.sign(request)
	default:
		return []byte{failure}
	}
}

func (s *server) list() []byte {
	answer := binary.BigEndian.AppendUint32([]byte{identitiesAnswer}, uint32(len(s.keys))) //nolint:gosec // at most maxKeys
	for _, k := range s.keys {
		answer = append(answer, ssh.Marshal(struct {
			Blob    []byte
			Comment string
		}{k.blob, k.comment})...)
	}
	return answer
}

func (s *server) sign(request []byte) []byte {
	var r struct {
		Key, Data []byte
		Flags     uint32
	}
	if ssh.Unmarshal(request[1:], &r) != nil {
		return []byte{failure}
	}
	for _, k := range s.keys {
		if !bytes.Equal(k.blob, r.Key) {
			continue
		}
		signature, err := k.sign(r.Data, sshagent.SignatureFlags(r.Flags))
		if err != nil {
			break
		}
		return append([]byte{signResponse}, ssh.Marshal(struct{ Signature []byte }{ssh.Marshal(signature)})...)
	}
	return []byte{failure}
}

// sign signs by the algorithm of the key, or by the one that a flag asks for; flags mean something for RSA alone.
func (k key) sign(data []byte, flags sshagent.SignatureFlags) (*ssh.Signature, error) {
	with, ok := k.signer.(ssh.AlgorithmSigner)
	if !ok || k.signer.PublicKey().Type() != ssh.KeyAlgoRSA {
		return k.signer.Sign(rand.Reader, data)
	}
	switch {
	case flags&sshagent.SignatureFlagRsaSha512 != 0:
		return with.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA512)
	case flags&sshagent.SignatureFlagRsaSha256 != 0:
		return with.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA256)
	default:
		return k.signer.Sign(rand.Reader, data)
	}
}
