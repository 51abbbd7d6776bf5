package identity_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	identityapi "github.com/writ-automation/writ/adapters/httpapi/identity"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	cookie      = "writ_session"
	sessionJSON = `{"token":"` + secret + `","expires_at":"2036-01-05T20:30:00Z","user":{"id":"` + userID + `","username":"alex","role":"operator"}}`
	dropped     = cookie + "=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
)

func (f *fixture) wasAsked(want ...any) {
	f.t.Helper()
	if d := cmp.Diff(want, f.stand.last()); d != "" {
		f.t.Errorf("asked (-want +got):\n%s", d)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	f := setup(t)
	login := `{"username":"alex","password":"` + good + `"}`
	f.call("POST", "/v1/auth/login", "", login).is(200, sessionJSON).has("Set-Cookie", "").has("Cache-Control", "no-store")
	if f.stand.actor.IP != "127.0.0.1" || f.stand.actor.Type != "anonymous" {
		t.Errorf("attempts are counted by address: %+v", f.stand.actor)
	}
	// A cookie that was there before, whoever planted it, does not outlive the sign-in, and no bad one hinders it.
	f.call("POST", "/v1/auth/login", "", login, "Cookie", cookie+"=planted").is(200, sessionJSON).has("Set-Cookie", dropped)
	f.call("POST", "/v1/auth/login", "nobody", login).is(200, sessionJSON)
	f.call("POST", "/v1/auth/login", "", `{"username":"alex","password":"wrong"}`).problem(401, "bad_login")
	f.stand.answer(identity.TooManyAttempts.New("too many attempts"))
	if f.call("POST", "/v1/auth/login", "", login).has("Retry-After", "1").problem(429, "too_many_attempts"); f.stand.last() == nil {
		t.Error("nobody was asked")
	}
	for body, where := range map[string]string{
		`{"username":"alex"}`: "password", `{"password":"x"}`: "username", `{"username":1,"password":"x"}`: "username",
		`{"username":"a","password":"x","otp":1}`: "otp", `{"username":"a","password":null}`: "password",
	} {
		if got := f.call("POST", "/v1/auth/login", "", body).problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	f.call("POST", "/v1/auth/login", "", "").problem(400, "invalid")
	f.call("POST", "/v1/auth/login", "", login, "Content-Type", "text/plain").problem(415, "unsupported_media_type")
	f.call("POST", "/v1/auth/login", "", "username=alex", "Content-Type", "application/x-www-form-urlencoded").problem(415, "unsupported_media_type")
}

// TestLoginOfAPage gives the session as a cookie to who asks for it on a page of this server, and to nobody else.
func TestLoginOfAPage(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path, asked = "/v1/auth/login", `{"username":"alex","password":"` + good + `","cookie":true}`
	same := []string{"Sec-Fetch-Site", "same-origin"}
	f.call("POST", path, "", asked, same...).is(200, sessionJSON).has("Set-Cookie", given)
	f.call("POST", path, "", asked, append(same, "Cookie", cookie+"=planted")...).is(200, sessionJSON).has("Set-Cookie", given)
	for _, site := range []string{"cross-site", "same-site", "none", "Same-Origin", ""} {
		f.call("POST", path, "", asked, "Sec-Fetch-Site", site).is(200, sessionJSON).has("Set-Cookie", "")
		f.call("POST", path, "", asked, "Sec-Fetch-Site", site, "Cookie", cookie+"=planted").has("Set-Cookie", dropped)
	}
	f.call("POST", path, "", asked, "Origin", f.url).is(200, sessionJSON).has("Set-Cookie", "")
	f.call("POST", path, "", strings.Replace(asked, "true", "false", 1), same...).is(200, sessionJSON).has("Set-Cookie", "")
	f.call("POST", path, "", strings.Replace(asked, ",\"cookie\":true", "", 1), same...).is(200, sessionJSON).has("Set-Cookie", "")
	f.call("POST", path, "", strings.Replace(asked, "true", "1", 1), same...).problem(400, "invalid")
	f.call("POST", path, "", strings.Replace(asked, good, "wrong", 1), same...).has("Set-Cookie", "").problem(401, "bad_login")
	// In clear beyond loopback there is no cookie, over TLS it is a secure one.
	f.call("POST", path, "", asked, append(same, "Host", "writ.test")...).is(200, sessionJSON).has("Set-Cookie", "")
	f.call("POST", path, "", asked, append(same, "X-Forwarded-For", "203.0.113.9")...).is(200, sessionJSON).has("Set-Cookie", "")
	secure := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.PublicURL = "https://writ.test" })
	secure.call("POST", path, "", asked, same...).has("Set-Cookie", "__Host-"+strings.Replace(given, "HttpOnly;", "HttpOnly; Secure;", 1))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	f := setup(t)
	valid := `{"valid":true,"kind":"api","expires_at":"2036-01-05T20:30:00Z","user":{"id":"` + userID + `","username":"alex","role":"operator"}}`
	const path = "/v1/auth/check"
	f.call("POST", path, "", `{"token":"`+secret+`"}`).is(200, valid)
	f.call("POST", path, secret, "").is(200, valid)
	f.call("POST", path, secret, "{}").is(200, valid)
	f.call("POST", path, "nobody", `{"token":"`+secret+`"}`).is(200, valid)
	f.call("POST", path, secret, `{"token":"bad"}`).is(200, `{"valid":false}`)
	f.call("POST", path, "bad", "").problem(401, "bad_token")
	f.call("POST", path, "", "").problem(401, "bad_token")
	f.call("POST", path, "", `{"token":""}`).problem(401, "bad_token")
	f.call("POST", path, "", "", "Authorization", "Basic YTpi").problem(401, "bad_token")
	f.call("POST", path, "", "", "Cookie", cookie+"="+secret).problem(403, "cross_origin")
	f.call("POST", path, "", "", "Cookie", cookie+"="+secret, "Sec-Fetch-Site", "same-origin").is(200, valid)
	f.call("POST", path, "", `{"token":7}`).problem(400, "invalid")
	f.stand.never = true
	if a := f.call("POST", path, secret, ""); strings.Contains(a.body, "expires_at") {
		t.Errorf("%s", a.body)
	}
	// An open install presents its admin, whatever a header holds; a token that the body names is looked at.
	open := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.Open = true })
	const admin = `{"valid":true,"user":{"id":"usr_admin","username":"admin","role":"admin"}}`
	for _, body := range []string{"", "{}", `{"token":""}`} {
		open.call("POST", path, "", body).is(200, admin)
		open.call("POST", path, "", body, "Authorization", "Basic YTpi").is(200, admin)
		open.call("POST", path, "nobody", body).is(200, admin)
	}
	if open.stand.last() != nil {
		t.Error("a token was looked for")
	}
	open.call("POST", path, "", `{"token":"bad"}`).is(200, `{"valid":false}`)
	open.call("POST", path, "", `{"token":"`+secret+`"}`).is(200, valid)
	open.call("POST", path, "", "", "Sec-Fetch-Site", "cross-site").problem(403, "cross_origin")
	// What is no verdict on the token is an error in either place.
	f.stand.answer(identity.NotAllowed.New("no"))
	f.call("POST", path, "", `{"token":"`+secret+`"}`).problem(403, "forbidden")
}

