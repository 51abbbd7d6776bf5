package oidc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	store "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/adapters/sso/oidc"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// TestSignIn runs the regular flow with keys of each family.
func TestSignIn(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		for _, alg := range []string{"RS256", "PS256", "ES256", "EdDSA"} {
			s := newSite(t, d, func(i *idp) { i.signer = newKey(t, "k-"+alg, alg, 0); i.public = []key{i.signer} }, nil)
			got, err := s.signIn(t)
			if err != nil {
				t.Fatalf("%s: %v", alg, err)
			}
			want := identity.External{
				Link: identity.Link{Protocol: identity.OIDC, Issuer: s.idp.URL, Subject: "s-1"}, Username: "ada", FullName: "Ada L",
				Email: "ada@example.com",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", alg, diff)
			}
			if n := s.idp.asked("/userinfo"); n != 0 {
				t.Errorf("%s: the userinfo endpoint was asked %d times for nothing", alg, n)
			}
			s.wantNoSecret(t, s.log.String())
		}
	})
}

// TestChallenge checks the parameters of the redirect, and the stored handshake.
func TestChallenge(t *testing.T) {
	t.Parallel()
	s := newSite(t, open(t), nil, nil)
	seen := map[string]bool{}
	for range 20 {
		c := s.begin(t)
		u, err := url.Parse(c.URL)
		if err != nil || !strings.HasPrefix(c.URL, s.idp.URL+"/authorize?") {
			t.Fatalf("%q %v", c.URL, err)
		}
		q := u.Query()
		for name, want := range map[string]string{
			"response_type": "code", "client_id": clientID, "redirect_uri": redirectURL, "scope": "openid profile email",
			"code_challenge_method": "S256",
		} {
			if q.Get(name) != want {
				t.Errorf("%s is %q", name, q.Get(name))
			}
		}
		for _, secret := range []string{q.Get("state"), q.Get("nonce"), q.Get("code_challenge"), c.Binding} {
			if len(secret) != 43 || seen[secret] {
				t.Errorf("%q is short or was seen before", secret)
			}
			seen[secret] = true
		}
		if strings.Contains(c.URL, c.Binding) || strings.Contains(c.URL, clientSecret) {
			t.Error("the address holds a secret")
		}
	}
	if n := s.idp.asked("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("the description was fetched %d times", n)
	}
	rows, err := s.d.Read(t.Context()).QueryContext(t.Context(), "SELECT hash, data FROM handshakes")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	n := 0
	for ; rows.Next(); n++ {
		var hash, data []byte
		if err := rows.Scan(&hash, &data); err != nil {
			t.Fatal(err)
		}
		if len(hash) != 32 || len(data) != 32 || seen[b64(hash)] || seen[b64(data)] {
			t.Errorf("the store keeps %x %x", hash, data)
		}
	}
	if rows.Err() != nil || n != 20 {
		t.Errorf("%d handshakes, %v", n, rows.Err())
	}
}

// TestScopes: the configured scopes are requested unchanged.
func TestScopes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim  string
		scopes []string
		known  []string
		want   string
	}{
		{"", nil, []string{"groups"}, "openid profile email"},
		{"groups", nil, []string{"groups"}, "openid profile email groups"},
		{"groups", nil, []string{"openid"}, "openid profile email"},
		{"", []string{"email", "openid", "teams"}, nil, "openid email teams"},
	} {
		s := newSite(t, open(t), func(i *idp) { i.document = func(o object) { o["scopes_supported"] = c.known } },
			func(cfg *oidc.Config) { cfg.GroupsClaim, cfg.Scopes = c.claim, c.scopes })
		u, err := url.Parse(s.begin(t).URL)
		if err != nil || u.Query().Get("scope") != c.want {
			t.Errorf("%+v asks for %q, %v", c, u.Query().Get("scope"), err)
		}
	}
}

// TestClientAuthentication covers providers that accept the client's secret in only one place, whatever they
// advertise.
func TestClientAuthentication(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		methods []string
		posts   bool
		asked   int // for two sign-ins
	}{
		{[]string{"client_secret_basic", "client_secret_post"}, false, 2},
		{[]string{"client_secret_basic", "client_secret_post"}, true, 3},
		{[]string{"client_secret_post"}, true, 2}, {[]string{"client_secret_basic"}, false, 2}, {nil, true, 3},
		{nil, false, 2},
	} {
		s := newSite(t, open(t), func(i *idp) {
			i.posts, i.document = c.posts, func(o object) { o["token_endpoint_auth_methods_supported"] = c.methods }
		}, nil)
		for range 2 {
			if _, err := s.signIn(t); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if n := s.idp.asked("/token"); n != c.asked {
			t.Errorf("%+v: the token endpoint was asked %d times", c, n)
		}
	}
	s := newSite(t, open(t), nil, func(cfg *oidc.Config) { cfg.Secret = "c4nary-wrong" })
	e, err := s.signIn(t)
	s.wantRefused(t, e, err, fault.Unauthenticated, "401: invalid_client")
}

