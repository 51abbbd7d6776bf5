package oidc_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	store "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sso/oidc"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

const wellKnown = "/.well-known/openid-configuration"

// at answers a path with a function.
func at(path string, fn func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == path {
			fn(w, r)
		}
		return r.URL.Path == path
	}
}

// TestDescriptionDefects covers providers with an unusable description.
// Keeps T28.
func TestDescriptionDefects(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, c := range map[string]struct {
		document func(object)
		cause    string
	}{
		"another issuer": {with("issuer", "https://evil.example.com"), "did not match"},
		"no issuer":      {without("issuer"), "did not match"},
		"HS256 alone": {with("id_token_signing_alg_values_supported", []string{"HS256", "none"}),
			"it signs with HS256, none"},
		"no token":         {without("token_endpoint"), "the token endpoint is no http or https address"},
		"no authorization": {without("authorization_endpoint"), "the authorization endpoint is no http or https address"},
		"a script":         {with("authorization_endpoint", "javascript:alert(1)"), "the authorization endpoint is no"},
		"no keys":          {without("jwks_uri"), "the key set is no http or https address"},
		"keys of a file":   {with("jwks_uri", "file:///etc/passwd"), "the key set is no http or https address"},
		"userinfo of a": {with("userinfo_endpoint", "gopher://127.0.0.1"),
			"the userinfo endpoint is no http or https address"},
		"of another type": {with("jwks_uri", 7), "unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, d, func(i *idp) { i.document = c.document }, nil)
			ch, err := s.Begin(t.Context())
			s.wantRefused(t, identity.External{}, err, fault.Unavailable, c.cause)
			if ch != (identity.Challenge{}) || !strings.Contains(s.log.String(), "was not read") {
				t.Errorf("%+v, log %q", ch, s.log)
			}
			e, err := s.Complete(t.Context(), map[string][]string{"state": {"s"}, "code": {"c"}}, "b", false)
			s.wantRefused(t, e, err, fault.Unavailable, c.cause)
		})
	}
	s := newSite(t, d, func(i *idp) { i.document = without("id_token_signing_alg_values_supported") }, nil)
	if _, err := s.signIn(t); err != nil {
		t.Errorf("a provider that names no algorithm, with the usual one: %v", err)
	}
}

// TestDescriptionStaysWithTLS: an issuer with TLS cannot send codes, tokens or browsers to plain http.
func TestDescriptionStaysWithTLS(t *testing.T) {
	t.Parallel()
	d := open(t)
	for member, what := range map[string]string{
		"": "", "authorization_endpoint": "authorization endpoint", "token_endpoint": "token endpoint", "jwks_uri": "key set",
		"userinfo_endpoint": "userinfo endpoint",
	} {
		var tls *httptest.Server
		tls = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			doc := object{"issuer": tls.URL}
			for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"} {
				doc[name] = tls.URL + "/" + name
			}
			if member != "" {
				doc[member] = strings.Replace(tls.URL, "https:", "http:", 1)
			}
			reply(w, http.StatusOK, doc)
		}))
		t.Cleanup(tls.Close)
		cfg := oidc.Config{Issuer: tls.URL, ClientID: clientID, RedirectURL: redirectURL}
		p, err := oidc.New(cfg, store.New(d), &notes{}, d, &hand{}, tls.Client(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ch, err := p.Begin(t.Context())
		if member == "" {
			if err != nil || !strings.HasPrefix(ch.URL, tls.URL) {
				t.Errorf("%+v %v", ch, err)
			}
			continue
		}
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "the "+what+" is without TLS") ||
			ch.URL != "" {
			t.Errorf("%s: %+v %v", member, ch, err)
		}
	}
}

// TestDescriptionStaysOnLoopback: other hosts in the description of an issuer on loopback need TLS, and no redirect
// evades that.
func TestDescriptionStaysOnLoopback(t *testing.T) {
	t.Parallel()
	d := open(t)
	for member, what := range map[string]string{
		"authorization_endpoint": "authorization endpoint", "token_endpoint": "token endpoint", "jwks_uri": "key set",
		"userinfo_endpoint": "userinfo endpoint",
	} {
		for address, ok := range map[string]bool{"http://id.example.com/x": false, "https://id.example.com/x": true,
			"http://[::1]:1/x": true} {
			s := newSite(t, d, func(i *idp) { i.document = func(o object) { o[member] = address } }, nil)
			c, err := s.Begin(t.Context())
			switch {
			case ok && (err != nil || c.URL == ""):
				t.Errorf("%s at %s: %v", member, address, err)
			case !ok:
				s.wantRefused(t, identity.External{}, err, fault.Unavailable, "the "+what+" needs https beyond loopback")
			}
		}
	}
	s := newSite(t, d, func(i *idp) {
		i.instead = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == wellKnown {
				http.Redirect(w, r, "http://id.example.com"+wellKnown, http.StatusFound)
			}
			return r.URL.Path == wellKnown
		}
	}, nil)
	_, err := s.Begin(t.Context())
	s.wantRefused(t, identity.External{}, err, fault.Unavailable, "the redirect needs https beyond loopback")
}

