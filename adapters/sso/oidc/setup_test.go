package oidc_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	store "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/adapters/sso/oidc"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const redirectURL = "http://127.0.0.1:1/auth/oidc/callback"

// hand is a clock that tests set.
type hand struct {
	mu  sync.Mutex
	off time.Duration
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return clock.New().Now().Add(h.off)
}

func (h *hand) turn(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.off += d
}

// site is a Provider under test with its own identity provider.
type site struct {
	*oidc.Provider
	idp   *idp
	clock *hand
	log   *locked
	trail notes
	http  *http.Client
	cfg   oidc.Config
	d     *db.DB
}

// newBrowser returns a client that follows no redirects.
func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	c := &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// newSite creates a site over a database; turn changes the identity provider, alter the configuration.
func newSite(t *testing.T, d *db.DB, turn func(*idp), alter func(*oidc.Config)) *site {
	t.Helper()
	s := &site{clock: &hand{}, http: newBrowser(t), log: &locked{}, d: d}
	s.idp = newIDP(t, s.clock, turn)
	s.cfg = oidc.Config{Issuer: s.idp.URL, ClientID: clientID, Secret: clientSecret, RedirectURL: redirectURL}
	if alter != nil {
		alter(&s.cfg)
	}
	s.Provider = s.provider(t, 10*time.Second)
	return s
}

func (s *site) provider(t *testing.T, timeout time.Duration) *oidc.Provider {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}, Timeout: timeout}
	t.Cleanup(client.CloseIdleConnections)
	log := slog.New(slog.NewTextHandler(s.log, nil))
	p, err := oidc.New(s.cfg, store.New(s.d), &s.trail, s.d, s.clock, client, log)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// locked is a log for several goroutines.
type locked struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func open(t *testing.T) *db.DB {
	t.Helper()
	return dbtest.Open(t, db.SQLite, migrations.FS)
}

// begin begins a sign-in.
func (s *site) begin(t *testing.T) identity.Challenge {
	t.Helper()
	c, err := s.Begin(t.Context())
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	s.idp.change(func() { s.idp.secrets = append(s.idp.secrets, c.Binding) })
	return c
}

// visit opens the URL of a challenge and returns the parameters of the provider's redirect.
func (s *site) visit(t *testing.T, c identity.Challenge) url.Values {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		t.Fatalf("the provider answered %s: %v", resp.Status, err)
	}
	return to.Query()
}

// signIn runs the whole flow.
func (s *site) signIn(t *testing.T) (identity.External, error) {
	t.Helper()
	c := s.begin(t)
	return s.Complete(t.Context(), s.visit(t, c), c.Binding, false)
}

// wantRefused expects a fault of a kind without an identity: the message contains no details, the cause contains the
// expected text, and neither contains a secret.
func (s *site) wantRefused(t *testing.T, e identity.External, err error, kind fault.Kind, cause string) {
	t.Helper()
	if e.Link != (identity.Link{}) || e.Username != "" || e.Groups != nil {
		t.Errorf("somebody signed in: %+v", e)
	}
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != kind || kind == fault.Unauthenticated && !identity.BadSignIn.Is(err) {
		t.Fatalf("%v is no fault of kind %s", err, kind)
	}
	if f.Cause == nil || !strings.Contains(f.Cause.Error(), cause) {
		t.Errorf("the cause %q does not say %q", f.Cause, cause)
	}
	if n := strings.Count(f.Message, "."); n != 1 || strings.Contains(f.Message, cause) ||
		len(f.Fields)+len(f.Detail) != 0 {
		t.Errorf("the message %q tells more than it should", f.Message)
	}
	s.wantNoSecret(t, err.Error()+s.log.String())
}

func (s *site) wantNoSecret(t *testing.T, text string) {
	t.Helper()
	s.idp.mu.Lock()
	defer s.idp.mu.Unlock()
	for _, secret := range append(s.idp.secrets, "c4nary") {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("a text holds the secret %q: %s", secret, text)
		}
	}
}
