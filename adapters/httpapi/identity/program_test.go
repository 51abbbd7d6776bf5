package identity_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	identityapi "github.com/writ-automation/writ/adapters/httpapi/identity"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// programs returns every sign-in with the state "cli" to a program.
type programs struct{ *fakeModule }

func (p programs) Expect(ctx context.Context, state string, l identity.Loopback) error {
	return p.ask(ctx, state, l)
}

func (p programs) Return(_ context.Context, state string, e identity.External) (string, error) {
	if state == "cli" {
		return "http://127.0.0.1:40404/?code=" + string(e.Link.Protocol), nil
	}
	return "", nil
}

func (p programs) Exchange(ctx context.Context, code, verifier string) (identity.Session, error) {
	return session(), p.ask(ctx, code, verifier)
}

const (
	waiting   = "?cli=40404&challenge=c&state=s"
	signInOne = "/auth/oidc/login"
)

// TestProgramBegins remembers the program of a sign-in, and takes nothing for its port but a port.
func TestProgramBegins(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, path := range []string{signInOne, "/auth/saml/login"} {
		a := f.Call("GET", path+waiting, "", "").Has("Location", "https://id.test/authorize?state=s")
		if a.Status != 302 {
			t.Errorf("%s: %d", path, a.Status)
		}
		f.wasAsked("s", identity.Loopback{Port: 40404, Challenge: "c", State: "s"})
	}
	f.Call("GET", signInOne+"?cli=65535", "", "")
	f.wasAsked("s", identity.Loopback{Port: 65535})
	f.fake.asked = []any{"nobody"}
	for _, bad := range []string{"", "0", "65536", "080", "+80", "-1", "8e1", "80.", "0x50", "80@evil.test", "evil.test",
		"127.0.0.1:80", "80%20", "%D9%A1", "80/", "99999999999999999999", "80&cli=81", "80&state=a&state=b"} {
		f.Call("GET", signInOne+"?challenge=c&cli="+bad, "", "").Has("Location", "").Has("Set-Cookie", "").
			Problem(400, "invalid")
	}
	f.wasAsked("nobody")
	counted := &beginnings{err: &tooMany}
	f = setup(t, func(_ *httpapi.Config, p *identityapi.Params) { p.Providers.Beginnings = counted })
	f.Call("GET", signInOne+waiting, "", "").Has("Retry-After", "42").Problem(429, "too_many_attempts")
	f = setup(t, func(_ *httpapi.Config, p *identityapi.Params) { p.Providers.OIDC = nil })
	f.Call("GET", signInOne+"?cli=0", "", "").Problem(404, "sign_in_disabled")
	f.Call("GET", "/auth/saml/login?cli=0", "", "").Problem(400, "invalid")
}

var tooMany = func() (e fault.Error) {
	e = *identity.TooManyAttempts.New("too many sign-ins began")
	e.RetryAfter = 42 * time.Second
	return e
}()

// TestProgramGetsTheBrowser sends the browser to the program, without a session and without an account.
func TestProgramGetsTheBrowser(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{asBrowser, "application/json", ""} {
		f := setup(t)
		a := f.Call("GET", strings.Replace(callback, "state=s", "state=cli", 1)+"&cli=1&next=//evil.test", "", "", "Cookie",
			"writ_signin=b1nding", "Accept", accept).Has("Location", "http://127.0.0.1:40404/?code=oidc")
		if a.Status != 303 || cookies(a) != clearCookie || a.Body != "" || f.fed.via != "" {
			t.Errorf("%q: %d %v %s", accept, a.Status, a.Header, a.Body)
		}
		a = f.acs("code=good&RelayState=cli", "Accept", accept).Has("Location", "http://127.0.0.1:40404/?code=saml")
		if a.Status != 303 || cookies(a) != "" || f.fed.via != "" {
			t.Errorf("%q: %d %v", accept, a.Status, a.Header)
		}
		// The parameter of the other protocol is not read.
		if a := f.acs("code=good&state=cli"); a.Header.Get("Location") != "/ui/" {
			t.Errorf("%v", a.Header)
		}
	}
}

// TestExchange answers like a sign-in by password, also over a connection that may hold no cookie.
func TestExchange(t *testing.T) {
	t.Parallel()
	f := setup(t)
	a := f.Call("POST", "/v1/auth/exchange", "", `{"code":"c","verifier":"v"}`, "Host", "writ.test").Is(200, sessionJSON)
	if cookies(a) != "" {
		t.Errorf("%v", a.Header)
	}
	f.wasAsked("c", "v")
	for _, bad := range []string{"", `{}`, `{"code":"c"}`, `{"code":"","verifier":"v"}`, `{"code":1,"verifier":"v"}`,
		`{"code":"c","verifier":"v","more":1}`, `{"code":"c","verifier":"` + strings.Repeat("v", 129) + `"}`} {
		f.Call("POST", "/v1/auth/exchange", "", bad).Problem(400, "invalid")
	}
	f.fake.answer(identity.BadSignIn.New("the code is unknown"))
	f.Call("POST", "/v1/auth/exchange", "", `{"code":"c","verifier":"v"}`).Problem(401, "bad_sign_in")
	f.Call("GET", "/v1/auth/exchange", "", "").Has("Allow", "POST").Problem(405, "method_not_allowed")
}
