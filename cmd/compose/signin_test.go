package compose

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/identity"
)

// signInSettings signs in with both protocols.
func signInSettings() Settings {
	return Settings{
		Executor: Executor{Log: slog.New(slog.DiscardHandler)}, Install: Install{DB: "writ.db"},
		Addr: "127.0.0.1:8443", Events: Memory, Announce: &bytes.Buffer{},
		PublicURL: "https://writ.example.com",
		OIDC: OIDC{Issuer: "https://id.example.com/realm", ClientID: "writ", GroupsClaim: "groups",
			Roles: Roles{Default: identity.Viewer}},
		SAML: SAML{MetadataURL: "https://id.example.com/metadata?tenant=1", GroupsAttr: "groups",
			Roles: Roles{Default: identity.Viewer}},
	}
}

func mapped() map[string]identity.Role { return map[string]identity.Role{"ops": identity.Admin} }

// TestSignInSettings accepts valid settings.
func TestSignInSettings(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Settings){
		"both":             func(*Settings) {},
		"neither":          func(s *Settings) { s.OIDC, s.SAML = OIDC{}, SAML{} },
		"neither, default": func(s *Settings) { s.OIDC, s.SAML = OIDC{Roles: s.OIDC.Roles}, SAML{Roles: s.SAML.Roles} },
		"open":             func(s *Settings) { s.Open, s.OIDC, s.SAML = true, OIDC{}, SAML{} },
		"no default": func(s *Settings) {
			s.OIDC.Roles.Default, s.SAML.Roles.Default = "", ""
		},
		"mapped":                func(s *Settings) { s.OIDC.Roles.Groups, s.SAML.Roles.Groups = mapped(), mapped() },
		"no groups, unmapped":   func(s *Settings) { s.OIDC.GroupsClaim, s.SAML.GroupsAttr = "", "" },
		"issuer on loopback":    func(s *Settings) { s.OIDC.Issuer = "http://127.0.0.1:9000/oidc" },
		"issuer on localhost":   func(s *Settings) { s.OIDC.Issuer = "http://localhost" },
		"metadata on loopback":  func(s *Settings) { s.SAML.MetadataURL = "http://[::1]:9000/metadata?a=b" },
		"metadata of a file":    func(s *Settings) { s.SAML.MetadataURL, s.SAML.MetadataFile = "", "idp.xml" },
		"redirect":              func(s *Settings) { s.OIDC.RedirectURL = "https://writ.example.com/auth/oidc/callback" },
		"redirect below a path": func(s *Settings) { s.OIDC.RedirectURL = "https://example.com/writ/auth/oidc/callback" },
		"redirect on loopback":  func(s *Settings) { s.OIDC.RedirectURL = "http://127.0.0.1:9/auth/oidc/callback" },
		"redirect in clear": func(s *Settings) {
			s.OIDC.RedirectURL, s.InsecureCookies = "http://writ/auth/oidc/callback", true
		},
		"closing slash":           func(s *Settings) { s.PublicURL = "https://writ.example.com/" },
		"own certificate":         func(s *Settings) { s.PublicURL, s.TLSCert, s.TLSKey = "", "c", "k" },
		"any address, told where": func(s *Settings) { s.Addr, s.TLSCert, s.TLSKey = ":8443", "c", "k" },
		"base below a path":       func(s *Settings) { s.SAML.BaseURL = "https://example.com/writ" },
	} {
		s := signInSettings()
		change(&s)
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSignInSettingsRefused refuses invalid settings and names the flag.
func TestSignInSettingsRefused(t *testing.T) {
	t.Parallel()
	off := func(s *Settings) { s.OIDC, s.SAML = OIDC{}, SAML{} }
	for name, c := range map[string]struct {
		change func(*Settings)
		flag   string
	}{
		"issuer in clear": {func(s *Settings) { s.OIDC.Issuer = "http://id.example.com" },
			"oidc-issuer: https is required"},
		"issuer in clear, near": {func(s *Settings) { s.OIDC.Issuer = "http://10.0.0.1" }, "oidc-issuer: https is required"},
		"issuer with a query":   {func(s *Settings) { s.OIDC.Issuer += "?a=b" }, "oidc-issuer: "},
		"issuer with a mark":    {func(s *Settings) { s.OIDC.Issuer += "?" }, "oidc-issuer: "},
		"issuer with a part":    {func(s *Settings) { s.OIDC.Issuer += "#a" }, "oidc-issuer: "},
		"issuer with a hash":    {func(s *Settings) { s.OIDC.Issuer += "#" }, "oidc-issuer: "},
		"issuer with a user":    {func(s *Settings) { s.OIDC.Issuer = "https://a:b@id.example.com" }, "oidc-issuer: "},
		"issuer without a host": {func(s *Settings) { s.OIDC.Issuer = "https://:443/x" }, "oidc-issuer: "},
		"issuer of a file":      {func(s *Settings) { s.OIDC.Issuer = "file:///etc" }, "oidc-issuer: "},
		"no client":             {func(s *Settings) { s.OIDC.ClientID = "" }, "oidc-client-id: "},
		"no issuer":             {func(s *Settings) { s.OIDC.Issuer = "" }, "oidc-issuer: "},
		"no redirect": {func(s *Settings) {
			s.PublicURL, s.SAML.BaseURL = "", "https://writ.example.com"
		}, "oidc-redirect-url: "},
		"redirect elsewhere": {func(s *Settings) {
			s.OIDC.RedirectURL = "https://writ.example.com/callback"
		}, "oidc-redirect-url: expected an address that ends in /auth/oidc/callback"},
		"redirect with more": {func(s *Settings) {
			s.OIDC.RedirectURL = "https://writ.example.com/auth/oidc/callback/"
		}, "oidc-redirect-url: "},
		"redirect with a query": {func(s *Settings) {
			s.OIDC.RedirectURL = "https://writ.example.com/auth/oidc/callback?a"
		}, "oidc-redirect-url: "},
		"redirect in clear": {func(s *Settings) {
			s.OIDC.RedirectURL = "http://writ.example.com/auth/oidc/callback"
		}, "oidc-redirect-url: https is required"},
		"public in clear": {func(s *Settings) { s.PublicURL = "http://writ.example.com" },
			"oidc-redirect-url: https is required"},
		"public with a query": {func(s *Settings) { off(s); s.PublicURL += "/?a=b" }, "public-url: "},
		"public with a part":  {func(s *Settings) { off(s); s.PublicURL += "/#a" }, "public-url: "},
		"public with a user":  {func(s *Settings) { off(s); s.PublicURL = "https://a@writ.example.com" }, "public-url: "},
		"public of no web":    {func(s *Settings) { off(s); s.PublicURL = "ftp://writ.example.com" }, "public-url: "},
		"metadata in clear": {func(s *Settings) {
			s.SAML.MetadataURL = "http://id.example.com/metadata"
		}, "saml-idp-metadata-url: https is required"},
		"metadata with a user": {func(s *Settings) {
			s.SAML.MetadataURL = "https://a:b@id.example.com"
		}, "saml-idp-metadata-url: "},
		"metadata of a path": {func(s *Settings) { s.SAML.MetadataURL = "/etc/metadata.xml" }, "saml-idp-metadata-url: "},
		"two metadata": {func(s *Settings) { s.SAML.MetadataFile = "idp.xml" },
			"saml-idp-metadata-url and saml-idp-metadata-file"},
		"no metadata": {func(s *Settings) {
			s.SAML = SAML{BaseURL: "https://writ.example.com"}
		}, "saml-idp-metadata-url: "},
		"half a pair":        {func(s *Settings) { s.SAML.Cert = "c" }, "saml-cert and saml-key"},
		"no base":            {func(s *Settings) { s.PublicURL, s.OIDC = "", OIDC{} }, "saml-base-url: "},
		"base with a query":  {func(s *Settings) { s.SAML.BaseURL = "https://writ.example.com?a=b" }, "saml-base-url: "},
		"base with a part":   {func(s *Settings) { s.SAML.BaseURL = "https://writ.example.com#a" }, "saml-base-url: "},
		"base with a user":   {func(s *Settings) { s.SAML.BaseURL = "https://a@writ.example.com" }, "saml-base-url: "},
		"oidc map alone":     {func(s *Settings) { off(s); s.OIDC.Roles.Groups = mapped() }, "oidc-role-map: "},
		"oidc default alone": {func(s *Settings) { off(s); s.OIDC.Roles.Default = identity.Admin }, "oidc-default-role: "},
		"saml map alone":     {func(s *Settings) { off(s); s.SAML.Roles.Groups = mapped() }, "saml-role-map: "},
		"saml default alone": {func(s *Settings) {
			off(s)
			s.SAML.Roles.Default = identity.Operator
		}, "saml-default-role: "},
		"map without a claim": {func(s *Settings) {
			s.OIDC.Roles.Groups, s.OIDC.GroupsClaim = mapped(), ""
		}, "oidc-groups-claim: "},
		"map without attribute": {func(s *Settings) {
			s.SAML.Roles.Groups, s.SAML.GroupsAttr = mapped(), ""
		}, "saml-groups-attr: "},
		"open with oidc": {func(s *Settings) { s.Open, s.SAML = true, SAML{} }, "open: "},
		"open with saml": {func(s *Settings) { s.Open, s.OIDC = true, OIDC{} }, "open: "},
	} {
		s := signInSettings()
		c.change(&s)
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.flag) {
			t.Errorf("%s: %v, want %q", name, err, c.flag)
		}
	}
}