func TestMe(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.call("GET", "/v1/auth/me", "viewer", "").is(200, `{
		"user":{"id":"`+userID+`","username":"alex","role":"operator"},"role":"operator",
		"token":{"id":"known","kind":"api","name":"ci","user_id":"`+userID+`","created_at":"2026-01-05T08:30:00.123456Z","created_by":"usr_admin","expires_at":"2036-01-05T20:30:00Z"},
		"teams":[{"id":"team_1","name":"web"}],"orgs":[{"id":"org_1","name":"retail","role":"admin"}],
		"permissions":["run:read","*:*"],"open":false}`)
	f.call("GET", "/v1/auth/me", "", "", "Cookie", cookie+"=viewer").has("Set-Cookie", "")
	open := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.Open = true })
	open.stand.open = true
	for _, header := range []string{"Basic YTpi", "Bearer nobody", "Bearer", ""} {
		open.call("GET", "/v1/auth/me", "", "", "Authorization", header).has("Content-Type", "application/json")
		open.call("POST", "/v1/users", "", `{"username":"alex","role":"viewer"}`, "Authorization", header).is(201, accountJSON)
	}
	open.call("GET", "/v1/auth/me", "", "").is(200, `{"user":{"id":"`+userID+`","username":"alex","role":"operator"},"role":"operator",
		"teams":[],"orgs":[],"permissions":[],"open":true}`)
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/v1/auth/me/password"
	f.call("PUT", path, "viewer", `{"current":"old","new":"`+good+`"}`).is(200, `{"user":{"id":"usr_viewer","username":"viewer","role":"viewer"}}`)
	f.wasAsked("old", good)
	f.call("PUT", path, "viewer", `{"new":"`+good+`"}`).is(200, `{"user":{"id":"usr_viewer","username":"viewer","role":"viewer"}}`)
	f.wasAsked("", good)
	f.call("PUT", path, "viewer", `{"new":"`+strings.Repeat("ä", 12)+`"}`)
	f.wasAsked("", strings.Repeat("ä", 12))
	for _, body := range []string{`{"current":"x"}`, `{"new":"short"}`, `{"new":"` + strings.Repeat("x", 1025) + `"}`, `{"new":["x"]}`} {
		if got := f.call("PUT", path, "viewer", body).problem(400, "invalid"); !slices.Equal(got, []string{"new"}) {
			t.Errorf("%.40s: %v", body, got)
		}
	}
	f.stand.answer(identity.BadLogin.New("the password is wrong"))
	f.call("PUT", path, "viewer", `{"current":"old","new":"`+good+`"}`).problem(401, "bad_login")
	f.call("PUT", path, "", `{"new":"`+good+`"}`, "Cookie", cookie+"=viewer").problem(403, "cross_origin")
}

func TestLogout(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.call("POST", "/v1/auth/logout", "viewer", "").is(204, "").has("Set-Cookie", "")
	f.wasAsked("tok_viewer")
	f.call("POST", "/v1/auth/logout", "", "", "Cookie", cookie+"=operator", "Sec-Fetch-Site", "same-origin").is(204, "").has("Set-Cookie", dropped)
	f.wasAsked("tok_operator")
	f.call("POST", "/v1/auth/logout", "", "", "Cookie", cookie+"=operator", "Sec-Fetch-Site", "cross-site").problem(403, "cross_origin")
	f.call("POST", "/v1/auth/logout", "", "").problem(401, "bad_token")
	f.call("GET", "/v1/auth/logout", "viewer", "").has("Allow", "POST").problem(405, "method_not_allowed")
}
