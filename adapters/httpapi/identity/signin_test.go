package identity_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	identityapi "github.com/writ-automation/writ/adapters/httpapi/identity"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	asBrowser   = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	setCookie   = cookie + "=" + secret + "; Path=/; Expires=Sat, 05 Jan 2036 20:30:00 GMT; HttpOnly; SameSite=Lax"
	clearCookie = "writ_signin=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
	callback    = "/auth/oidc/callback?code=good&state=s"
)

// acs posts the provider's form like a browser.
func (f *fixture) acs(body string, header ...string) httpapitest.Answer {
	f.t.Helper()
	header = append([]string{
		"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site", "Origin", "https://id.test",
		"Accept", asBrowser,
	}, header...)
	return f.Call("POST", "/auth/saml/acs", "", body, header...)
}

func cookies(a httpapitest.Answer) string { return strings.Join(a.Header.Values("Set-Cookie"), "\n") }

func TestBeginSignIn(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, query := range []string{"", "?next=https://evil.test&RelayState=//evil.test&redirect_uri=x"} {
		a := f.Call("GET", "/auth/oidc/login"+query, "", "", "Referer", "https://evil.test").
			Has("Location", "https://id.test/authorize?state=s")
		if a.Status != 302 || cookies(a) != "writ_signin=b1nding; Path=/; Max-Age=600; HttpOnly; SameSite=Lax" {
			t.Errorf("%d %v", a.Status, a.Header)
		}
		a = f.Call("GET", "/auth/saml/login"+query, "", "").Has("Location", "https://id.test/authorize?state=s")
		if a.Status != 302 || cookies(a) != "" {
			t.Errorf("%d %v", a.Status, a.Header)
		}
	}
	before := f.fake.actor
	f.fake.asked = []any{"nobody"}
	f.Call("HEAD", "/auth/oidc/login", "", "").Has("Allow", "GET")
	if a := f.Call("HEAD", callback, "", ""); a.Status != 405 || f.fake.last()[0] != "nobody" || before.IP == "" {
		t.Errorf("a probe of a link uses it up: %d", a.Status)
	}
	f.fake.answer(fault.Wrap(fault.Unavailable, errors.New("HIDDEN dial"), "the identity provider does not answer"))
	a := f.Call("GET", "/auth/oidc/login", "", "", "Accept", asBrowser).Has("Content-Type", "text/html; charset=utf-8").
		Has("Retry-After", "1")
	if a.Status != 503 || !strings.Contains(a.Body, "does not answer") || strings.Contains(a.Body, "HIDDEN") ||
		a.Header.Get("Location") != "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	f.Call("GET", "/auth/saml/login", "", "").Problem(503, "unavailable")

	secure := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.PublicURL = "https://writ.test" })
	if a := secure.Call("GET", "/auth/oidc/login", "", "", "X-Forwarded-Host",
		"evil.test"); a.Header.Get("Location") != "https://id.test/authorize?state=s" ||
		cookies(a) != "__Host-writ_signin=b1nding; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax" {
		t.Errorf("%v", a.Header)
	}
	// A form posted from another site carries only cookies with SameSite=None.
	a = secure.Call("GET", "/auth/saml/login", "", "").Has("Location", "https://id.test/authorize?state=s")
	if a.Status != 302 || cookies(a) != "__Host-writ_saml=b1nding; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=None" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
}