// TestProviderThatIsDown starts sign-ins before and after the provider answers.
func TestProviderThatIsDown(t *testing.T) {
	t.Parallel()
	down := true
	s := newSite(t, open(t), nil, nil)
	s.idp.change(func() {
		s.idp.instead = func(w http.ResponseWriter, _ *http.Request) bool {
			s.idp.mu.Lock()
			defer s.idp.mu.Unlock()
			if down {
				w.WriteHeader(http.StatusBadGateway)
			}
			return down
		}
	})
	for range 5 { // a failed request delays the next one
		_, err := s.Begin(t.Context())
		s.wantRefused(t, identity.External{}, err, fault.Unavailable, "502")
	}
	if n := s.idp.asked(wellKnown); n != 1 {
		t.Errorf("a provider that is down was asked %d times", n)
	}
	s.idp.change(func() { down = false })
	s.clock.turn(3 * time.Second)
	if e, err := s.signIn(t); err != nil || e.Username != "ada" {
		t.Errorf("a provider that is back: %+v %v", e, err)
	}
	// The cached description stays in use during a short outage.
	s.idp.change(func() { down = true })
	s.clock.turn(11 * time.Minute)
	if _, err := s.Begin(t.Context()); err != nil {
		t.Errorf("away for eleven minutes: %v", err)
	}
	s.clock.turn(time.Hour)
	_, err := s.Begin(t.Context())
	s.wantRefused(t, identity.External{}, err, fault.Unavailable, "502")
}

// TestDescriptionIsSharedAndRenewed: one fetch serves all waiting callers, and revoked keys are dropped.
func TestDescriptionIsSharedAndRenewed(t *testing.T) {
	t.Parallel()
	s := newSite(t, open(t), nil, nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := s.Begin(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.idp.asked(wellKnown); n != 1 {
		t.Errorf("the description was fetched %d times", n)
	}
	old := s.idp.signer
	sign := func() (identity.External, error) { t.Helper(); return s.signIn(t) }
	if _, err := sign(); err != nil {
		t.Fatal(err)
	}
	s.idp.change(func() { // a new key
		s.idp.signer = newKey(t, "k2", "ES256", 0)
		s.idp.public = []key{old, s.idp.signer}
	})
	if _, err := sign(); err != nil {
		t.Errorf("a new key: %v", err)
	}
	if n := s.idp.asked("/keys"); n != 2 {
		t.Errorf("keys were fetched %d times", n)
	}
	s.idp.change(func() { // the old one is revoked after a theft
		s.idp.public = []key{s.idp.signer}
		s.idp.signer = old
	})
	s.clock.turn(11 * time.Minute)
	e, err := sign()
	s.wantRefused(t, e, err, fault.Unauthenticated, "signature")
}

// TestHugeAnswers sends larger answers than the limit.
func TestHugeAnswers(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, path := range []string{wellKnown, "/keys", "/token", "/userinfo"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, d, func(i *idp) {
				i.instead = at(path, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(`{"a":"`))
					junk := []byte(strings.Repeat("a", 1<<16))
					for range 64 {
						if _, err := w.Write(junk); err != nil {
							return
						}
					}
				})
			}, func(cfg *oidc.Config) { cfg.GroupsClaim = "groups" })
			if path == wellKnown {
				_, err := s.Begin(t.Context())
				s.wantRefused(t, identity.External{}, err, fault.Unavailable, "too large")
				return
			}
			e, err := s.signIn(t)
			cause := "too large"
			if path == "/token" { // the library truncates the answer and reports the missing part
				cause = "the code was not exchanged"
			}
			s.wantRefused(t, e, err, fault.Unauthenticated, cause)
			if len(err.Error()) > 1000 {
				t.Errorf("the error is %d long", len(err.Error()))
			}
		})
	}
}

// TestSlowProvider waits only for the client's timeout.
func TestSlowProvider(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, path := range []string{wellKnown, "/keys", "/token", "/userinfo"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, d, func(i *idp) {
				i.instead = at(path, func(_ http.ResponseWriter, r *http.Request) { _ = r.ParseForm(); <-r.Context().Done() })
			},
				func(cfg *oidc.Config) { cfg.GroupsClaim = "groups" })
			s.Provider = s.provider(t, 2*time.Second)
			if path == wellKnown {
				_, err := s.Begin(t.Context())
				s.wantRefused(t, identity.External{}, err, fault.Unavailable, "exceeded")
				return
			}
			e, err := s.signIn(t)
			s.wantRefused(t, e, err, fault.Unavailable, "exceeded")
		})
	}
}

// TestProviderThatFails returns errors of the provider.
func TestProviderThatFails(t *testing.T) {
	t.Parallel()
	d := open(t)
	for path, cause := range map[string]string{"/token": "the token endpoint answered 503",
		"/userinfo": "the userinfo endpoint answered 503"} {
		s := newSite(t, d, func(i *idp) {
			i.instead = at(path, func(w http.ResponseWriter, r *http.Request) {
				_ = r.ParseForm()
				http.Error(w, r.PostForm.Encode()+r.Header.Get("Authorization"), http.StatusServiceUnavailable)
			})
		}, func(cfg *oidc.Config) { cfg.GroupsClaim = "groups" })
		e, err := s.signIn(t)
		s.wantRefused(t, e, err, fault.Unavailable, cause)
	}
}