// TestPublic: an address without a host is not public, so addresses derived from it must be configured.
func TestPublic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ public, cert, addr, want string }{
		{"", "", "127.0.0.1:8080", ""}, {"", "", ":8080", ""},
		{"https://writ.example.com", "", ":8080", "https://writ.example.com"},
		{"https://writ.example.com/", "c", ":8080", "https://writ.example.com"},
		{"", "c", "writ.example.com:8443", "https://writ.example.com:8443"},
		{"", "c", "10.0.0.1:8443", "https://10.0.0.1:8443"},
		{"", "c", "[::1]:8443", "https://[::1]:8443"},
		{"", "c", ":8443", ""}, {"", "c", "0.0.0.0:8443", ""}, {"", "c", "[::]:8443", ""},
		{"", "c", "[::ffff:0.0.0.0]:8443", ""},
		{"", "c", "127.0.0.1:0", ""}, {"", "c", "nonsense", ""},
	} {
		s := Settings{PublicURL: c.public, TLSCert: c.cert, Addr: c.addr}
		if got := s.public(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	for _, addr := range []string{":8443", "0.0.0.0:8443", "[::]:8443"} {
		s := signInSettings()
		s.PublicURL, s.TLSCert, s.TLSKey, s.Addr = "", "c", "k", addr
		err := s.Validate()
		if err == nil || !strings.Contains(err.Error(), "oidc-redirect-url: ") ||
			!strings.Contains(err.Error(), "saml-base-url: ") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// TestGroupsAreReadWhereTheyAreMapped: without mappings, no groups are required.
func TestGroupsAreReadWhereTheyAreMapped(t *testing.T) {
	t.Parallel()
	s := signInSettings()
	if s.OIDC.claim() != "" || s.SAML.attribute() != "" {
		t.Errorf("unmapped groups are read from %q and %q", s.OIDC.claim(), s.SAML.attribute())
	}
	s.OIDC.Roles.Groups, s.SAML.Roles.Groups = mapped(), mapped()
	if s.OIDC.claim() != "groups" || s.SAML.attribute() != "groups" {
		t.Errorf("mapped groups are read from %q and %q", s.OIDC.claim(), s.SAML.attribute())
	}
}

// TestMetadataFileAtStart does not start with a file that describes no provider.
func TestMetadataFileAtStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "idp.xml")
	for _, content := range []string{"", "<html/>", "none"} {
		if content != "none" {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		s := signInSettings()
		s.SAML.MetadataURL, s.SAML.MetadataFile = "", file
		if err := s.checkSAML(); err == nil || !strings.HasPrefix(err.Error(), "saml-idp-metadata-file: ") {
			t.Errorf("%q: %v", content, err)
		}
	}
}
