package egress_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/egress/egresstest"
)

// home is the policy of tests with a server of their own: it allows only 127.0.0.1 of the loopback network.
func home() egress.Policy { return egress.Policy{Allow: prefixes("127.0.0.1/32")} }

func newClient(t *testing.T, p egress.Policy, o egress.Options) *http.Client {
	t.Helper()
	c := egress.Client(p, o)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// get returns the body of an address and closes the response.
func get(t *testing.T, c *http.Client, address string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	return send(c, req)
}

func send(c *http.Client, req *http.Request) (string, error) {
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(resp.Body)
	return string(b), errors.Join(err, resp.Body.Close())
}

func TestClientGets(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	c := newClient(t, home(), egress.Options{})
	for range 3 {
		if body, err := get(t, c, s.URL); err != nil || body != "hello" {
			t.Fatalf("%q %v", body, err)
		}
	}
	if body, err := get(t, newClient(t, egress.Policy{Level: egress.PrivateAllowed}, egress.Options{}),
		s.URL); err != nil || body != "hello" {
		t.Errorf("the level for private networks: %q %v", body, err)
	}
}

// TestClientRefusesAddresses tries addresses that are not public http addresses, from the caller and from a redirect.
// Keeps T11.
func TestClientRefusesAddresses(t *testing.T) {
	t.Parallel()
	guarded := newSink(t, "127.0.0.2:0")
	any4 := newSink(t, "127.0.0.3:"+guarded.port())
	port := ":" + guarded.port()
	n := egresstest.NewNames(t, map[string][]string{"inside.test": {"127.0.0.2"}, "cloud.test": {"169.254.169.254"}})
	var target atomic.Value
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", target.Load().(string))
		w.WriteHeader(http.StatusFound)
	})
	c := newClient(t, home(), egress.Options{Resolver: n.Resolver()})
	for _, address := range []string{
		"http://127.0.0.2" + port, "http://[::ffff:127.0.0.2]" + port, "http://0x7f.2" + port, "http://2130706434" + port,
		"http://0177.0.0.2" + port, "http://127.2" + port, "http://0x7f000002" + port, "http://017700000002" + port,
		"http://\u2460\u2461\u2466.0.0.2" + port, "http://127.0.0.3" + port, "https://127.0.0.2" + port,
		"http://inside.test" + port, "http://cloud.test/latest/meta-data/", "http://169.254.169.254/latest/meta-data/",
		"http://[fd00:ec2::254]/latest/meta-data/", "http://100.100.100.200/", "http://[64:ff9b::a9fe:a9fe]/",
		"http://[2002:a9fe:a9fe::]/", "http://[fe80::1%25lo]" + port, "http://[::]" + port, "http://0" + port,
		"file:///etc/passwd", "gopher://127.0.0.2" + port + "/_x", "ftp://127.0.0.2" + port, "dict://127.0.0.2" + port,
		"unix:///run/x.sock",
	} {
		if body, err := get(t, c, address); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%s: %q %v", address, body, err)
		}
		target.Store(address)
		if body, err := get(t, c, s.URL); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("a redirect to %s: %q %v", address, body, err)
		}
	}
	if hits := guarded.stop() + any4.stop(); hits != 0 {
		t.Errorf("%d connections reached what is guarded", hits)
	}
}

// TestClientUsesNoProxy sets a proxy in the environment, which the standard library reads once per process.
func TestClientUsesNoProxy(t *testing.T) {
	proxy := newSink(t, "127.0.0.1:0")
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+proxy.port())
	}
	n := egresstest.NewNames(t, map[string][]string{"inside.test": {"127.0.0.2"}})
	c := newClient(t, home(), egress.Options{Resolver: n.Resolver()})
	for _, address := range []string{"http://inside.test", "https://inside.test"} {
		if _, err := get(t, c, address); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if hits := proxy.stop(); hits != 0 {
		t.Errorf("%d connections to the proxy", hits)
	}
}

func TestClientCapsRedirects(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		left := 0
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &left)
		if left > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusFound)
		}
	})
	c := newClient(t, home(), egress.Options{})
	if _, err := get(t, c, fmt.Sprintf("%s/%d", s.URL, egress.MaxRedirects)); err != nil {
		t.Errorf("%d redirects: %v", egress.MaxRedirects, err)
	}
	hits.Store(0)
	if _, err := get(t, c, s.URL+"/1000"); !errors.Is(err, egress.ErrRefused) {
		t.Errorf("1000 redirects: %v", err)
	}
	if n := hits.Load(); n != egress.MaxRedirects+1 {
		t.Errorf("%d requests", n)
	}
}

