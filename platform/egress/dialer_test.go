package egress_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/egress/egresstest"
)

// sink is a listener on a loopback address that counts connections.
type sink struct {
	net.Listener
	mu   sync.Mutex
	hits int
	done chan struct{}
}

func newSink(t *testing.T, addr string) *sink {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{Listener: l, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.hits++
			s.mu.Unlock()
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { s.stop() })
	return s
}

// stop closes the listener and returns how many connected. Connections are accepted in order, so that all others are
// counted when its own last one is.
func (s *sink) stop() int {
	last, err := net.Dial("tcp", s.Addr().String())
	if err == nil {
		_, _ = io.Copy(io.Discard, last)
		_ = last.Close()
	}
	_ = s.Close()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.hits--
	}
	return s.hits
}

func (s *sink) port() string {
	_, port, _ := net.SplitHostPort(s.Addr().String())
	return port
}

// TestDialRefusesBeforeAnyPacket dials a forbidden listener by each form of its address.
// Keeps T11.
func TestDialRefusesBeforeAnyPacket(t *testing.T) {
	t.Parallel()
	s := newSink(t, "127.0.0.1:0")
	d := egress.NewDialer(egress.Policy{}, nil)
	for _, host := range []string{
		"127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0x7f.1", "0x7f000001", "2130706433", "017700000001",
		"0177.0.0.1",
		"127.1", "127.0.1", "127.0.0.1.", "127.0.0.0x1", "0", "0.0.0.0", "[::]", "localhost", "[::1]", "",
		"[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"127.0.0.1%25", "a b",
	} {
		c, err := d.DialContext(t.Context(), "tcp", host+":"+s.port())
		if err == nil {
			_ = c.Close()
		}
		if !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%q: %v", host, err)
		}
	}
	for _, address := range []string{"example.com:0", "example.com:http", "example.com:65536"} {
		if _, err := d.DialContext(t.Context(), "tcp", address); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, network := range []string{"udp", "unix", "ip"} {
		if _, err := d.DialContext(t.Context(), network, "127.0.0.1:"+s.port()); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%s: %v", network, err)
		}
	}
	if _, err := d.DialContext(t.Context(), "tcp", "no-port"); err == nil {
		t.Error("an address without a port")
	}
	if hits := s.stop(); hits != 0 {
		t.Errorf("%d connections reached the listener", hits)
	}
}

// TestDialOfAChangingName uses a name server that answers with an allowed address first and with the forbidden one
// afterwards.
// Keeps T11.
func TestDialOfAChangingName(t *testing.T) {
	t.Parallel()
	bad := newSink(t, "127.0.0.1:0")
	good := newSink(t, "127.0.0.2:"+bad.port())
	n := egresstest.NewNames(t, map[string][]string{"changing.test": {"127.0.0.2", "127.0.0.1"}})
	d := egress.NewDialer(egress.Policy{Allow: prefixes("127.0.0.2/32")}, n.Resolver())
	c, err := d.DialContext(t.Context(), "tcp4", "changing.test:"+bad.port())
	if err != nil {
		t.Fatalf("the first dial: %v", err)
	}
	_ = c.Close()
	if asked := n.Asked("changing.test"); asked != 1 {
		t.Errorf("one dial asked %d times", asked)
	}
	for range 3 {
		if _, err := d.DialContext(t.Context(), "tcp4", "changing.test:"+bad.port()); !errors.Is(err, egress.ErrRefused) ||
			!strings.Contains(err.Error(), "127.0.0.1 is loopback") {
			t.Errorf("a later dial: %v", err)
		}
	}
	if hits := bad.stop(); hits != 0 {
		t.Errorf("%d connections reached the guarded address", hits)
	}
	if hits := good.stop(); hits != 1 {
		t.Errorf("%d connections reached the allowed address", hits)
	}
}
