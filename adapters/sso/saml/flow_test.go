package saml

import (
	"crypto/sha1"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/crewjam/saml"
	"github.com/crewjam/saml/samlidp"
	"github.com/google/go-cmp/cmp"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/identity"
)

// realIDP is a running identity provider with the user alice.
func realIDP(t *testing.T) *httptest.Server {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	now := clock.New().Now()
	key := certify(idpKey().key, now.Add(-time.Hour), now.Add(time.Hour))
	idp, err := samlidp.New(samlidp.Options{
		URL: *base, Key: key.key, Certificate: key.cert, Store: &samlidp.MemoryStore{}, Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	idp.IDP.SignatureMethod = dsig.RSASHA256SignatureMethod
	idp.IDP.AssertionMaker = gcmAssertions{t: t}
	handler = idp
	put(t, server.URL+"/users/alice",
		`{"name":"alice","password":"correct horse","email":"alice@example.com","groups":["ops","dev"]}`)
	return server
}

// gcmAssertions encrypts assertions for a provider with a key by AES-GCM; the library only supports AES-CBC.
type gcmAssertions struct {
	saml.DefaultAssertionMaker
	t *testing.T
}

func (g gcmAssertions) MakeAssertion(req *saml.IdpAuthnRequest, s *saml.Session) error {
	if err := g.DefaultAssertionMaker.MakeAssertion(req, s); err != nil {
		return err
	}
	described := *req.SPSSODescriptor
	req.SPSSODescriptor.KeyDescriptors = nil
	err := req.MakeAssertionEl()
	if *req.SPSSODescriptor = described; err != nil || len(described.KeyDescriptors) == 0 {
		return err
	}
	e := envelope{alg: aes128GCM, wrap: oaepMGF1, size: 16, oaep: sha1.New}
	text := e.seal(g.t, write(g.t, req.AssertionEl), &ownKey().key.PublicKey)
	req.AssertionEl = element(g.t, `<x xmlns:saml="`+nsAssertion+`">`+text+`</x>`).ChildElements()[0]
	return nil
}

func put(t *testing.T, address, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("%s: %s", address, resp.Status)
	}
}

// page fetches a page and returns the body.
func page(t *testing.T, browser *http.Client, address string, form url.Values) string {
	t.Helper()
	var resp *http.Response
	var err error
	if form == nil {
		resp, err = browser.Get(address)
	} else {
		resp, err = browser.PostForm(address, form)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", address, resp.Status, err)
	}
	return string(b)
}

// TestRealProvider signs in at a running provider: exchange of metadata, login form, answer; with and without a key of
// ours, for which the provider then encrypts.
func TestRealProvider(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){"plain": func(*Config) {}, "signed and encrypted": withKey(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idp := realIDP(t)
			cfg := Config{
				MetadataURL: idp.URL + "/metadata", BaseURL: here + "/",
				UsernameAttr: "uid", GroupsAttr: "urn:oid:1.3.6.1.4.1.5923.1.1.1.1",
			}
			change(&cfg)
			fake := newFakeStore(clock.New())
			p, err := New(cfg, fake, fake, fake, clock.New(), idp.Client(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			metadata, err := p.Metadata(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			put(t, idp.URL+"/services/writ", string(metadata))

			form, body, binding := signIn(t, p)
			got, err := p.Complete(t.Context(), form, binding, false)
			if err != nil {
				t.Fatal(err)
			}
			want := identity.External{
				Link:     identity.Link{Protocol: identity.SAML, Issuer: idp.URL + "/metadata", Subject: "attribute:uid=alice"},
				Username: "alice", Groups: []string{"ops", "dev"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if sealed := strings.Contains(body, "EncryptedAssertion"); sealed != (cfg.KeyFile != "") {
				t.Errorf("encrypted: %v", sealed)
			}
			if got, err := p.Complete(t.Context(), form, binding, false); !identity.BadSignIn.Is(err) || got.Username != "" {
				t.Errorf("a second time: %v %v", got, err)
			}
		})
	}
}

// signIn acts as a browser at the provider and returns the form that it posts at the end, with the response in clear
// and the binding.
func signIn(t *testing.T, p *Provider) (form url.Values, body, binding string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	first, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	login := page(t, browser, first.URL, nil)
	action := regexp.MustCompile(`action="([^"]+)"`).FindStringSubmatch(login)
	if action == nil {
		t.Fatalf("no login form: %s", login)
	}
	// Its login form only creates a session, so the sign-in starts again.
	page(t, browser, action[1], url.Values{"user": {"alice"}, "password": {"correct horse"}})
	again, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answered := page(t, browser, again.URL, nil)
	form = url.Values{}
	for _, m := range regexp.MustCompile(`name="([A-Za-z]+)" value="([^"]*)"`).FindAllStringSubmatch(answered, -1) {
		form.Set(m[1], strings.ReplaceAll(m[2], "&#43;", "+"))
	}
	raw, err := decode(form)
	if err != nil {
		t.Fatal(err)
	}
	return form, string(raw), again.Binding
}