// TestBeginnings counts the started sign-ins of both protocols by their address, before any call of the provider or
// the store.
func TestBeginnings(t *testing.T) {
	t.Parallel()
	counted := &beginnings{}
	f := setup(t, func(_ *httpapi.Config, p *identityapi.Params) { p.Providers.Beginnings = counted })
	for n, path := range []string{"/auth/oidc/login", "/auth/saml/login"} {
		if a := f.Call("GET", path, "", ""); a.Status != 302 || len(counted.ips) != n+1 || counted.ips[n] != "127.0.0.1" {
			t.Errorf("%s: %d, counted %q", path, a.Status, counted.ips)
		}
	}
	f.Call("GET", "/auth/saml/login", "", "", "Host", "writ.test").Problem(403, "insecure_connection")
	f.Call("GET", callback, "", "")
	f.acs("code=good")
	if len(counted.ips) != 2 {
		t.Errorf("what begins nothing is counted: %q", counted.ips)
	}
	f.fake.asked = []any{"nobody"}
	tooMany := identity.TooManyAttempts.New("too many sign-ins begin at this address")
	tooMany.RetryAfter = 42 * time.Second
	counted.err = tooMany
	for _, path := range []string{"/auth/oidc/login", "/auth/saml/login"} {
		a := f.Call("GET", path, "", "").Has("Retry-After", "42").Has("Location", "").Has("Set-Cookie", "")
		a.Problem(429, "too_many_attempts")
		if a := f.Call("GET", path, "", "", "Accept", asBrowser).Has("Retry-After", "42"); a.Status != 429 ||
			!strings.Contains(a.Body, "too many sign-ins") {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	f.wasAsked("nobody")
}

func TestCompleteSignIn(t *testing.T) {
	t.Parallel()
	f := setup(t)
	bound := "writ_signin=b1nding; " + cookie + "=planted"
	// A browser: the planted session is replaced, the binding is used up, and the request does not determine the
	// redirect.
	a := f.Call("GET", callback+"&next=https://evil.test", "", "", "Cookie", bound, "Accept", asBrowser, "Referer",
		"https://evil.test")
	if a.Has("Location", "/ui/"); a.Status != 303 || cookies(a) != clearCookie+"\n"+setCookie || a.Body != "" {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	f.wasAsked(url.Values{"code": {"good"}, "state": {"s"}, "next": {"https://evil.test"}}, "b1nding", false)
	if f.fed.via != "oidc" {
		t.Errorf("admitted %q", f.fed.via)
	}
	// A program: it gets a token and no cookie.
	a = f.Call("GET", callback, "", "", "Cookie", bound, "Accept", "application/json").Is(200, sessionJSON)
	if cookies(a) != clearCookie+"\n"+deleteStatuses || a.Header.Get("Location") != "" {
		t.Errorf("%v", a.Header)
	}
	for accept, status := range map[string]int{
		"application/json, text/plain, */*": 200, "text/html, Application/JSON;q=0.5": 200, "*/*": 303, "": 303,
		"application/json;q=0, */*": 303,
	} {
		if a := f.Call("GET", callback, "", "", "Cookie", bound, "Accept", accept); a.Status != status {
			t.Errorf("%s: %d", accept, a.Status)
		}
	}
	// A provider's form comes from its origin, without cookies.
	a = f.acs("code=good&RelayState=https%3A%2F%2Fevil.test").Has("Location", "/ui/")
	if a.Status != 303 || cookies(a) != setCookie || f.fed.via != "saml" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	f.Call("POST", "/auth/saml/acs?code=good", "", "a=b", "Content-Type", "application/x-www-form-urlencoded").
		Problem(401, "bad_sign_in")
	f.wasAsked(url.Values{"a": {"b"}}, "", true)
	f.acs("code=good", "Accept", "application/json").Is(200, sessionJSON)
	f.acs("code=good", "Cookie", cookie+"=planted").Has("Set-Cookie", setCookie)
	f.acs("").Problem(400, "invalid")
	f.acs("code=good", "Content-Type", "application/json").Problem(415, "unsupported_media_type")
	f.Call("GET", "/auth/saml/acs", "", "").Has("Allow", "POST").Problem(405, "method_not_allowed")

	secure := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.PublicURL = "https://writ.test" })
	a = secure.Call("GET", callback, "", "", "Cookie", "__Host-writ_signin=b1nding", "Accept", asBrowser,
		"X-Forwarded-Host", "evil.test").Has("Location", "/ui/")
	if want := "__Host-" + strings.Replace(setCookie, "HttpOnly;", "HttpOnly; Secure;",
		1); a.Header.Values("Set-Cookie")[1] != want {
		t.Errorf("%v", a.Header)
	}
	secure.Call("GET", callback, "", "", "Cookie", "writ_signin=b1nding").Problem(401, "bad_sign_in")
}

// TestSAMLBinding completes over TLS in the browser that started and in others.
func TestSAMLBinding(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.PublicURL = "https://writ.test" })
	const name = "__Host-writ_saml"
	taken := name + "=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=None"
	session := "__Host-" + strings.Replace(setCookie, "HttpOnly;", "HttpOnly; Secure;", 1)
	a := f.acs("code=good", "Cookie", name+"=b1nding").Has("Location", "/ui/")
	if a.Status != 303 || cookies(a) != taken+"\n"+session || f.fed.via != identity.SAML {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	f.wasAsked(url.Values{"code": {"good"}}, "b1nding", false)
	a = f.acs("code=good", "Cookie", name+"=b1nding", "Accept", "application/json").Is(200, sessionJSON)
	if cookies(a) != taken {
		t.Errorf("%v", a.Header)
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
			if a.Status != 401 || strings.Contains(cookies(a), cookie) || f.fed.via != "" || strings.Contains(a.Body, secret) {
				t.Errorf("%s: %d %v %s", what, a.Status, a.Header, a.Body)
			}
			if got := f.fake.last(); got[1] == "b1nding" || got[2] != false {
				t.Errorf("%s: asked %v", what, got)
			}
		}
	}
	// The session cookie is no binding, and the binding is no session.
	f.Call("GET", "/v1/auth/me", "", "", "Cookie", name+"=viewer").Problem(401, "bad_token")
	// Over TLS the cookie of the other protocol is unchanged.
	if a := f.acs("code=good", "Cookie", name+"=b1nding; __Host-writ_signin=other"); cookies(a) != taken+"\n"+session {
		t.Errorf("%v", a.Header)
	}
	// With insecure cookies over plain http the cookie cannot be set and is ignored.
	g := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.InsecureCookies = true })
	if a := g.Call("GET", "/auth/saml/login", "", "", "Host", "writ.test"); a.Status != 302 || cookies(a) != "" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	if a := g.acs("code=good", "Host", "writ.test", "Cookie", "writ_saml=x"); a.Status != 303 || cookies(a) != setCookie {
		t.Errorf("%d %v", a.Status, a.Header)
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
		a := f.Call("GET", c[0], "", "", header...).Has("Content-Type", "text/html; charset=utf-8").Has("Location", "")
		if a.Status != 401 || !strings.Contains(a.Body, "Sign-in failed") ||
			!strings.Contains(a.Body, "<code>"+a.Header.Get("X-Request-Id")+"</code>") ||
			strings.Contains(a.Body, "CAUSE") || strings.Contains(a.Body, "<script") || strings.Contains(a.Body, "style") ||
			strings.Contains(cookies(a), cookie) {
			t.Errorf("%s: %d %v %s", what, a.Status, a.Header, a.Body)
		}
		f.Call("GET", c[0], "", "", append(header, "Accept", "application/json")...).Problem(401, "bad_sign_in")
		f.Call("GET", c[0], "", "", append(header, "Accept", "*/*")...).Problem(401, "bad_sign_in")
	}
	log := f.Log.String()
	if strings.Count(log, `"cause":"CAUSE of the provider"`) < 12 ||
		!strings.Contains(log, `"cause":"a parameter is given twice"`) ||
		!strings.Contains(log, `"reason":"bad_sign_in"`) || strings.Contains(log, "code=") ||
		strings.Contains(log, "b1nding") {
		t.Errorf("log: %s", log)
	}
	for _, body := range []string{"code=good&code=good", "code=%ff", "code=%00", "code=%zz", "a;b"} {
		f.acs(body, "Accept", "application/json").Problem(401, "bad_sign_in")
	}
	// A request id from outside is escaped on the page, too.
	a := f.Call("GET", callback, "", "", "Accept", asBrowser, "X-Request-Id", "<script>1</script>")
	if strings.Contains(a.Body, "<script") || !strings.Contains(a.Body, "&lt;script&gt;") {
		t.Errorf("%s", a.Body)
	}
	f.fed.err = identity.NoRole.New("no group of yours gives a role here")
	a = f.Call("GET", callback, "", "", "Accept", asBrowser, "Cookie", "writ_signin=b1nding")
	if a.Status != 403 || !strings.Contains(a.Body, "no group of yours gives a role here") || cookies(a) != clearCookie {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	f.fed.err = identity.NameTaken.New("another account has the name")
	f.acs("code=good", "Accept", "application/json").Problem(409, "name_taken")
	f.fed.err = errors.New("HIDDEN sql")
	if a := f.acs("code=good"); a.Status != 500 || strings.Contains(a.Body, "HIDDEN") ||
		!strings.Contains(f.Log.String(), "HIDDEN sql") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestSignInOverPlainHTTP(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, path := range []string{"/auth/oidc/login", "/auth/saml/login", callback} {
		for _, proto := range []string{"http", "https"} {
			f.Call("GET", path, "", "", "Host", "writ.test", "X-Forwarded-Proto", proto).Problem(403, "insecure_connection")
		}
	}
	if f.fake.last() != nil {
		t.Error("the provider was asked all the same")
	}
	// Where cookies are forbidden, no sign-in was started that could be completed.
	f.acs("code=good", "Host", "writ.test", "Accept", "application/json").Problem(401, "bad_sign_in")
	f.wasAsked(url.Values{"code": {"good"}}, "", false)
	g := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.InsecureCookies = true })
	if a := g.acs("code=good", "Host", "writ.test"); a.Status != 303 || cookies(a) != setCookie {
		t.Errorf("%d %v", a.Status, a.Header)
	}
	g.Call("GET", "/v1/auth/me", "", "", "Host", "writ.test", "Cookie", cookie+"=viewer").
		Has("Content-Type", "application/json")
	f.Call("GET", "/v1/auth/me", "", "", "Host", "writ.test", "Cookie", cookie+"=viewer").Problem(401, "bad_token")
}

