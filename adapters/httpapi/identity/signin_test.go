package identity_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	identityapi "github.com/writ-automation/writ/adapters/httpapi/identity"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	asBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	given     = cookie + "=" + secret + "; Path=/; Expires=Sat, 05 Jan 2036 20:30:00 GMT; HttpOnly; SameSite=Lax"
	spent     = "writ_signin=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
	callback  = "/auth/oidc/callback?code=good&state=s"
)

// acs posts the provider's form as a browser comes from there.
func (f *fixture) acs(body string, header ...string) answer {
	f.t.Helper()
	header = append([]string{
		"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site", "Origin", "https://id.test", "Accept", asBrowser,
	}, header...)
	return f.call("POST", "/auth/saml/acs", "", body, header...)
}

func cookies(a answer) string { return strings.Join(a.header.Values("Set-Cookie"), "\n") }

func TestBeginSignIn(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, query := range []string{"", "?next=https://evil.test&RelayState=//evil.test&redirect_uri=x"} {
		a := f.call("GET", "/auth/oidc/login"+query, "", "", "Referer", "https://evil.test").has("Location", "https://id.test/authorize?state=s")
		if a.status != 302 || cookies(a) != "writ_signin=b1nding; Path=/; Max-Age=600; HttpOnly; SameSite=Lax" {
			t.Errorf("%d %v", a.status, a.header)
		}
		a = f.call("GET", "/auth/saml/login"+query, "", "").has("Location", "https://id.test/authorize?state=s")
		if a.status != 302 || cookies(a) != "" {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
	before := f.stand.actor
	f.stand.asked = []any{"nobody"}
	f.call("HEAD", "/auth/oidc/login", "", "").has("Allow", "GET")
	if a := f.call("HEAD", callback, "", ""); a.status != 405 || f.stand.last()[0] != "nobody" || before.IP == "" {
		t.Errorf("a probe of a link uses it up: %d", a.status)
	}
	f.stand.answer(fault.Wrap(fault.Unavailable, errors.New("HIDDEN dial"), "the identity provider does not answer"))
	a := f.call("GET", "/auth/oidc/login", "", "", "Accept", asBrowser).has("Content-Type", "text/html; charset=utf-8").has("Retry-After", "1")
	if a.status != 503 || !strings.Contains(a.body, "does not answer") || strings.Contains(a.body, "HIDDEN") || a.header.Get("Location") != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	f.call("GET", "/auth/saml/login", "", "").problem(503, "unavailable")

	secure := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.PublicURL = "https://writ.test" })
	if a := secure.call("GET", "/auth/oidc/login", "", "", "X-Forwarded-Host", "evil.test"); a.header.Get("Location") != "https://id.test/authorize?state=s" || cookies(a) != "__Host-writ_signin=b1nding; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax" {
		t.Errorf("%v", a.header)
	}
	// The form that another site makes the browser post brings nothing but a cookie for all sites along.
	a = secure.call("GET", "/auth/saml/login", "", "").has("Location", "https://id.test/authorize?state=s")
	if a.status != 302 || cookies(a) != "__Host-writ_saml=b1nding; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=None" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

// TestBeginnings counts each sign-in that begins, of either protocol, by the address it comes from, and before the
// provider or the store is asked for anything.
func TestBeginnings(t *testing.T) {
	t.Parallel()
	counted := &beginnings{}
	f := setup(t, func(_ *httpapi.Config, p *identityapi.Params) { p.Providers.Beginnings = counted })
	for n, path := range []string{"/auth/oidc/login", "/auth/saml/login"} {
		if a := f.call("GET", path, "", ""); a.status != 302 || len(counted.ips) != n+1 || counted.ips[n] != "127.0.0.1" {
			t.Errorf("%s: %d, counted %q", path, a.status, counted.ips)
		}
	}
	f.call("GET", "/auth/saml/login", "", "", "Host", "writ.test").problem(403, "insecure_connection")
	f.call("GET", callback, "", "")
	f.acs("code=good")
	if len(counted.ips) != 2 {
		t.Errorf("what begins nothing is counted: %q", counted.ips)
	}
	f.stand.asked = []any{"nobody"}
	tooMany := identity.TooManyAttempts.New("too many sign-ins begin at this address")
	tooMany.RetryAfter = 42 * time.Second
	counted.err = tooMany
	for _, path := range []string{"/auth/oidc/login", "/auth/saml/login"} {
		a := f.call("GET", path, "", "").has("Retry-After", "42").has("Location", "").has("Set-Cookie", "")
		a.problem(429, "too_many_attempts")
		if a := f.call("GET", path, "", "", "Accept", asBrowser).has("Retry-After", "42"); a.status != 429 || !strings.Contains(a.body, "too many sign-ins") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	f.wasAsked("nobody")
}

func TestCompleteSignIn(t *testing.T) {
	t.Parallel()
	f := setup(t)
	bound := "writ_signin=b1nding; " + cookie + "=planted"
	// A browser: the planted session is replaced, the binding is used up, and nothing of the request says where to go.
	a := f.call("GET", callback+"&next=https://evil.test", "", "", "Cookie", bound, "Accept", asBrowser, "Referer", "https://evil.test")
	if a.has("Location", "/ui/"); a.status != 303 || cookies(a) != spent+"\n"+given || a.body != "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	f.wasAsked(url.Values{"code": {"good"}, "state": {"s"}, "next": {"https://evil.test"}}, "b1nding", false)
	if f.fed.via != "oidc" {
		t.Errorf("admitted %q", f.fed.via)
	}
	// A program: its token and no cookie.
	a = f.call("GET", callback, "", "", "Cookie", bound, "Accept", "application/json").is(200, sessionJSON)
	if cookies(a) != spent+"\n"+dropped || a.header.Get("Location") != "" {
		t.Errorf("%v", a.header)
	}
	for accept, status := range map[string]int{
		"application/json, text/plain, */*": 200, "text/html, Application/JSON;q=0.5": 200, "*/*": 303, "": 303, "application/json;q=0, */*": 303,
	} {
		if a := f.call("GET", callback, "", "", "Cookie", bound, "Accept", accept); a.status != status {
			t.Errorf("%s: %d", accept, a.status)
		}
	}
	// A provider's form comes from its origin, without cookies.
	a = f.acs("code=good&RelayState=https%3A%2F%2Fevil.test").has("Location", "/ui/")
	if a.status != 303 || cookies(a) != given || f.fed.via != "saml" {
		t.Errorf("%d %v", a.status, a.header)
	}
	f.call("POST", "/auth/saml/acs?code=good", "", "a=b", "Content-Type", "application/x-www-form-urlencoded").problem(401, "bad_sign_in")
	f.wasAsked(url.Values{"a": {"b"}}, "", true)
	f.acs("code=good", "Accept", "application/json").is(200, sessionJSON)
	f.acs("code=good", "Cookie", cookie+"=planted").has("Set-Cookie", given)
	f.acs("").problem(400, "invalid")
	f.acs("code=good", "Content-Type", "application/json").problem(415, "unsupported_media_type")
	f.call("GET", "/auth/saml/acs", "", "").has("Allow", "POST").problem(405, "method_not_allowed")

	secure := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.PublicURL = "https://writ.test" })
	a = secure.call("GET", callback, "", "", "Cookie", "__Host-writ_signin=b1nding", "Accept", asBrowser, "X-Forwarded-Host", "evil.test").has("Location", "/ui/")
	if want := "__Host-" + strings.Replace(given, "HttpOnly;", "HttpOnly; Secure;", 1); a.header.Values("Set-Cookie")[1] != want {
		t.Errorf("%v", a.header)
	}
	secure.call("GET", callback, "", "", "Cookie", "writ_signin=b1nding").problem(401, "bad_sign_in")
}

