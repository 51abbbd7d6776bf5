package oidc

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"github.com/writ-automation/writ/e2e/harness"
)

const (
	// site is the public address of the server. The real port is known only after the start, so that the browser's
	// dialer maps the address to it.
	site   = "http://127.0.0.1:9"
	login  = "/auth/oidc/login"
	secret = "c4nary-client-secret"
	asJSON = "application/json"
)

// install is a server, its provider, and the secrets that the server must not print.
type install struct {
	*harness.Server
	idp *mockoidc.MockOIDC
	mu  sync.Mutex
	saw []string
}

// newProvider makes a provider that is not started.
func newProvider(t *testing.T) *mockoidc.MockOIDC {
	t.Helper()
	m, err := mockoidc.NewServer(nil)
	if err != nil {
		t.Fatal(err)
	}
	m.ClientSecret = secret
	return m
}

// listen starts a provider and stops it when the test ends. It returns its address.
func listen(t *testing.T, m *mockoidc.MockOIDC) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(l, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(); err != nil {
			t.Errorf("stop the provider: %v", err)
		}
	})
	return m.Server.Addr
}

// start starts a server for a provider at an address.
func start(t *testing.T, m *mockoidc.MockOIDC, addr string, flags ...string) *install {
	t.Helper()
	all := append([]string{
		"--oidc-issuer", "http://" + addr + mockoidc.IssuerBase, "--oidc-client-id", m.ClientID, "--oidc-redirect-url",
		site + "/auth/oidc/callback",
		"--oidc-groups-claim", "groups", "--oidc-role-map", "engineers=operator", "--oidc-role-map", "chiefs=admin",
	}, flags...)
	s := harness.Start(t, harness.Options{Flags: all, Env: []string{"WRIT_OIDC_CLIENT_SECRET=" + secret}})
	i := &install{Server: s, idp: m, saw: []string{secret}}
	t.Cleanup(func() { i.checkOutput(t) })
	return i
}

// up starts both.
func up(t *testing.T, flags ...string) *install {
	t.Helper()
	m := newProvider(t)
	return start(t, m, listen(t, m), flags...)
}

// checkOutput searches the output of the server for secrets.
func (i *install) checkOutput(t *testing.T) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.saw {
		if s != "" && strings.Contains(i.Output(), s) {
			t.Errorf("the server printed the secret %s", s)
		}
	}
}

// secrets adds texts that the server must not print.
func (i *install) secrets(all ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.saw = append(i.saw, all...)
}

func user(name string, groups ...string) *mockoidc.MockUser {
	return &mockoidc.MockUser{Subject: "subject-of-" + name, PreferredUsername: name, Email: name + "@example.com",
		EmailVerified: true, Groups: groups}
}

// browser keeps cookies, follows redirects and records them. It does not follow the redirect to the pages of the
// product.
type browser struct {
	*http.Client
	i      *install
	t      *testing.T
	accept string
	way    []*url.URL
	hold   bool // stop before the callback
}

func (i *install) browser(t *testing.T, accept string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{i: i, t: t, accept: accept}
	server := strings.TrimPrefix(i.URL, "http://")
	var d net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == strings.TrimPrefix(site, "http://") {
			addr = server
		}
		return d.DialContext(ctx, network, addr)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	b.Client = &http.Client{Jar: jar, Transport: transport,
		CheckRedirect: func(req *http.Request, _ []*http.Request) error {
			b.way = append(b.way, req.URL)
			q := req.URL.Query()
			i.secrets(q.Get("code"), q.Get("state"), q.Get("nonce"))
			if b.hold && strings.HasSuffix(req.URL.Path, "/callback") || strings.HasPrefix(req.URL.Path, "/ui") {
				return http.ErrUseLastResponse
			}
			return nil
		}}
	return b
}

// page is an answer, read whole.
type page struct {
	*http.Response
	body []byte
}

// send sends a request to the server; headers come in pairs.
func (b *browser) send(method, address, body string, header ...string) page {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = site + address
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Accept", b.accept)
	if body != "" {
		req.Header.Set("Content-Type", asJSON)
	}
	for n := 0; n+1 < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	resp, err := b.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, address, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range resp.Cookies() {
		b.i.secrets(c.Value)
	}
	return page{resp, data}
}

// signIn performs the whole sign-in as a user of the provider.
func (b *browser) signIn(u *mockoidc.MockUser) page {
	b.t.Helper()
	b.way = nil
	b.i.idp.QueueUser(u)
	return b.send(http.MethodGet, login, "")
}

// callback performs the sign-in up to the server's callback and returns the address of the callback.
func (b *browser) callback(u *mockoidc.MockUser) string {
	b.t.Helper()
	b.hold = true
	defer func() { b.hold = false }()
	p := b.signIn(u)
	to, err := p.Location()
	if err != nil || !strings.HasPrefix(to.String(), site+"/auth/oidc/callback?") {
		b.t.Fatalf("the way ended with %s at %v: %v\n%s", p.Status, to, err, p.body)
	}
	return to.String()
}

// account is an account in answers.
type account struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Role     string `json:"role"`
}

// session is the session of a program.
type session struct {
	Token     string  `json:"token"`
	ExpiresAt string  `json:"expires_at"`
	User      account `json:"user"`
}

func (p page) decode(t *testing.T, status int, out any) {
	t.Helper()
	if p.StatusCode != status {
		t.Fatalf("%s, want %d\n%s", p.Status, status, p.body)
	}
	if err := json.Unmarshal(p.body, out); err != nil {
		t.Fatalf("%v\n%s", err, p.body)
	}
}

// wantProblem checks for a problem document with a reason and without a session.
func (p page) wantProblem(t *testing.T, status int, reason string) {
	t.Helper()
	var problem struct {
		Reason string `json:"reason"`
		Detail string `json:"detail"`
		Token  string `json:"token"`
	}
	p.decode(t, status, &problem)
	if problem.Reason != reason || problem.Token != "" || strings.Contains(string(p.body), "writ_") {
		t.Errorf("%s", p.body)
	}
	for _, c := range p.Cookies() {
		if strings.Contains(c.Value, "writ_") {
			t.Errorf("a session in the cookie %s", c.Name)
		}
	}
}
