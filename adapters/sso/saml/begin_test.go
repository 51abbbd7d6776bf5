package saml

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crewjam/saml"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/writ-automation/writ/ports/identity"
)

// TestBegin checks the request in the redirect to the provider.
func TestBegin(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){"unsigned": func(*Config) {}, "signed": withKey(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, change)
			c, err := b.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !c.CrossSite || strings.Contains(c.URL, c.Binding) ||
				!strings.HasPrefix(c.URL, "https://idp.example.com/sso?tenant=1&SAMLRequest=") {
				t.Errorf("%+v", c)
			}
			u, err := url.Parse(c.URL)
			if err != nil {
				t.Fatal(err)
			}
			q := u.Query()
			var req saml.AuthnRequest
			if err := xml.Unmarshal(inflate(t, q.Get("SAMLRequest")), &req); err != nil {
				t.Fatal(err)
			}
			if req.Issuer.Value != here+metadataPath || req.AssertionConsumerServiceURL != here+acsPath ||
				req.Version != "2.0" ||
				req.ProtocolBinding != saml.HTTPPostBinding || req.Destination != "https://idp.example.com/sso?tenant=1" ||
				!req.IssueInstant.Equal(start()) || req.NameIDPolicy.Format != nil || !ncName.MatchString(req.ID) {
				t.Errorf("%+v", req)
			}
			relay := q.Get("RelayState")
			for what, secret := range map[string]string{"RelayState": relay, "binding": c.Binding} {
				if raw, err := base64.RawURLEncoding.DecodeString(secret); err != nil || len(raw) != 32 || len(secret) > 80 {
					t.Errorf("%s %q: %v", what, secret, err)
				}
			}
			bindingHash := sha256.Sum256([]byte(c.Binding))
			kept := b.fake.handshakes[sha256.Sum256([]byte(relay))]
			if len(b.fake.handshakes) != 1 || string(kept.data) != string(bindingHash[:])+req.ID || kept.kind != "saml" ||
				!kept.end.Equal(start().Add(identity.HandshakeTTL)) {
				t.Errorf("kept: %+v", b.fake.handshakes)
			}
			checkRedirectSignature(t, u.RawQuery, name == "signed")
		})
	}
}

// checkRedirectSignature verifies the signature over the three unchanged parameters.
func checkRedirectSignature(t *testing.T, query string, signed bool) {
	t.Helper()
	_, query, _ = strings.Cut(query, "tenant=1&")
	content, sig, ok := strings.Cut(query, "&Signature=")
	if ok != signed {
		t.Fatalf("signed: %v", ok)
	}
	if !signed {
		return
	}
	if !strings.HasSuffix(content, "&SigAlg="+url.QueryEscape(dsig.RSASHA256SignatureMethod)) {
		t.Errorf("signed: %s", content)
	}
	plain, err := url.QueryUnescape(sig)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(plain)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(content))
	if err := rsa.VerifyPKCS1v15(&ownKey().key.PublicKey, crypto.SHA256, digest[:], raw); err != nil {
		t.Error(err)
	}
}

// TestBeginsDiffer: requests and RelayStates are unique.
func TestBeginsDiffer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	seen := map[string]bool{}
	for range 20 {
		request, relay := b.begin(t)
		if seen[request] || seen[relay] {
			t.Fatalf("%s %s came twice", request, relay)
		}
		seen[request], seen[relay] = true, true
	}
}

// TestDescription parses our metadata with the library.
func TestDescription(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){"without key": func(*Config) {}, "with key": withKey(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, change)
			doc, err := b.Metadata(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b.clock.turn(1)
			if again, err := b.Metadata(t.Context()); err != nil || string(again) != string(doc) {
				t.Errorf("a second time: %s %v", again, err)
			}
			var e saml.EntityDescriptor
			if err := xml.Unmarshal(doc, &e); err != nil {
				t.Fatal(err)
			}
			sp := e.SPSSODescriptors[0]
			keyed := name == "with key"
			if e.EntityID != here+metadataPath || !*sp.WantAssertionsSigned || *sp.AuthnRequestsSigned != keyed ||
				!e.ValidUntil.IsZero() {
				t.Errorf("%s", doc)
			}
			acs := sp.AssertionConsumerServices
			if len(acs) != 1 || acs[0].Location != here+acsPath || acs[0].Binding != saml.HTTPPostBinding {
				t.Errorf("%+v", acs)
			}
			uses, methods := "", []string(nil)
			for _, k := range sp.KeyDescriptors {
				uses += k.Use + " "
				if k.KeyInfo.X509Data.X509Certificates[0].Data != base64.StdEncoding.EncodeToString(ownKey().cert.Raw) {
					t.Errorf("another certificate for %s", k.Use)
				}
				for _, m := range k.EncryptionMethods {
					methods = append(methods, m.Algorithm)
				}
			}
			if keyed && uses != "signing encryption " || !keyed && uses != "" {
				t.Errorf("keys for %q", uses)
			}
			if want := []string{aes256GCM, aes192GCM, aes128GCM, oaepMGF1}; keyed && !slices.Equal(methods, want) {
				t.Errorf("encryption methods %v", methods)
			}
			if b.idp.reads.Load() != 0 {
				t.Error("the provider was asked")
			}
		})
	}
}

