package httpserver

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/writ-automation/writ/platform/clock"
)

// maxConns is the maximum number of connections of a server, if the process may open enough files.
const maxConns = 20_000

// defaultMaxConns returns at most half of the process's file descriptors.
func defaultMaxConns() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil || r.Cur/2 > maxConns {
		return maxConns
	}
	return max(int(r.Cur/2), 64) //nolint:gosec // bounded by maxConns above
}

// limited is a listener with a maximum number of open connections. A further connection waits until one has closed.
type limited struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
	stall time.Duration
}

func limit(ln net.Listener, n int, stall time.Duration) net.Listener {
	return &limited{Listener: ln, slots: make(chan struct{}, n), done: make(chan struct{}), stall: stall}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &conn{Conn: c, stall: l.stall, free: func() { <-l.slots }}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// conn gives each write a deadline of its own: a stream may last for hours, a client that reads nothing may not.
type conn struct {
	net.Conn
	stall time.Duration
	free  func()
	once  sync.Once
}

func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(clock.Deadline(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	defer c.once.Do(c.free)
	return c.Conn.Close()
}

// bodyDeadline bounds how long a client may take to send a body. The server's own read timeout cannot be used: it
// would end streams, too. A handler may set another deadline.
func bodyDeadline(h http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			rc := http.NewResponseController(w)
			if rc.SetReadDeadline(clock.Deadline(d)) == nil {
				r.Body = &timedBody{ReadCloser: r.Body, over: func() { _ = rc.SetReadDeadline(time.Time{}) }}
			}
		}
		h.ServeHTTP(w, r)
	})
}

// timedBody removes the deadline when the body has been read, since it does not apply to the answer.
type timedBody struct {
	io.ReadCloser
	over func()
	once sync.Once
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.once.Do(b.over)
	}
	return n, err
}
