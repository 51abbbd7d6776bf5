package httpserver_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/httpserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg httpserver.Config, h http.HandlerFunc) *httpserver.Server {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	s := httpserver.New(cfg, slog.New(slog.DiscardHandler))
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Serve(h, func(err error) { t.Errorf("serving ended: %v", err) })
	t.Cleanup(func() {
		if err := s.End(context.Background()); err != nil {
			t.Errorf("end: %v", err)
		}
	})
	return s
}

func dial(t *testing.T, s *httpserver.Server) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// oneShot is a client that leaves no idle connection behind.
func oneShot() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }

// TestSlowHeader ends a client that sends its header too slowly while others are served.
func TestSlowHeader(t *testing.T) {
	t.Parallel()
	s := start(t, httpserver.Config{HeaderTimeout: 100 * time.Millisecond}, hello)
	slow := dial(t, s)
	if _, err := io.WriteString(slow, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, oneShot(), "http://"+s.Addr().String()); code != 200 || body != "hello" {
		t.Errorf("beside a slow client: %d %q", code, body)
	}
	if _, err := io.ReadAll(slow); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the slow client: %v", err)
	}
}

// TestSlowBody ends a client that sends its body too slowly.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	got := make(chan error, 1)
	s := start(t, httpserver.Config{BodyTimeout: 100 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		got <- err
	})
	c := dial(t, s)
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nfew"); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("the handler read %v", err)
	}
}

// TestStreamOutlivesTimeouts checks that no limit ends a silent stream.
func TestStreamOutlivesTimeouts(t *testing.T) {
	t.Parallel()
	short := 50 * time.Millisecond
	cfg := httpserver.Config{HeaderTimeout: short, BodyTimeout: short, IdleTimeout: short, StallTimeout: short}
	s := start(t, cfg, func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			select {
			case <-time.After(3 * short):
			case <-r.Context().Done():
				return
			}
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	})
	if code, body := get(t, oneShot(), "http://"+s.Addr().String()); code != 200 ||
		body != "data: 0\n\ndata: 1\n\ndata: 2\n\n" {
		t.Errorf("%d %q", code, body)
	}
}

// TestLongAnswerToABody checks that the body's limit does not apply to the answer.
func TestLongAnswerToABody(t *testing.T) {
	t.Parallel()
	s := start(t, httpserver.Config{BodyTimeout: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-time.After(200 * time.Millisecond):
			_, _ = io.WriteString(w, "late")
		case <-r.Context().Done():
		}
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Addr().String(),
		strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := oneShot().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "late" {
		t.Errorf("%q %v", b, err)
	}
}

// TestStalledReader ends a handler whose client reads nothing.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := start(t, httpserver.Config{StallTimeout: 100 * time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 1<<20)
		for {
			if _, err := w.Write(block); err != nil {
				ended <- err
				return
			}
		}
	})
	c := dial(t, s)
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the handler writes to a client that takes nothing")
	}
}

func TestConnectionCap(t *testing.T) {
	t.Parallel()
	s := start(t, httpserver.Config{MaxConns: 2}, hello)
	a, b := dial(t, s), dial(t, s)
	answer := func(c net.Conn) <-chan string {
		out := make(chan string, 1)
		go func() {
			line, _ := bufio.NewReader(c).ReadString('\n')
			out <- line
		}()
		return out
	}
	ask := func(c net.Conn) {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []net.Conn{a, b} {
		ask(c)
		if line := <-answer(c); !strings.Contains(line, "200") {
			t.Fatalf("%q", line)
		}
	}
	third := dial(t, s)
	ask(third)
	got := answer(third)
	select {
	case line := <-got:
		t.Fatalf("a third connection was served: %q", line)
	case <-time.After(100 * time.Millisecond):
	}
	_ = a.Close()
	if line := <-got; !strings.Contains(line, "200") {
		t.Errorf("after one has closed: %q", line)
	}
}

// TestTwoSteps closes the address first while a stream continues, and then ends the stream.
func TestTwoSteps(t *testing.T) {
	t.Parallel()
	entered, left := make(chan struct{}), make(chan struct{})
	s := start(t, httpserver.Config{EndGrace: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "open\n")
		_ = http.NewResponseController(w).Flush()
		close(entered)
		<-r.Context().Done()
		close(left)
	})
	c := dial(t, s)
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String()); err == nil {
		t.Error("a closed server takes a connection")
	}
	select {
	case <-left:
		t.Error("close ends a stream")
	case <-time.After(50 * time.Millisecond):
	}
	if err := s.End(t.Context()); err != nil {
		t.Errorf("end: %v", err)
	}
	<-left
}

func TestListenErrors(t *testing.T) {
	t.Parallel()
	taken := start(t, httpserver.Config{}, hello)
	second := httpserver.New(httpserver.Config{Addr: taken.Addr().String()}, slog.New(slog.DiscardHandler))
	if err := second.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "in use; stop the process") {
		t.Errorf("%v", err)
	}
	noCert := httpserver.New(httpserver.Config{Addr: "127.0.0.1:0", TLSCert: "/none", TLSKey: "/none"},
		slog.New(slog.DiscardHandler))
	if err := noCert.Open(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "tls-cert, tls-key: ") {
		t.Errorf("a missing certificate: %v", err)
	}
	if err := noCert.End(t.Context()); err != nil {
		t.Errorf("the end of a server that never listened: %v", err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := selfSigned(t)
	s := start(t, httpserver.Config{TLSCert: cert, TLSKey: key}, hello)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(tr.CloseIdleConnections)
	if code, body := get(t, &http.Client{Transport: tr}, s.Scheme()+"://"+s.Addr().String()); code != 200 ||
		body != "hello" || s.Scheme() != "https" {
		t.Errorf("%d %q %s", code, body, s.Scheme())
	}
}

func selfSigned(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{certFile: certPEM,
		keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}
