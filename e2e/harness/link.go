package harness

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Link is a network connection between two programs that can break: blocked data waits without an error, as with packet
// loss.
type Link struct {
	listen net.Listener
	open   sync.WaitGroup

	mu     sync.Mutex
	target string
	moved  *sync.Cond
	there  bool // the client's data passes
	back   bool // the server's data passes
	delay  time.Duration
	ended  bool
	conns  map[net.Conn]bool
}

// NewLink starts a link to an address. The test's end stops it.
func NewLink(t testing.TB, target string) *Link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a listener of a test
	if err != nil {
		t.Fatal(err)
	}
	k := &Link{listen: l, target: target, there: true, back: true, conns: map[net.Conn]bool{}}
	k.moved = sync.NewCond(&k.mu)
	k.open.Go(k.accept)
	t.Cleanup(func() {
		_ = l.Close()
		k.mu.Lock()
		k.ended = true
		k.mu.Unlock()
		k.moved.Broadcast()
		k.Reset()
		k.open.Wait()
	})
	return k
}

// Addr returns where the link listens.
func (k *Link) Addr() string { return k.listen.Addr().String() }

// Lead makes the link lead to another address, such as that of a restarted server. Open connections do not change.
func (k *Link) Lead(target string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.target = target
}

// Pass sets in which directions data passes from now on.
func (k *Link) Pass(there, back bool) {
	k.mu.Lock()
	k.there, k.back = there, back
	k.mu.Unlock()
	k.moved.Broadcast()
}

// Delay delays all data.
func (k *Link) Delay(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.delay = d
}

// Reset closes every open connection.
func (k *Link) Reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.conns {
		_ = c.Close()
	}
	clear(k.conns)
}

func (k *Link) accept() {
	for {
		client, err := k.listen.Accept()
		if err != nil {
			return
		}
		k.open.Go(func() { k.serve(client) })
	}
}

func (k *Link) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	k.mu.Lock()
	target := k.target
	k.mu.Unlock()
	server, err := net.Dial("tcp", target) //nolint:noctx // ends with the link
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	k.mu.Lock()
	k.conns[client], k.conns[server] = true, true
	ended := k.ended
	k.mu.Unlock()
	if ended {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.forward(server, client, &k.there)
	}()
	k.forward(client, server, &k.back)
	<-done
}

// forward copies bytes while both ends are open, and waits while nothing may pass.
func (k *Link) forward(to, from net.Conn, passes *bool) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			delay, ok := k.await(passes)
			if !ok {
				return
			}
			if delay > 0 {
				<-time.After(delay)
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// await waits until a direction passes and returns the delay; ok is false when the link ended.
func (k *Link) await(passes *bool) (delay time.Duration, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for !*passes && !k.ended {
		k.moved.Wait()
	}
	return k.delay, !k.ended
}