// TestSAMLBinding completes over TLS in the browser that began and in others.
func TestSAMLBinding(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.PublicURL = "https://writ.test" })
	const name = "__Host-writ_saml"
	taken := name + "=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=None"
	session := "__Host-" + strings.Replace(given, "HttpOnly;", "HttpOnly; Secure;", 1)
	a := f.acs("code=good", "Cookie", name+"=b1nding").has("Location", "/ui/")
	if a.status != 303 || cookies(a) != taken+"\n"+session || f.fed.via != identity.SAML {
		t.Errorf("%d %v", a.status, a.header)
	}
	f.wasAsked(url.Values{"code": {"good"}}, "b1nding", false)
	a = f.acs("code=good", "Cookie", name+"=b1nding", "Accept", "application/json").is(200, sessionJSON)
	if cookies(a) != taken {
		t.Errorf("%v", a.header)
	}
	f.fed.via = ""
	for what, sent := range map[string]string{
		"another browser":     "x=y",
		"another sign-in":     name + "=other",
		"two":                 name + "=b1nding; " + name + "=b1nding",
		"set without TLS":     "writ_saml=b1nding",
		"of another protocol": "__Host-writ_signin=b1nding",
	} {
		for _, accept := range []string{asBrowser, "application/json"} {
			a := f.acs("code=good", "Cookie", sent, "Accept", accept)
			if a.status != 401 || strings.Contains(cookies(a), cookie) || f.fed.via != "" || strings.Contains(a.body, secret) {
				t.Errorf("%s: %d %v %s", what, a.status, a.header, a.body)
			}
			if got := f.stand.last(); got[1] == "b1nding" || got[2] != false {
				t.Errorf("%s: asked %v", what, got)
			}
		}
	}
	// The session cookie is no binding, and the binding no session.
	f.call("GET", "/v1/auth/me", "", "", "Cookie", name+"=viewer").problem(401, "bad_token")
	// Over TLS the cookie of the other protocol is left alone.
	if a := f.acs("code=good", "Cookie", name+"=b1nding; __Host-writ_signin=other"); cookies(a) != taken+"\n"+session {
		t.Errorf("%v", a.header)
	}
	// Where it is allowed in clear the cookie cannot be set, and is not looked at.
	g := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.InsecureCookies = true })
	if a := g.call("GET", "/auth/saml/login", "", "", "Host", "writ.test"); a.status != 302 || cookies(a) != "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := g.acs("code=good", "Host", "writ.test", "Cookie", "writ_saml=x"); a.status != 303 || cookies(a) != given {
		t.Errorf("%d %v", a.status, a.header)
	}
	g.wasAsked(url.Values{"code": {"good"}}, "", true)
}