// TestOneStateCompletesOnce completes one answer many times at once, on both databases.
// Keeps T28.
func TestOneStateCompletesOnce(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s := newSite(t, d, nil, nil)
		c := s.begin(t)
		answer := s.visit(t, c)
		const callers = 50
		var wg sync.WaitGroup
		errs := make([]error, callers)
		who := make([]identity.External, callers)
		for n := range callers {
			wg.Go(func() { who[n], errs[n] = s.Complete(t.Context(), answer, c.Binding, false) })
		}
		wg.Wait()
		in := 0
		for n, err := range errs {
			if err == nil {
				in++
				continue
			}
			s.wantRefused(t, who[n], err, fault.Unauthenticated, "the state is unknown, expired or used")
		}
		if in != 1 || s.idp.asked("/token") != 1 {
			t.Errorf("%d signed in, the code was sent %d times", in, s.idp.asked("/token"))
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	d := open(t)
	good := oidc.Config{Issuer: "https://id.example.com/realm", ClientID: "writ", Secret: clientSecret,
		RedirectURL: "https://writ.example.com/cb"}
	log := slog.New(slog.DiscardHandler)
	if _, err := oidc.New(good, store.New(d), &notes{}, d, &hand{}, nil, log); err != nil {
		t.Errorf("a good configuration: %v", err)
	}
	for name, alter := range map[string]func(*oidc.Config){
		"no issuer": func(c *oidc.Config) { c.Issuer = "" }, "a relative issuer": func(c *oidc.Config) {
			c.Issuer = "id.example.com"
		},
		"an issuer of a file": func(c *oidc.Config) { c.Issuer = "file:///etc" }, "a query": func(c *oidc.Config) {
			c.Issuer += "?a=b"
		},
		"a fragment": func(c *oidc.Config) { c.Issuer += "#a" }, "a user": func(c *oidc.Config) {
			c.Issuer = "https://a:b@id.example.com"
		},
		"no client": func(c *oidc.Config) { c.ClientID = "" }, "no redirect": func(c *oidc.Config) { c.RedirectURL = "" },
		"a script": func(c *oidc.Config) { c.RedirectURL = "javascript:alert(1)" },
	} {
		cfg := good
		alter(&cfg)
		if p, err := oidc.New(cfg, store.New(d), &notes{}, d, &hand{}, nil, log); err == nil || p != nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", good, good, good); strings.Contains(text, clientSecret) {
		t.Errorf("the configuration prints its secret: %s", text)
	}
	for issuer, ok := range map[string]bool{
		"http://id.internal": false, "http://10.0.0.1": false, "http://localhost.evil.test": false, "http://0.0.0.0": false,
		"http://[::]":         false,
		"http://127.0.0.1:80": true, "http://[::1]": true, "http://[::ffff:127.0.0.1]": true, "http://localhost": true,
		"https://id.internal": true,
	} {
		cfg := good
		cfg.Issuer = issuer
		p, err := oidc.New(cfg, store.New(d), &notes{}, d, &hand{}, nil, log)
		if (err == nil) != ok || (p != nil) != ok ||
			!ok && !strings.Contains(err.Error(), "the issuer needs https beyond loopback") {
			t.Errorf("%s: %v", issuer, err)
		}
	}
}

// TestStoreThatFails: a failure of the store is no refusal of the caller.
func TestStoreThatFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, open(t), nil, nil)
	c := s.begin(t)
	answer := s.visit(t, c)
	if err := s.d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(t.Context()); err == nil || identity.BadSignIn.Is(err) {
		t.Errorf("begin without a database: %v", err)
	}
	if e, err := s.Complete(t.Context(), answer, c.Binding, false); err == nil || identity.BadSignIn.Is(err) ||
		e.Username != "" {
		t.Errorf("complete without a database: %+v %v", e, err)
	}
}

// TestSecretsFollowNoRedirect: the code is not sent to the target of a token endpoint's redirect.
func TestSecretsFollowNoRedirect(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/token", "/userinfo"} {
		var thief *idp
		s := newSite(t, open(t), func(i *idp) {
			i.instead = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == path {
					http.Redirect(w, r, thief.URL+"/stolen", http.StatusTemporaryRedirect)
				}
				return r.URL.Path == path
			}
		}, func(cfg *oidc.Config) { cfg.GroupsClaim = "groups" })
		thief = newIDP(t, s.clock, nil)
		e, err := s.signIn(t)
		s.wantRefused(t, e, err, fault.Unauthenticated, "answered 307")
		if n := thief.asked("/stolen"); n != 0 {
			t.Errorf("%s: the redirect was followed", path)
		}
	}
}

// TestExpiredHandshake waits for the expiry of a sign-in.
func TestExpiredHandshake(t *testing.T) {
	t.Parallel()
	s := newSite(t, open(t), nil, nil)
	c := s.begin(t)
	answer := s.visit(t, c)
	err := s.d.Do(t.Context(), func(ctx context.Context) error {
		w, err := s.d.Write(ctx)
		if err != nil {
			return err
		}
		var n int
		soon := s.d.Dialect().LeaseNow().Add(identity.HandshakeTTL - time.Minute)
		if err := w.QueryRowContext(ctx, "SELECT COUNT(*) FROM handshakes WHERE expires_at > ?", soon).Scan(&n); err != nil ||
			n != 1 {
			return errors.Join(err, fmt.Errorf("%d handshakes live for ten minutes", n))
		}
		_, err = w.ExecContext(ctx, "UPDATE handshakes SET expires_at = ?", s.d.Dialect().LeaseNow())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Complete(t.Context(), answer, c.Binding, false)
	s.wantRefused(t, e, err, fault.Unauthenticated, "the state is unknown, expired or used")
}
