package relayclient_test

import (
	"bufio"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/adapters/relayclient"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// listener notes every request that reaches it.
type listener struct {
	*httptest.Server
	mu   sync.Mutex
	came []string
}

func newListener(t *testing.T) *listener {
	l := &listener{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := httputil.DumpRequest(r, true)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.came = append(l.came, string(raw))
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) heard() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.came
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	other := newListener(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		w := newFixture(t, nil)
		a := w.claimed(naming("inv_1", "prj_1", "c0ffee"))
		w.fake.set(func() {
			w.fake.instead = func(rw http.ResponseWriter, r *http.Request, _ []byte) bool {
				http.Redirect(rw, r, other.URL+r.URL.Path, status)
				return true
			}
		})
		_, claim := w.Claim(t.Context(), runs.ClaimRequest{})
		_, _, inventory := w.Inventory(t.Context(), "inv_1", true)
		_, tree := w.Tree(t.Context(), "prj_1", "c0ffee", filepath.Join(t.TempDir(), "p"))
		for _, err := range []error{claim, w.Begin(t.Context(), a.Lease), inventory, tree} {
			if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "elsewhere") {
				t.Errorf("%d: %v", status, err)
			}
		}
	}
	if came := other.heard(); len(came) != 0 {
		t.Errorf("the other server heard %q", came)
	}
}

func TestAPathInFrontOfTheRelay(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"/writ", "/a/b/"} {
		w := newFixture(t, nil)
		front := httptest.NewServer(http.StripPrefix(strings.TrimSuffix(prefix, "/"), w.fake))
		t.Cleanup(front.Close)
		w.cfg.Server = front.URL + prefix
		w.again()
		a := w.claimed()
		w.must(w.Begin(t.Context(), a.Lease))
	}
}

// secure serves the fake over TLS and returns its address with the file of trusted roots.
func (w *fixture) secure() (address, ca string) {
	s := httptest.NewUnstartedServer(w.fake)
	s.EnableHTTP2 = true
	s.StartTLS()
	w.t.Cleanup(s.Close)
	ca = filepath.Join(w.t.TempDir(), "ca.pem")
	w.must(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	return s.URL, ca
}

func TestAuthorities(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	address, ca := w.secure()
	w.cfg.Server = address
	w.again()
	w.fake.submit(runs.Single, "q")
	if _, err := w.Claim(t.Context(), runs.ClaimRequest{Queues: []string{"q"}}); !fault.Is(err, fault.Unavailable) ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that nobody vouches for: %v", err)
	}
	if calls := w.fake.calls(""); len(calls) != 0 {
		t.Errorf("it heard %v", calls)
	}
	w.cfg.CAFile = ca
	w.again()
	protocol := ""
	w.fake.set(func() {
		w.fake.instead = func(_ http.ResponseWriter, r *http.Request, _ []byte) bool { protocol = r.Proto; return false }
	})
	w.must(w.Begin(t.Context(), w.claim().Lease))
	if protocol != "HTTP/2.0" {
		t.Errorf("they speak %s", protocol)
	}
	w.cfg.CAFile = filepath.Join(t.TempDir(), "absent")
	if _, err := relayclient.New(w.cfg); err == nil || !strings.Contains(err.Error(), "ca-file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// tunnel is a proxy that takes every CONNECT to one address.
func tunnel(t *testing.T, to string, heard func(head string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := httputil.DumpRequest(r, true)
		heard(string(raw))
		if r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		there, err := net.Dial("tcp", to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		here, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		join(here, rw, there)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func join(here net.Conn, buffered *bufio.ReadWriter, there net.Conn) {
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(there, buffered); _ = there.Close() })
	both.Go(func() { _, _ = io.Copy(here, there); _ = here.Close() })
	both.Wait()
}

// The proxy of the environment is read once by a process, so each case has one of its own.
func TestProxies(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	address, ca := w.secure()
	u, err := url.Parse(address)
	w.must(err)
	var mu sync.Mutex
	var heard []string
	proxy := tunnel(t, u.Host, func(head string) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, head)
	})
	claim := func(server string) (string, error) {
		self, err := os.Executable()
		w.must(err)
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), reach+"="+server+"|"+ca+"|"+t.TempDir(), "HTTPS_PROXY="+proxy, "HTTP_PROXY="+proxy,
			"NO_PROXY=")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := claim("https://example.com"); err != nil || len(w.fake.calls("/claim")) != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	if len(heard) != 1 || !strings.HasPrefix(heard[0], "CONNECT example.com:443 ") || strings.Contains(heard[0], token) {
		t.Errorf("the proxy heard %q", heard)
	}
	// Without encryption the proxy could read the token, so it is not used.
	if out, err := claim("http://relay.invalid"); err == nil || strings.Contains(out, token) || len(heard) != 1 {
		t.Errorf("%v\n%s\nthe proxy heard %q", err, out, heard)
	}
}

// A connection that the server closed meanwhile costs no report, and a claim is not repeated.
func TestConnectionsThatWereClosed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.begun()
	for range 20 {
		w.fake.CloseClientConnections()
		if _, err := w.AppendLog(t.Context(), a.Lease, runs.LogChunk{}); err != nil {
			t.Fatal(err)
		}
	}
	w.fake.set(func() { w.fake.after = func(*http.Request) bool { return true } })
	id := w.fake.submit(runs.Single, "q")
	before := len(w.fake.calls("/claim"))
	if _, err := w.Claim(t.Context(), runs.ClaimRequest{Worker: worker, Queues: []string{"q"}}); !fault.Is(err,
		fault.Unavailable) {
		t.Errorf("a claim whose answer is lost: %v", err)
	}
	if n := len(w.fake.calls("/claim")) - before; n != 1 || w.fake.see(id).run.Epoch != 1 {
		t.Errorf("%d claims were made", n)
	}
}
