package notify_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	adapter "github.com/writ-automation/writ/adapters/notify"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/egress/egresstest"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secret"
)

func takeAll(*http.Request, []byte) (string, error) { return "", nil }

// target returns a target of any kind that has an address.
func target(kind, address string) notify.Target {
	return notify.Target{Kind: kind, URL: secret.Text(address), Key: key}
}

// addressed are the kinds whose targets are addresses that users give.
func addressed() []string {
	var out []string
	for _, k := range notify.Kinds() {
		if k.Required[0] == "url" {
			out = append(out, k.Name)
		}
	}
	return out
}

// sink counts the connections that reach a port of this machine.
func sink(t *testing.T) (port string, hits func() int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, n.Load
}

// TestInwardAddresses tries addresses of this machine and its networks in every form: all are refused and nothing is
// sent.
// Keeps T11.
func TestInwardAddresses(t *testing.T) {
	t.Parallel()
	port, hits := sink(t)
	names := egresstest.NewNames(t, map[string][]string{"inside.example": {"10.0.0.1"}, "self.example": {"127.0.0.1"},
		"meta.example": {"169.254.169.254"}})
	for _, kind := range addressed() {
		c := channel(t, kind, adapter.Config{Resolver: names.Resolver()})
		for _, host := range []string{
			"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "127.1", "0.0.0.0", "10.0.0.1", "192.168.1.1",
			"169.254.169.254", "[fd00:ec2::254]",
			"[64:ff9b::127.0.0.1]", "inside.example", "self.example", "meta.example",
		} {
			err := within(t, 5*time.Second, c, target(kind, fmt.Sprintf("http://%s:%s%s", host, port, way)))
			if !notify.Refused.Is(err) || strings.Contains(err.Error(), "c4nary") {
				t.Errorf("%s to %s: %v", kind, host, err)
			}
		}
	}
	if hits() > 0 {
		t.Errorf("%d connections were made", hits())
	}
}

// TestRebinding uses a name whose address changes: the channel dials the address that was checked.
// Keeps T11.
func TestRebinding(t *testing.T) {
	t.Parallel()
	port, hits := sink(t)
	names := egresstest.NewNames(t, map[string][]string{"turns.example": {"10.9.9.9", "127.0.0.1"},
		"metadata.example": {"127.0.0.2", "169.254.169.254"}})
	c := channel(t, "webhook", adapter.Config{Resolver: names.Resolver(), Egress: egress.Policy{}})
	for range 4 {
		if err := within(t, 5*time.Second, c, target("webhook", "http://turns.example:"+port+way)); !notify.Refused.Is(err) {
			t.Errorf("%v", err)
		}
	}
	if hits() > 0 || names.Asked("turns.example") != 4 {
		t.Errorf("%d connections after %d lookups", hits(), names.Asked("turns.example"))
	}
	allowed := channel(t, "webhook", adapter.Config{Resolver: names.Resolver(), Egress: home()})
	if err := within(t, 5*time.Second, allowed, target("webhook", "http://metadata.example:1"+way)); err == nil ||
		notify.Refused.Is(err) {
		t.Errorf("a port that nobody listens at: %v", err)
	}
	if err := within(t, 5*time.Second, allowed,
		target("webhook", "http://metadata.example:1"+way)); !notify.Refused.Is(err) {
		t.Errorf("the second answer: %v", err)
	}
}

