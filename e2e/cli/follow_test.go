package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// line is a connection between the client and the server that a test can cut.
type line struct {
	l    net.Listener
	mu   sync.Mutex
	to   string
	open map[net.Conn]bool
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &line{l: l, to: to, open: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { x.carry(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); x.cut(""); wg.Wait() })
	return x
}

func (x *line) carry(c net.Conn) {
	defer func() { _ = c.Close() }()
	x.mu.Lock()
	to := x.to
	x.mu.Unlock()
	s, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	x.mu.Lock()
	x.open[c], x.open[s] = true, true
	x.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(s, c); _ = s.Close() })
	_, _ = io.Copy(c, s)
	_ = c.Close()
	wg.Wait()
}

// cut breaks every connection; the next ones go to another address.
func (x *line) cut(to string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.to = to
	for c := range x.open {
		_ = c.Close()
	}
	clear(x.open)
}

func host(s *harness.Server) string { return strings.TrimPrefix(s.URL, "http://") }

// TestLogsFollow follows a run over a connection that is cut three times: every line arrives once.
func TestLogsFollow(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	x := newLine(t, host(s))
	u := userOf(t, s)
	gate := filepath.Join(harness.Shared(t), "gate")
	// Bytes that are not text, and the replacement character, must not shift the offset of the next request.
	id := u.submit("--tool", "bash", "--command", fmt.Sprintf("gate() { until [ -e %s$1 ]; do sleep 0.05; done; }\n"+
		`seq 1 300; gate 0; seq 301 600; gate 1; printf 'é\377\357\277\275!'; gate 2; seq 601 900`, gate))
	u.url = "http://" + x.l.Addr().String()
	p := u.start("logs", "-f", id)
	for i, last := range []string{"\n300\n", "\n600\n", "!"} {
		p.shows(p.out, last)
		x.cut(host(s))
		if err := os.WriteFile(gate+strconv.Itoa(i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit %d, %s", code, p.err)
	}
	var want strings.Builder
	for i := 1; i <= 900; i++ {
		if i == 601 {
			want.WriteString("é\ufffd\ufffd!")
		}
		fmt.Fprintln(&want, i)
	}
	if p.out.String() != want.String() {
		t.Errorf("%d bytes of %d: %q", len(p.out.String()), want.Len(), p.out)
	}
	if n := strings.Count(p.err.String(), "connected again"); n != 3 || strings.Count(p.err.String(), "lost") != 3 {
		t.Errorf("%s", p.err)
	}
	if code, out, _ := u.do("logs", id, "--tail", "8"); code != 0 || out != "899\n900\n" {
		t.Errorf("--tail: exit %d, %q", code, out)
	}
	if code, out, _ := u.do("logs", id); code != 0 || !strings.Contains(out, "é\xff\ufffd!601\n") {
		t.Errorf("the whole log: exit %d, %d bytes", code, len(out))
	}
}

// TestServerRestartsWhileFollowing kills the server while a run is followed. The next server reports how the run ended.
func TestServerRestartsWhileFollowing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	x := newLine(t, host(s))
	u := userOf(t, s)
	u.url = "http://" + x.l.Addr().String()
	p := u.start("run", "--tool", "bash", "--command", "echo begun; sleep 600", "--follow")
	p.shows(p.out, "begun\n")
	s.Kill()
	p.shows(p.err, "the connection is lost, trying again")
	next := s.Again()
	x.cut(host(next))
	if code := p.end(); code != 1 || !strings.Contains(p.err.String(), "connected again") ||
		!strings.Contains(p.out.String(), " interrupted") ||
		strings.Count(p.out.String(), "begun") != 1 {
		t.Errorf("exit %d, %s\n%s", code, p.out, p.err)
	}
}
