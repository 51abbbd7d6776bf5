package access

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"html"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crewjam/saml"
	"github.com/crewjam/saml/samlidp"
	dsig "github.com/russellhaering/goxmldsig"
	"golang.org/x/crypto/bcrypt"

	"github.com/writ-automation/writ/e2e/harness"
)

const (
	// samlSite is the public address of the server. The real port is known only after the start, so the browser's
	// dialer maps the address to it.
	samlSite = "http://127.0.0.1:9"
	acs      = "/auth/saml/acs"
	asJSON   = "application/json"
	asForm   = "application/x-www-form-urlencoded"
	asPage   = "text/html,application/xhtml+xml,*/*;q=0.8"
	// canary is in every NameID: nothing of a response may be logged.
	canary = "c4nary"
)

// federated is a server, its SAML provider, and texts that the server must not print.
type federated struct {
	*harness.Server
	site string         // its public address
	idp  harness.Client // used by the provider's operator and the browser
	mu   sync.Mutex
	saw  []string
}

// persistentNames makes NameIDs persistent; the provider's default is transient.
type persistentNames struct{ saml.DefaultAssertionMaker }

func (k persistentNames) MakeAssertion(req *saml.IdpAuthnRequest, s *saml.Session) error {
	persistent := *s
	persistent.NameIDFormat = string(saml.PersistentNameIDFormat)
	return k.DefaultAssertionMaker.MakeAssertion(req, &persistent)
}

// pair makes an RSA key and its certificate.
func pair(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}
}

// users is a store in which every user has the password of the tests, with a hash of the lowest cost.
type users struct{ samlidp.Store }

func (u users) Put(key string, value any) (err error) {
	if who, ok := value.(*samlidp.User); ok {
		if who.HashedPassword, err = bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost); err != nil {
			return err
		}
	}
	return u.Store.Put(key, value)
}

// newIDP starts a provider and returns a client of it.
func newIDP(t *testing.T, maker saml.AssertionMaker) harness.Client {
	t.Helper()
	front := httptest.NewUnstartedServer(nil)
	base := "http://" + front.Listener.Addr().String()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	key := pair(t)
	idp, err := samlidp.New(samlidp.Options{
		URL: *u, Key: key.PrivateKey, Certificate: key.Leaf, Store: users{&samlidp.MemoryStore{}},
		Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	idp.IDP.SignatureMethod = dsig.RSASHA256SignatureMethod
	idp.IDP.AssertionMaker = maker
	// By default its login form creates a session and drops the request; sent to this address, it continues the
	// request.
	idp.IDP.LoginURL = idp.IDP.SSOURL
	front.Config.Handler = idp
	front.Start()
	t.Cleanup(front.Close)
	return harness.NewClient(t, base, "")
}

// federate starts a server and registers it and a provider with each other.
func federate(t *testing.T, idp harness.Client, o harness.Options, metadata ...string) *federated {
	t.Helper()
	if metadata == nil {
		metadata = []string{"--saml-idp-metadata-url", idp.URL + "/metadata"}
	}
	site := samlSite
	if at := slices.Index(o.Flags, "--public-url"); at >= 0 {
		site = o.Flags[at+1]
	}
	o.Flags = append(append(o.Flags, metadata...), "--saml-base-url", site, "--saml-username-attr", "uid",
		"--saml-groups-attr", "eduPersonAffiliation", "--saml-role-map", "engineers=operator", "--saml-role-map",
		"chiefs=admin",
		"--saml-default-role", "none", "--log-level", "debug")
	f := &federated{Server: harness.Start(t, o), site: site, idp: idp}
	t.Cleanup(func() { f.checkOutput(t, f.Output()) })
	described := want(t, f.As(""), http.MethodGet, "/auth/saml/metadata", nil, 200)
	want(t, idp, http.MethodPut, "/services/writ", string(described.Body), 204)
	return f
}

// subject is the NameID of a user of the provider.
func subject(name string) string { return canary + "-" + name + "@example.com" }

// setUser sets the attributes of a user of the provider.
func (f *federated) setUser(t *testing.T, name string, groups ...string) {
	t.Helper()
	want(t, f.idp, http.MethodPut, "/users/"+name,
		harness.Body{"name": name, "email": subject(name), "groups": groups}, 204)
}

// secrets adds texts that the server must not print.
func (f *federated) secrets(all ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saw = append(f.saw, all...)
}

// checkOutput looks for parts of responses and for secrets in what a server printed.
func (f *federated) checkOutput(t *testing.T, out string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.saw) == 0 {
		t.Error("no sign-in was seen")
	}
	for _, s := range append(f.saw, canary, "<saml", "saml:", "SignatureValue", "DigestValue") {
		for part := range slices.Chunk([]byte(s), 60) { // a log may truncate long texts
			if (len(part) == 60 || len(part) == len(s)) && strings.Contains(out, string(part)) {
				t.Errorf("the server printed %q", part)
			}
		}
	}
}

// surfer is a browser: it keeps cookies and follows one redirect at a time.
type surfer struct {
	harness.Client // the server's public address
	f              *federated
	t              *testing.T
	name           string
}

func (f *federated) browser(t *testing.T, name string) *surfer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	server := strings.TrimPrefix(f.URL, "http://")
	var d net.Dialer
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasSuffix(f.site, "://"+addr) {
			addr = server
		}
		return d.DialContext(ctx, network, addr)
	}
	transport := &http.Transport{DialContext: dial, DialTLSContext: dial} // no TLS proxy in between
	t.Cleanup(transport.CloseIdleConnections)
	c := harness.NewClient(t, f.site, "")
	c.Via = &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return &surfer{Client: c, f: f, t: t, name: name}
}

