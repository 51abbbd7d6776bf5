package egress_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/platform/egress"
)

// sink is a listener on a loopback address that counts who connects.
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

// stop closes the listener and returns how many connected. Connections are accepted in their order, so that once its own
// last one was counted all others were.
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

// names is a DNS server in memory: each lookup of a name gets the next of its answers, the last one for ever.
type names struct {
	mu      sync.Mutex
	answers map[string][]netip.Addr
	asked   map[string]int
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go n.serve(there)
		return here, nil
	}}
}

// serve answers queries with the framing of DNS over TCP, which the resolver uses on what is no packet connection.
func (n *names) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		q := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, q); err != nil {
			return
		}
		a := n.answer(q)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)); err != nil {
			return
		}
	}
}

// answer builds the reply to a query of one question: A records where it asks for them, nothing otherwise.
func (n *names) answer(q []byte) []byte {
	end, host := 12, ""
	for q[end] != 0 {
		host += string(q[end+1:end+1+int(q[end])]) + "."
		end += 1 + int(q[end])
	}
	kind := binary.BigEndian.Uint16(q[end+1:])
	reply := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end+5]...)
	if kind != 1 {
		return reply
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.answers[host]
	if len(all) == 0 {
		reply[3] |= 3 // no such name
		return reply
	}
	a := all[min(n.asked[host], len(all)-1)].As4()
	n.asked[host]++
	reply[7] = 1
	return append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), a[:]...)
}

func newNames(answers map[string][]netip.Addr) *names {
	return &names{answers: answers, asked: map[string]int{}}
}

// TestDialRefusesBeforeAnyPacket dials a listener that must not be reached by each of its spellings.
func TestDialRefusesBeforeAnyPacket(t *testing.T) {
	t.Parallel()
	s := newSink(t, "127.0.0.1:0")
	d := egress.NewDialer(egress.Policy{}, nil)
	for _, host := range []string{
		"127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1",
		"127.1", "127.0.1", "127.0.0.1.", "127.0.0.0x1", "0", "0.0.0.0", "[::]", "localhost", "[::1]", "", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
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

// TestDialOfAChangingName asks a name server that answers with an allowed address first and with the guarded one from
// then on.
func TestDialOfAChangingName(t *testing.T) {
	t.Parallel()
	bad := newSink(t, "127.0.0.1:0")
	good := newSink(t, "127.0.0.2:"+bad.port())
	n := newNames(map[string][]netip.Addr{"changing.test.": {netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}})
	d := egress.NewDialer(egress.Policy{Allow: prefixes("127.0.0.2/32")}, n.resolver())
	c, err := d.DialContext(t.Context(), "tcp4", "changing.test:"+bad.port())
	if err != nil {
		t.Fatalf("the first dial: %v", err)
	}
	_ = c.Close()
	n.mu.Lock()
	if n.asked["changing.test."] != 1 {
		t.Errorf("one dial asked %d times", n.asked["changing.test."])
	}
	n.mu.Unlock()
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