// TestRedirects redirects channels: no channel follows, and no GET counts as a delivery.
// Keeps T11.
func TestRedirects(t *testing.T) {
	t.Parallel()
	port, hits := sink(t)
	var where atomic.Value
	var code atomic.Int64
	where.Store("")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/done" {
			w.WriteHeader(http.StatusOK)
			return
		}
		w.Header().Set("Location", where.Load().(string))
		w.WriteHeader(int(code.Load()))
	}))
	defer srv.Close()
	for _, kind := range addressed() {
		c := channel(t, kind, adapter.Config{Egress: home()})
		for _, status := range []int64{301, 302, 303, 307, 308} {
			for _, to := range []string{
				"http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:" + port + "/done",
				"https://127.0.0.1:" + port + "/done", "file:///etc/passwd",
				"gopher://127.0.0.1:" + port + "/done",
				"http://c4naryUSER:c4naryPASS@" + srv.Listener.Addr().String() + "/done", "http://[::ffff:169.254.169.254]/",
			} {
				where.Store(to)
				code.Store(status)
				err := within(t, 5*time.Second, c, target(kind, srv.URL+way))
				if !notify.Refused.Is(err) || strings.Contains(err.Error(), "c4nary") {
					t.Errorf("%s, %d to %s: %v", kind, status, to, err)
				}
			}
		}
		for status, taken := range map[int64]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
			where.Store("/done")
			code.Store(status)
			if err := within(t, 5*time.Second, c, target(kind, srv.URL+way)); (err == nil) != taken {
				t.Errorf("%s, %d to the same server: %v", kind, status, err)
			}
		}
		where.Store(way)
		code.Store(308)
		if err := within(t, 5*time.Second, c, target(kind, srv.URL+way)); !notify.Refused.Is(err) {
			t.Errorf("%s in a circle: %v", kind, err)
		}
	}
	if hits() > 0 {
		t.Errorf("%d connections were made", hits())
	}
}

// TestTLS checks that channels trust only the authority of the configuration.
func TestTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake fails
	srv.StartTLS()
	defer srv.Close()
	_, pool := certificate(t)
	trusting := channel(t, "webhook", adapter.Config{Egress: home(),
		TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	if err := trusting.Deliver(t.Context(), target("webhook", srv.URL+way), sample()); err != nil {
		t.Error(err)
	}
	err := channel(t, "webhook", adapter.Config{Egress: home()}).
		Deliver(t.Context(), target("webhook", srv.URL+way), sample())
	if err == nil || !strings.Contains(err.Error(), "not trusted") || notify.Refused.Is(err) {
		t.Errorf("a stranger: %v", err)
	}
}

// TestTaken checks that a success status counts, whatever follows in the body.
func TestTaken(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"nothing": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"a large answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1073741824")
			_, _ = w.Write(make([]byte, 1<<20))
		},
		"an endless one": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		srv := httptest.NewServer(answer)
		if err := within(t, 20*time.Second, channel(t, "webhook", adapter.Config{Egress: home()}),
			target("webhook", srv.URL)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		srv.Close()
	}
}

// TestAnswers checks what an error repeats of an answer, and that it repeats nothing of the request.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ media, body, want string }{
		"a word": {"text/plain; charset=utf-8", "no_service", ": no_service"},
		"JSON": {"application/json", `{"message": "Unknown Webhook", "code": 10015}`,
			`: {"message": "Unknown Webhook", "code": 10015}`},
		"a problem":       {"application/problem+json", `{"title":"gone"}`, `: {"title":"gone"}`},
		"a page":          {"text/html", "<h1>no</h1>", ""},
		"nothing":         {"text/plain", "", ""},
		"no type":         {"", "\x00\x01", ""},
		"lines":           {"text/plain", "a\r\n\x1b[31mb\u202e c", ": a [31mb c"},
		"the path":        {"text/plain", "no route for " + way, ": no route for ***"},
		"a part of it":    {"text/plain", "c4naryPATH0123456789abcdef is unknown", ": *** is unknown"},
		"in capitals":     {"text/plain", "C4NARYPATH0123456789ABCDEF is unknown", ": *** is unknown"},
		"with joiners":    {"text/plain", "c4nary\u200bPATH0123\u200d456789\u2060abcdef is unknown", ": *** is unknown"},
		"a piece of it":   {"text/plain", "0123456789ab... is unknown", ""},
		"the key":         {"text/plain", "key " + key, ": key ***"},
		"the key escaped": {"text/plain", "key c4naryKEY0123456789abcdef%20", ": key ***%20"},
		"long": {"text/plain", strings.Repeat("xy ", 1000),
			": " + strings.TrimSpace(strings.Repeat("xy ", 53)) + "…"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{c.media}
			w.WriteHeader(http.StatusGone)
			_, _ = w.Write([]byte(c.body))
		}))
		err := within(t, 20*time.Second, channel(t, "webhook", adapter.Config{Egress: home()}),
			target("webhook", srv.URL+way))
		want := "the webhook target at " + srv.Listener.Addr().String() + " answered with status 410" + c.want
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, want)
		}
		srv.Close()
	}
}
