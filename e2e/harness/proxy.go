package harness

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy forwards between a server and its Postgres and can cut a connection after the database has committed and before
// its answer reaches the server.
type Proxy struct {
	listen net.Listener
	open   sync.WaitGroup

	mu     sync.Mutex
	target string
	marker []byte // text that a transaction must contain to be cut
	left   int    // remaining cuts
	conns  map[net.Conn]bool
	cuts   atomic.Int32
	trips  atomic.Int64
}

// sentCap bounds the stored text of a transaction.
const sentCap = 1 << 20

// NewProxy starts a proxy in front of a Unix socket. The test's end stops it.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a listener of a test
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, listen: l, conns: map[net.Conn]bool{}}
	p.open.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.closeAll()
		p.open.Wait()
	})
	return p
}

// Addr returns where the proxy listens.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// CutAfterCommit cuts the next n transactions that contain the marker, each after its commit.
func (p *Proxy) CutAfterCommit(marker string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marker, p.left = []byte(marker), n
}

// Switch forwards new connections to another Unix socket, and closes those that are open.
func (p *Proxy) Switch(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.closeAll()
}

// Cuts returns how many connections were cut.
func (p *Proxy) Cuts() int { return int(p.cuts.Load()) }

// Trips returns how many round trips there were: questions, of one message or many, that an answer followed.
func (p *Proxy) Trips() int64 { return p.trips.Load() }

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.open.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("unix", target) //nolint:noctx // ends with the proxy
	if err != nil {
		_ = client.Close()
		return
	}
	p.track(client, server)
	defer p.forget(client, server)
	var cut, asked atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.answers(client, server, &cut, &asked)
	}()
	p.questions(client, server, &cut, &asked)
	_ = server.Close()
	<-done
}

// questions forwards the client's data. It marks a transaction that contained the marker for the cut before it forwards
// the commit.
func (p *Proxy) questions(client, server net.Conn, cut, asked *atomic.Bool) {
	buf := make([]byte, 64<<10)
	var found []byte
	for {
		n, err := client.Read(buf)
		if n > 0 {
			found = append(found[max(0, len(found)-sentCap):], buf[:n]...)
			text := lower(found)
			if at := bytes.LastIndex(text, []byte("commit\x00")); at >= 0 {
				if p.wanted(found[max(0, bytes.LastIndex(text[:at], []byte("begin\x00"))):at]) {
					cut.Store(true)
				}
				found = nil
			}
			asked.Store(true)
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// lower returns a copy with small ASCII letters, which has the same length whatever the bytes are.
func lower(b []byte) []byte {
	out := bytes.Clone(b)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}

// answers forwards the database's data. It reads the answer to a commit that is to be cut, so that the commit is done,
// and drops it.
func (p *Proxy) answers(client, server net.Conn, cut, asked *atomic.Bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if n > 0 && cut.Load() {
			p.cuts.Add(1)
			_ = client.Close()
			return
		}
		if n > 0 {
			if asked.Swap(false) {
				p.trips.Add(1)
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				_ = client.Close()
			}
			return
		}
	}
}

func (p *Proxy) wanted(found []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 || !bytes.Contains(found, p.marker) {
		return false
	}
	p.left--
	return true
}

func (p *Proxy) track(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = true
	}
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}