// TestClientKeepsCredentials redirects a request full of secrets to another origin, and there and back again.
// Keeps T11.
func TestClientKeepsCredentials(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 4)
	var back atomic.Value
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Clone()
		if r.URL.Path == "/return" {
			http.Redirect(w, r, back.Load().(string)+"/end", http.StatusFound)
		}
	})
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/end", "/near":
			seen <- r.Header.Clone()
		case "/self":
			http.Redirect(w, r, "/near", http.StatusFound)
		case "/keep":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/user":
			http.Redirect(w, r, strings.Replace(other.URL, "://", "://someone:word@", 1), http.StatusFound)
		default:
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
		}
	})
	back.Store(first.URL)
	c := newClient(t, home(), egress.Options{})
	ask := func(method, path, body string) error {
		req, err := http.NewRequestWithContext(t.Context(), method, first.URL+path+"?code=c4nary", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer c4nary")
		req.Header.Set("X-Api-Key", "c4nary")
		req.Header.Set("Cookie", "s=c4nary")
		req.Header.Set("Accept", "text/plain")
		_, err = send(c, req)
		return err
	}
	if err := ask(http.MethodGet, "/return", ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if h := <-seen; strings.Contains(fmt.Sprint(h), "c4nary") || h.Get("Accept") != "text/plain" {
			t.Errorf("another origin saw %v", h)
		}
	}
	if err := ask(http.MethodGet, "/self", ""); err != nil {
		t.Fatal(err)
	}
	if h := <-seen; h.Get("X-Api-Key") != "c4nary" || h.Get("Authorization") != "Bearer c4nary" || h.Get("Referer") != "" {
		t.Errorf("the own origin saw %v", h)
	}
	for _, path := range []string{"/keep", "/user"} {
		if err := ask(http.MethodPost, path, "client_secret=c4nary"); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(seen) != 0 {
		t.Errorf("another origin saw %v", <-seen)
	}
}

func TestClientStaysWithTLS(t *testing.T) {
	t.Parallel()
	plain := newSink(t, "127.0.0.1:0")
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, "http://127.0.0.1:"+plain.port(), http.StatusFound)
		}
	}))
	t.Cleanup(s.Close)
	trusting := s.Client().Transport.(*http.Transport).TLSClientConfig
	c := newClient(t, home(), egress.Options{TLS: trusting})
	if _, err := get(t, c, s.URL); err != nil {
		t.Errorf("a trusted server: %v", err)
	}
	if _, err := get(t, c, s.URL+"/down"); !errors.Is(err, egress.ErrRefused) {
		t.Errorf("a redirect to plain text: %v", err)
	}
	if _, err := get(t, newClient(t, home(), egress.Options{}), s.URL); err == nil || errors.Is(err, egress.ErrRefused) {
		t.Errorf("an unknown certificate: %v", err)
	}
	if hits := plain.stop(); hits != 0 {
		t.Errorf("%d connections in plain text", hits)
	}
}

// TestClientCapsAnswers sends too much: with a length, without one, and compressed.
func TestClientCapsAnswers(t *testing.T) {
	t.Parallel()
	const most = 1 << 10
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/packed":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		case "/announced":
			w.Header().Set("Content-Length", "4096")
			_, _ = w.Write(make([]byte, 4096))
		case "/exact":
			_, _ = w.Write(make([]byte, most))
		default:
			for range 64 {
				_, _ = w.Write(make([]byte, most))
			}
		}
	})
	c := newClient(t, home(), egress.Options{MaxAnswer: most})
	if body, err := get(t, c, s.URL+"/exact"); err != nil || len(body) != most {
		t.Errorf("exactly what is taken: %d bytes, %v", len(body), err)
	}
	for _, path := range []string{"/packed", "/announced", "/endless"} {
		if body, err := get(t, c, s.URL+path); !errors.Is(err, egress.ErrTooLarge) || len(body) > most {
			t.Errorf("%s: %d bytes, %v", path, len(body), err)
		}
	}
	if b, err := egress.ReadAll(strings.NewReader("12345"), 5); err != nil || string(b) != "12345" {
		t.Errorf("%q %v", b, err)
	}
	if b, err := egress.ReadAll(strings.NewReader("123456"), 5); !errors.Is(err, egress.ErrTooLarge) || b != nil {
		t.Errorf("%q %v", b, err)
	}
}

// TestClientTimesOut uses a server that sends headers and then nothing.
func TestClientTimesOut(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})
	c := newClient(t, home(), egress.Options{Timeout: 50 * time.Millisecond})
	for _, path := range []string{"/head", "/body"} {
		var late interface{ Timeout() bool }
		if _, err := get(t, c, s.URL+path); !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://example.com": true, "http://example.com:8080/a?b": true, "http://10.0.0.1": true, "http://[::1]:80": true,
		"HTTPS://EXAMPLE.COM": true, "https://xn--bcher-kva.example": true,
		"https://": false, "https:example.com": false, "//example.com": false, "javascript:alert(1)": false, "data:,x": false,
		"https://1.2.3": false, "https://1.2.3.4.": false, "https://0XFF": false, "https://host.09": false,
		"https://a.0x": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := egress.CheckURL(u); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := egress.CheckURL(nil); err == nil {
		t.Error("no address")
	}
}