func TestDisabledProviders(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*identityapi.Params){
		"none":          func(p *identityapi.Params) { p.Providers = identityapi.Providers{} },
		"no beginnings": func(p *identityapi.Params) { p.Providers.Beginnings = nil },
		"no federation": func(p *identityapi.Params) { p.Providers.Federation = nil },
		"no programs":   func(p *identityapi.Params) { p.Providers.Programs = nil },
	} {
		f := setup(t, func(_ *httpapi.Config, p *identityapi.Params) { change(p) })
		for _, path := range []string{"/auth/oidc/login", callback, "/auth/saml/login", "/auth/saml/metadata"} {
			f.Call("GET", path, "", "").Problem(404, "sign_in_disabled")
			if a := f.Call("GET", path, "", "", "Accept", asBrowser); a.Status != 404 ||
				!strings.Contains(a.Body, "Sign-in failed") {
				t.Errorf("%s, %s: %d %s", what, path, a.Status, a.Body)
			}
		}
		f.acs("code=good", "Accept", "application/json").Problem(404, "sign_in_disabled")
		f.Call("POST", "/v1/auth/exchange", "", `{"code":"c","verifier":"v"}`).Problem(404, "sign_in_disabled")
	}
	f := setup(t)
	if a := f.Call("GET", "/auth/saml/metadata", "", "").
		Has("Content-Type", "application/samlmetadata+xml"); a.Status != 200 || a.Body != "<EntityDescriptor/>" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