// elsewhere opens an address of the provider and returns the form that its page shows.
func (b *surfer) elsewhere(method, address string, fields url.Values) (action string, form url.Values) {
	b.t.Helper()
	c := b.f.idp
	c.Via = b.Via
	var body any
	if fields != nil {
		body = fields.Encode()
	}
	a := want(b.t, c, method, strings.TrimPrefix(address, c.URL), body, 200, "Content-Type", asForm)
	m := regexp.MustCompile(`<form method="post" action="([^"]+)"`).FindSubmatch(a.Body)
	if m == nil {
		b.t.Fatalf("no form: %s", a.Body)
	}
	form = url.Values{}
	for _, in := range regexp.MustCompile(`<input [^>]*name="([^"]+)"[^>]* value="([^"]*)"`).FindAllSubmatch(a.Body, -1) {
		form.Add(string(in[1]), html.UnescapeString(string(in[2])))
	}
	return html.UnescapeString(string(m[1])), form
}

// answer begins a sign-in at the server, signs in at the provider if required, and returns the form that the provider's
// page then posts. A query is that of the beginning.
func (b *surfer) answer(query ...string) url.Values {
	b.t.Helper()
	to := want(b.t, b.Client, http.MethodGet, "/auth/saml/login"+strings.Join(query, ""), nil, 302, "Accept", asPage).
		Header.Get("Location")
	if !strings.HasPrefix(to, b.f.idp.URL+"/sso?SAMLRequest=") {
		b.t.Fatalf("the browser is sent to %q", to)
	}
	action, form := b.elsewhere(http.MethodGet, to, nil)
	if form.Has("password") {
		form.Set("user", b.name)
		form.Set("password", password)
		action, form = b.elsewhere(http.MethodPost, action, form)
	}
	if action != b.f.site+acs || len(form.Get("RelayState")) < 43 || form.Get("SAMLResponse") == "" {
		b.t.Fatalf("the provider answers %v to %s", form, action)
	}
	b.f.secrets(form.Get("SAMLResponse"), form.Get("RelayState"))
	return form
}

// post posts a form as the provider's page makes a browser do. It may be called from any goroutine.
func (b *surfer) post(form url.Values, accept string) harness.Answer {
	a, err := b.Try(http.MethodPost, acs, form.Encode(), "Content-Type", asForm, "Accept", accept,
		"Origin", b.f.idp.URL, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	if err != nil {
		b.t.Error(err)
	}
	return a
}

// program signs in and takes the token.
func (b *surfer) program() session {
	b.t.Helper()
	return b.token(b.post(b.answer(), asJSON))
}

// token reads a program's session.
func (b *surfer) token(a harness.Answer) session {
	b.t.Helper()
	var s session
	if a.JSON(b.t, &s); a.Status != 200 || !strings.HasPrefix(s.Token, "writ_") || len(cookies(a)) != 0 {
		b.t.Fatalf("a program signs in: %d %v %s", a.Status, a.Header, a.Body)
	}
	b.f.secrets(s.Token)
	return s
}

func cookies(a harness.Answer) []*http.Cookie { return (&http.Response{Header: a.Header}).Cookies() }

// accounts returns everything that the server shows of its accounts.
func (f *federated) accounts(t *testing.T) string {
	t.Helper()
	return string(want(t, f.Client, http.MethodGet, "/v1/users", nil, 200).Body)
}

// refused expects a refusal without a session and without details, as a problem or a page, and one log line with the
// cause. An empty cause means that the provider's answer is complete.
func (f *federated) refused(t *testing.T, what string, a harness.Answer, status int, code, cause string) {
	t.Helper()
	body, page := string(a.Body), strings.HasPrefix(a.Header.Get("Content-Type"), "text/html")
	if a.Status != status || !page && reason(t, a) != code {
		t.Fatalf("%s: %d %s, want %d %s", what, a.Status, a.Body, status, code)
	}
	if strings.Contains(body, "writ_") || strings.Contains(body, `"token"`) || strings.Contains(body, canary) ||
		cause != "" && strings.Contains(body, cause) {
		t.Errorf("%s: the refusal says too much: %s", what, body)
	}
	if set, to := a.Header.Values("Set-Cookie"), a.Header.Get("Location"); len(set) > 0 || to != "" {
		t.Errorf("%s: the refusal sets %q and leads to %q", what, set, to)
	}
	id := "request_id=" + a.Header.Get("X-Request-Id") + " "
	harness.Eventually(t, 10*time.Second, "the request is logged", func() bool { return strings.Contains(f.Output(), id) })
	_, line, _ := strings.Cut(f.Output(), id)
	line, rest, _ := strings.Cut(line, "\n")
	pattern := fmt.Sprintf("status=%d ", status) + `\S+ \S+ reason=` + code
	if cause != "" {
		pattern += " cause=" + regexp.QuoteMeta(strconv.Quote(cause))
	}
	if !regexp.MustCompile(`^method=POST route=`+acs+` `+pattern+`$`).MatchString(line) || strings.Contains(rest, id) {
		t.Errorf("%s: the log says %q, want %s", what, line, pattern)
	}
}