// TestNew refuses invalid configurations at the start, and starts if only the provider is missing.
func TestNew(t *testing.T) {
	t.Parallel()
	cert, key := ownKey().files(t)
	otherCert, _ := wrongKey().files(t)
	weakCert, weakKey := newKey(1024, start(), start().AddDate(1, 0, 0)).files(t)
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("no pem"), 0o600); err != nil {
		t.Fatal(err)
	}
	described := filepath.Join(t.TempDir(), "idp.xml")
	if err := os.WriteFile(described, describeIDP(idpKey()), 0o600); err != nil {
		t.Fatal(err)
	}
	good := Config{MetadataURL: "https://idp.example.com/metadata", BaseURL: here}
	for name, tc := range map[string]struct {
		change func(*Config)
		cause  string
	}{
		"good":      {func(*Config) {}, ""},
		"good file": {func(c *Config) { c.MetadataURL, c.MetadataFile = "", described }, ""},
		"missing file": {func(c *Config) { c.MetadataURL, c.MetadataFile = "", garbage+".xml" },
			"saml: the metadata's file: open "},
		"defective file": {func(c *Config) { c.MetadataURL, c.MetadataFile = "", garbage },
			"saml: the metadata's file: the document is no XML"},
		"file of no IdP":    {func(c *Config) { c.MetadataURL, c.MetadataFile = "", cert }, "the metadata's file"},
		"with key":          {func(c *Config) { c.CertFile, c.KeyFile = cert, key }, ""},
		"loopback":          {func(c *Config) { c.MetadataURL = "http://127.0.0.1:1/metadata" }, ""},
		"base with a path":  {func(c *Config) { c.BaseURL = here + "/writ/" }, ""},
		"no metadata":       {func(c *Config) { c.MetadataURL = "" }, "exactly one"},
		"both":              {func(c *Config) { c.MetadataFile = garbage }, "exactly one"},
		"plain http":        {func(c *Config) { c.MetadataURL = "http://idp.example.com/metadata" }, "https is required"},
		"a file as address": {func(c *Config) { c.MetadataURL = "file:///etc/passwd" }, "expected an http or https address"},
		"no base":           {func(c *Config) { c.BaseURL = "" }, "base address"},
		"base with a query": {func(c *Config) { c.BaseURL = here + "?a=b" }, "no query"},
		"base with a mark":  {func(c *Config) { c.BaseURL = here + "?" }, "no query"},
		"base with a user":  {func(c *Config) { c.BaseURL = "https://a:b@writ.example.com" }, "base address"},
		"cert alone":        {func(c *Config) { c.CertFile = cert }, "belong together"},
		"key alone":         {func(c *Config) { c.KeyFile = key }, "belong together"},
		"another's cert":    {func(c *Config) { c.CertFile, c.KeyFile = otherCert, key }, "certificate and key"},
		"weak key":          {func(c *Config) { c.CertFile, c.KeyFile = weakCert, weakKey }, "RSA of at least 2048 bits"},
		"garbage":           {func(c *Config) { c.CertFile, c.KeyFile = garbage, garbage }, "certificate and key"},
	} {
		cfg := good
		tc.change(&cfg)
		clock := &fakeClock{now: start()}
		p, err := New(cfg, newFakeStore(clock), newFakeStore(clock), newFakeStore(clock), clock, http.DefaultClient,
			slog.New(slog.DiscardHandler))
		if tc.cause == "" && (err != nil || p == nil) ||
			tc.cause != "" && (err == nil || p != nil || !strings.Contains(err.Error(), tc.cause)) {
			t.Errorf("%s: %v, expected %q", name, err, tc.cause)
		}
	}
}