func TestFailedSignIn(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for what, c := range map[string][]string{
		"no binding":    {callback},
		"wrong binding": {callback, "writ_signin=x"},
		"two bindings":  {callback, "writ_signin=b1nding; writ_signin=b1nding"},
		"wrong code":    {"/auth/oidc/callback?code=bad", "writ_signin=b1nding"},
		"two codes":     {"/auth/oidc/callback?code=good&code=bad", "writ_signin=b1nding"},
		"nothing":       {"/auth/oidc/callback", "writ_signin=b1nding"},
	} {
		header := []string{"Accept", asBrowser}
		if len(c) > 1 {
			header = append(header, "Cookie", c[1])
		}
		a := f.call("GET", c[0], "", "", header...).has("Content-Type", "text/html; charset=utf-8").has("Location", "")
		if a.status != 401 || !strings.Contains(a.body, "Sign-in failed") || !strings.Contains(a.body, "<code>"+a.header.Get("X-Request-Id")+"</code>") ||
			strings.Contains(a.body, "CAUSE") || strings.Contains(a.body, "<script") || strings.Contains(a.body, "style") || strings.Contains(cookies(a), cookie) {
			t.Errorf("%s: %d %v %s", what, a.status, a.header, a.body)
		}
		f.call("GET", c[0], "", "", append(header, "Accept", "application/json")...).problem(401, "bad_sign_in")
		f.call("GET", c[0], "", "", append(header, "Accept", "*/*")...).problem(401, "bad_sign_in")
	}
	log := f.log.String()
	if strings.Count(log, `"cause":"CAUSE of the provider"`) < 12 || !strings.Contains(log, `"cause":"a parameter is given twice"`) ||
		!strings.Contains(log, `"reason":"bad_sign_in"`) || strings.Contains(log, "code=") || strings.Contains(log, "b1nding") {
		t.Errorf("log: %s", log)
	}
	for _, body := range []string{"code=good&code=good", "code=%ff", "code=%00", "code=%zz", "a;b"} {
		f.acs(body, "Accept", "application/json").problem(401, "bad_sign_in")
	}
	// A request id from outside is text on the page, too.
	a := f.call("GET", callback, "", "", "Accept", asBrowser, "X-Request-Id", "<script>1</script>")
	if strings.Contains(a.body, "<script") || !strings.Contains(a.body, "&lt;script&gt;") {
		t.Errorf("%s", a.body)
	}
	f.fed.err = identity.NoRole.New("no group of yours gives a role here")
	a = f.call("GET", callback, "", "", "Accept", asBrowser, "Cookie", "writ_signin=b1nding")
	if a.status != 403 || !strings.Contains(a.body, "no group of yours gives a role here") || cookies(a) != spent {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	f.fed.err = identity.NameTaken.New("another account has the name")
	f.acs("code=good", "Accept", "application/json").problem(409, "name_taken")
	f.fed.err = errors.New("HIDDEN sql")
	if a := f.acs("code=good"); a.status != 500 || strings.Contains(a.body, "HIDDEN") || !strings.Contains(f.log.String(), "HIDDEN sql") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestSignInOverPlainHTTP(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, path := range []string{"/auth/oidc/login", "/auth/saml/login", callback} {
		for _, proto := range []string{"http", "https"} {
			f.call("GET", path, "", "", "Host", "writ.test", "X-Forwarded-Proto", proto).problem(403, "insecure_connection")
		}
	}
	if f.stand.last() != nil {
		t.Error("the provider was asked all the same")
	}
	// Where no cookie may be, no sign-in began that could be completed.
	f.acs("code=good", "Host", "writ.test", "Accept", "application/json").problem(401, "bad_sign_in")
	f.wasAsked(url.Values{"code": {"good"}}, "", false)
	g := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.InsecureCookies = true })
	if a := g.acs("code=good", "Host", "writ.test"); a.status != 303 || cookies(a) != given {
		t.Errorf("%d %v", a.status, a.header)
	}
	g.call("GET", "/v1/auth/me", "", "", "Host", "writ.test", "Cookie", cookie+"=viewer").has("Content-Type", "application/json")
	f.call("GET", "/v1/auth/me", "", "", "Host", "writ.test", "Cookie", cookie+"=viewer").problem(401, "bad_token")
}

func TestDisabledProviders(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*identityapi.Params){
		"none":          func(p *identityapi.Params) { p.Providers = identityapi.Providers{} },
		"no beginnings": func(p *identityapi.Params) { p.Providers.Beginnings = nil },
		"no federation": func(p *identityapi.Params) { p.Providers.Federation = nil },
	} {
		f := setup(t, func(_ *httpapi.Config, p *identityapi.Params) { change(p) })
		for _, path := range []string{"/auth/oidc/login", callback, "/auth/saml/login", "/auth/saml/metadata"} {
			f.call("GET", path, "", "").problem(404, "sign_in_disabled")
			if a := f.call("GET", path, "", "", "Accept", asBrowser); a.status != 404 || !strings.Contains(a.body, "Sign-in failed") {
				t.Errorf("%s, %s: %d %s", what, path, a.status, a.body)
			}
		}
		f.acs("code=good", "Accept", "application/json").problem(404, "sign_in_disabled")
	}
	f := setup(t)
	if a := f.call("GET", "/auth/saml/metadata", "", "").has("Content-Type", "application/samlmetadata+xml"); a.status != 200 || a.body != "<EntityDescriptor/>" {
		t.Errorf("%d %s", a.status, a.body)
	}
}
