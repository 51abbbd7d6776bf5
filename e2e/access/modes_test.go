package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// operations lists the documented operations of a server: method and path, with ids that no object has.
func operations(t *testing.T, c harness.Client) [][3]string {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			ID      string `json:"operationId"`
			Mutates bool   `json:"x-mutates"`
		} `json:"paths"`
	}
	c.As("").Do(http.MethodGet, "/openapi.json", nil).JSON(t, &doc)
	var out [][3]string
	for path, methods := range doc.Paths {
		for method, op := range methods {
			mutates := "reads"
			if op.Mutates {
				mutates = "mutates"
			}
			path := strings.NewReplacer("{id}", "x_00000000000000000000000000", "{userID}", "usr_00000000000000000000000000").
				Replace(path)
			out = append(out, [3]string{strings.ToUpper(method), path, mutates})
		}
	}
	if len(out) < 50 {
		t.Fatalf("the document has %d operations", len(out))
	}
	return out
}

// TestReadOnly checks that every mutation is refused, except for signing in and out.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	made(t, s.Client, "/v1/users", harness.Body{"username": "ola", "role": "viewer", "password": password})
	var second struct{ Token string }
	ada := made(t, s.Client, "/v1/users", harness.Body{"username": "ada", "role": "admin"})
	want(t, s.Client, http.MethodPost, "/v1/tokens", harness.Body{"user_id": ada, "name": "second"}, 201).JSON(t, &second)
	run := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "true"}).ID)
	s.Stop()
	s.Flags = []string{"--read-only"}
	s = s.Again()
	_, rows := s.Runs("")
	for i, op := range operations(t, s.Client) {
		if op[1] == "/v1/auth/logout" { // it would end the only session of this test
			continue
		}
		c := s.As([]string{s.Token, second.Token}[i%2]) // so that neither has too many refusals
		a := c.Do(op[0], op[1], nil)
		refused := a.Status == 403 && reason(t, a) == "read_only"
		if refused != (op[2] == "mutates") {
			t.Errorf("%s %s, which %s: %d %.200s", op[0], op[1], op[2], a.Status, a.Body)
		}
	}
	own, a := login(t, s.Client, "ola", password)
	if a.Status != 200 {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	want(t, s.As(own.Token), http.MethodGet, "/v1/runs/"+run.ID+"/logs", nil, 200)
	want(t, s.As(own.Token), http.MethodPost, "/v1/runs/"+run.ID+"/stream-ticket", nil, 200)
	if a := want(t, s.As(own.Token), http.MethodPost, "/v1/runs", on("x"), 403); reason(t, a) != "forbidden" {
		t.Errorf("a viewer is told %s: the role comes before the mode", a.Body)
	}
	want(t, s.As(""), http.MethodPost, "/v1/runs", on("x"), 401)
	want(t, s.As(own.Token), http.MethodPost, "/v1/auth/logout", nil, 204)
	if _, now := s.Runs(""); now != rows {
		t.Errorf("%d runs, %d before", now, rows)
	}
}

// TestHeadersOnEveryRoute: every answer has the security headers.
// Keeps T27.
func TestHeadersOnEveryRoute(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for _, op := range append(operations(t, s.Client), [3]string{"GET", "/nowhere"}, [3]string{"GET", "/"},
		[3]string{"GET", "/ui/"}, [3]string{"GET", "/docs"}, [3]string{"PATCH", "/v1/runs"}) {
		for _, token := range []string{"", s.Token} {
			if op[1] == "/v1/auth/logout" {
				token = ""
			}
			a := s.As(token).Do(op[0], op[1], nil)
			h := a.Header
			csp := h.Get("Content-Security-Policy")
			if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(csp, "frame-ancestors 'none'") ||
				strings.Contains(csp, "unsafe-inline") && strings.Contains(csp, "script-src 'unsafe-inline'") ||
				h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Request-Id") == "" ||
				h.Get("Strict-Transport-Security") != "" {
				t.Errorf("%s %s: %d %v", op[0], op[1], a.Status, h)
			}
		}
	}
}

// TestOwnCertificate serves only TLS, with HSTS and the rules of secure session cookies, and reads a renewed
// certificate.
func TestOwnCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pool := x509.NewCertPool()
	serial := issue(t, cert, key, pool)
	s := harness.Start(t, harness.Options{Flags: []string{"--tls-cert", cert, "--tls-key", key},
		TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	a := want(t, s.Client, http.MethodGet, "/v1/auth/me", nil, 200)
	if !strings.HasPrefix(a.Header.Get("Strict-Transport-Security"), "max-age=") {
		t.Errorf("HSTS is %q", a.Header.Get("Strict-Transport-Security"))
	}
	if resp, err := http.Get(strings.Replace(s.URL, "https://", "http://", 1) + "/healthz"); err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Error("plain http is answered as well")
		}
	}
	served := func() string {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"),
			&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	if served() != serial {
		t.Error("another certificate is served")
	}
	renewed := issue(t, cert, key, pool)
	harness.Eventually(t, 30*time.Second, "the renewed certificate is served", func() bool { return served() == renewed })
	if _, err := harness.Launch(t, harness.Options{Flags: []string{"--tls-cert", cert}}); err == nil {
		t.Error("a certificate without its key starts a server")
	}
}

// issue writes a self-signed pair for the loopback address and adds it to the pool.
func issue(t *testing.T, certFile, keyFile string, pool *x509.CertPool) (serial string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	number := big.NewInt(time.Now().UnixNano())
	tmpl := &x509.Certificate{SerialNumber: number, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		certFile: certPEM} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool.AppendCertsFromPEM(certPEM)
	return number.String()
}

// TestBehindATLSProxy runs a server behind a proxy that ends TLS: the public address decides on HSTS and cookies, the
// proxy's header gives the client's address, and a client's own header has no effect.
func TestBehindATLSProxy(t *testing.T) {
	t.Parallel()
	front := httptest.NewUnstartedServer(nil)
	public := "https://" + front.Listener.Addr().String()
	s := harness.Start(t, harness.Options{Flags: []string{"--public-url", public, "--trusted-proxies", "127.0.0.1/32"}})
	back, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	front.Config.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
		r.SetURL(back)
		r.SetXForwarded()
	}}
	front.StartTLS()
	t.Cleanup(front.Close)
	c := harness.NewClient(t, public, s.Token)
	c.Via = front.Client()
	a := want(t, c, http.MethodGet, "/v1/auth/me", nil, 200, "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto",
		"gopher", "Forwarded", "host=evil.example")
	if !strings.HasPrefix(a.Header.Get("Strict-Transport-Security"), "max-age=") ||
		strings.Contains(string(a.Body), "evil") {
		t.Errorf("%v %s", a.Header, a.Body)
	}
	run := c.Submit(harness.Body{"tool": "bash", "command": "echo over tls"})
	if log := c.Log(c.Await(run.ID).ID); log != "over tls\n" {
		t.Errorf("the log is %q", log)
	}
	made := want(t, c, http.MethodPost, "/v1/runs", on("x"), 201, "X-Forwarded-Host", "evil.example", "Host",
		"evil.example")
	if loc := made.Header.Get("Location"); !strings.HasPrefix(loc, "/v1/runs/") && !strings.HasPrefix(loc, public) {
		t.Errorf("Location is %q", loc)
	}
}
