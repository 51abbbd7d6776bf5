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
	sessionJSON = `{"token":"` + secret + `","expires_at":"2036-01-05T20:30:00Z","user":{"id":"` + userID +
		`","username":"alex","role":"operator"}}`
	deleteStatuses = cookie + "=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
)

func (f *fixture) wasAsked(want ...any) {
	f.t.Helper()
	if d := cmp.Diff(want, f.fake.last()); d != "" {
		f.t.Errorf("asked (-want +got):\n%s", d)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	f := setup(t)
	login := `{"username":"alex","password":"` + good + `"}`
	f.Call("POST", "/v1/auth/login", "", login).Is(200, sessionJSON).Has("Set-Cookie", "").Has("Cache-Control", "no-store")
	if f.fake.actor.IP != "127.0.0.1" || f.fake.actor.Type != "anonymous" {
		t.Errorf("attempts are counted by address: %+v", f.fake.actor)
	}
	// An earlier cookie, even a planted or invalid one, does not survive the sign-in and does not prevent it.
	f.Call("POST", "/v1/auth/login", "", login, "Cookie", cookie+"=planted").Is(200, sessionJSON).
		Has("Set-Cookie", deleteStatuses)
	f.Call("POST", "/v1/auth/login", "nobody", login).Is(200, sessionJSON)
	f.Call("POST", "/v1/auth/login", "", `{"username":"alex","password":"wrong"}`).Problem(401, "bad_login")
	f.fake.answer(identity.TooManyAttempts.New("too many attempts"))
	if f.Call("POST", "/v1/auth/login", "", login).Has("Retry-After", "1").
		Problem(429, "too_many_attempts"); f.fake.last() == nil {
		t.Error("nobody was asked")
	}
	for body, where := range map[string]string{
		`{"username":"alex"}`: "password", `{"password":"x"}`: "username", `{"username":1,"password":"x"}`: "username",
		`{"username":"a","password":"x","otp":1}`: "otp", `{"username":"a","password":null}`: "password",
	} {
		if got := f.Call("POST", "/v1/auth/login", "", body).Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	f.Call("POST", "/v1/auth/login", "", "").Problem(400, "invalid")
	f.Call("POST", "/v1/auth/login", "", login, "Content-Type", "text/plain").Problem(415, "unsupported_media_type")
	f.Call("POST", "/v1/auth/login", "", "username=alex", "Content-Type", "application/x-www-form-urlencoded").
		Problem(415, "unsupported_media_type")
}

// TestLargeLogin refuses a body of more than 4 KiB before anything is counted.
func TestLargeLogin(t *testing.T) {
	t.Parallel()
	f := setup(t)
	body := func(size int) string {
		const frame = `{"username":"alex","password":""}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
	}
	for _, size := range []int{4097, 5000, 1 << 20, 1<<20 + 1} {
		f.Call("POST", "/v1/auth/login", "", body(size)).Problem(413, "too_large")
		f.Call("POST", "/v1/auth/login", "admin", strings.Repeat(" ", size)).Problem(413, "too_large")
	}
	if f.fake.last() != nil {
		t.Error("a sign-in was tried")
	}
	f.Call("POST", "/v1/auth/login", "", body(4096)).Problem(401, "bad_login")
}

// TestLoginOfAPage: only a page of this server gets the session as a cookie, if it asks for one.
func TestLoginOfAPage(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path, asked = "/v1/auth/login", `{"username":"alex","password":"` + good + `","cookie":true}`
	same := []string{"Sec-Fetch-Site", "same-origin"}
	f.Call("POST", path, "", asked, same...).Is(200, sessionJSON).Has("Set-Cookie", setCookie)
	f.Call("POST", path, "", asked, append(same, "Cookie", cookie+"=planted")...).Is(200, sessionJSON).
		Has("Set-Cookie", setCookie)
	for _, site := range []string{"cross-site", "same-site", "none", "Same-Origin", ""} {
		f.Call("POST", path, "", asked, "Sec-Fetch-Site", site).Is(200, sessionJSON).Has("Set-Cookie", "")
		f.Call("POST", path, "", asked, "Sec-Fetch-Site", site, "Cookie", cookie+"=planted").Has("Set-Cookie", deleteStatuses)
	}
	f.Call("POST", path, "", asked, "Origin", f.URL).Is(200, sessionJSON).Has("Set-Cookie", "")
	f.Call("POST", path, "", strings.Replace(asked, "true", "false", 1), same...).Is(200, sessionJSON).
		Has("Set-Cookie", "")
	f.Call("POST", path, "", strings.Replace(asked, ",\"cookie\":true", "", 1), same...).Is(200, sessionJSON).
		Has("Set-Cookie", "")
	f.Call("POST", path, "", strings.Replace(asked, "true", "1", 1), same...).Problem(400, "invalid")
	f.Call("POST", path, "", strings.Replace(asked, good, "wrong", 1), same...).Has("Set-Cookie", "").
		Problem(401, "bad_login")
	// Over plain http beyond loopback there is no cookie, over TLS it is a secure one.
	f.Call("POST", path, "", asked, append(same, "Host", "writ.test")...).Is(200, sessionJSON).Has("Set-Cookie", "")
	f.Call("POST", path, "", asked, append(same, "X-Forwarded-For", "203.0.113.9")...).Is(200, sessionJSON).
		Has("Set-Cookie", "")
	secure := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.PublicURL = "https://writ.test" })
	secure.Call("POST", path, "", asked, same...).
		Has("Set-Cookie", "__Host-"+strings.Replace(setCookie, "HttpOnly;", "HttpOnly; Secure;", 1))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	f := setup(t)
	valid := `{"valid":true,"kind":"api","expires_at":"2036-01-05T20:30:00Z","user":{"id":"` + userID +
		`","username":"alex","role":"operator"}}`
	const path = "/v1/auth/check"
	f.Call("POST", path, "", `{"token":"`+secret+`"}`).Is(200, valid)
	f.Call("POST", path, secret, "").Is(200, valid)
	f.Call("POST", path, secret, "{}").Is(200, valid)
	f.Call("POST", path, "nobody", `{"token":"`+secret+`"}`).Is(200, valid)
	f.Call("POST", path, secret, `{"token":"bad"}`).Is(200, `{"valid":false}`)
	f.Call("POST", path, "bad", "").Problem(401, "bad_token")
	f.Call("POST", path, "", "").Problem(401, "bad_token")
	f.Call("POST", path, "", `{"token":""}`).Problem(401, "bad_token")
	f.Call("POST", path, "", "", "Authorization", "Basic YTpi").Problem(401, "bad_token")
	f.Call("POST", path, "", "", "Cookie", cookie+"="+secret).Problem(403, "cross_origin")
	f.Call("POST", path, "", "", "Cookie", cookie+"="+secret, "Sec-Fetch-Site", "same-origin").Is(200, valid)
	f.Call("POST", path, "", `{"token":7}`).Problem(400, "invalid")
	f.fake.never = true
	if a := f.Call("POST", path, secret, ""); strings.Contains(a.Body, "expires_at") {
		t.Errorf("%s", a.Body)
	}
	// In an open install every request is the admin's, whatever its header contains; a token in the body is checked.
	open := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.Open = true })
	const admin = `{"valid":true,"user":{"id":"usr_admin","username":"admin","role":"admin"}}`
	for _, body := range []string{"", "{}", `{"token":""}`} {
		open.Call("POST", path, "", body).Is(200, admin)
		open.Call("POST", path, "", body, "Authorization", "Basic YTpi").Is(200, admin)
		open.Call("POST", path, "nobody", body).Is(200, admin)
	}
	if open.fake.last() != nil {
		t.Error("a token was looked for")
	}
	open.Call("POST", path, "", `{"token":"bad"}`).Is(200, `{"valid":false}`)
	open.Call("POST", path, "", `{"token":"`+secret+`"}`).Is(200, valid)
	open.Call("POST", path, "", "", "Sec-Fetch-Site", "cross-site").Problem(403, "cross_origin")
	// Other errors than a bad token are returned in both cases.
	f.fake.answer(identity.NotAllowed.New("no"))
	f.Call("POST", path, "", `{"token":"`+secret+`"}`).Problem(403, "forbidden")
}

func TestMe(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Call("GET", "/v1/auth/me", "viewer", "").Is(200, `{
		"user":{"id":"`+userID+`","username":"alex","role":"operator"},"role":"operator",
		"token":{"id":"known","kind":"api","name":"ci","user_id":"`+userID+
		`","username":"alex","created_at":"2026-01-05T08:30:00.123456Z","created_by":"usr_admin","expires_at":"2036-01-05T20:30:00Z"},
		"teams":[{"id":"team_1","name":"web"}],"orgs":[{"id":"org_1","name":"retail","role":"admin"}],
		"permissions":["run:read","*:*"],"open":false}`)
	f.Call("GET", "/v1/auth/me", "", "", "Cookie", cookie+"=viewer").Has("Set-Cookie", "")
	open := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.Open = true })
	open.fake.open = true
	for _, header := range []string{"Basic YTpi", "Bearer nobody", "Bearer", ""} {
		open.Call("GET", "/v1/auth/me", "", "", "Authorization", header).Has("Content-Type", "application/json")
		open.Call("POST", "/v1/users", "", `{"username":"alex","role":"viewer"}`, "Authorization", header).
			Is(201, accountJSON)
	}
	open.Call("GET", "/v1/auth/me", "", "").
		Is(200, `{"user":{"id":"`+userID+`","username":"alex","role":"operator"},"role":"operator",
		"teams":[],"orgs":[],"permissions":[],"open":true}`)
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/v1/auth/me/password"
	f.Call("PUT", path, "viewer", `{"current":"old","new":"`+good+`"}`).
		Is(200, `{"user":{"id":"usr_viewer","username":"viewer","role":"viewer"}}`)
	f.wasAsked("old", good)
	f.Call("PUT", path, "viewer", `{"new":"`+good+`"}`).
		Is(200, `{"user":{"id":"usr_viewer","username":"viewer","role":"viewer"}}`)
	f.wasAsked("", good)
	f.Call("PUT", path, "viewer", `{"new":"`+strings.Repeat("ä", 12)+`"}`)
	f.wasAsked("", strings.Repeat("ä", 12))
	for _, body := range []string{`{"current":"x"}`, `{"new":"short"}`, `{"new":"` + strings.Repeat("x", 1025) + `"}`,
		`{"new":["x"]}`} {
		if got := f.Call("PUT", path, "viewer", body).Problem(400, "invalid"); !slices.Equal(got, []string{"new"}) {
			t.Errorf("%.40s: %v", body, got)
		}
	}
	f.fake.answer(identity.BadLogin.New("the password is wrong"))
	f.Call("PUT", path, "viewer", `{"current":"old","new":"`+good+`"}`).Problem(401, "bad_login")
	f.Call("PUT", path, "", `{"new":"`+good+`"}`, "Cookie", cookie+"=viewer").Problem(403, "cross_origin")
}

func TestLogout(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Call("POST", "/v1/auth/logout", "viewer", "").Is(204, "").Has("Set-Cookie", "")
	f.wasAsked("tok_viewer")
	f.Call("POST", "/v1/auth/logout", "", "", "Cookie", cookie+"=operator", "Sec-Fetch-Site", "same-origin").Is(204, "").
		Has("Set-Cookie", deleteStatuses)
	f.wasAsked("tok_operator")
	f.Call("POST", "/v1/auth/logout", "", "", "Cookie", cookie+"=operator", "Sec-Fetch-Site", "cross-site").
		Problem(403, "cross_origin")
	f.Call("POST", "/v1/auth/logout", "", "").Problem(401, "bad_token")
	f.Call("GET", "/v1/auth/logout", "viewer", "").Has("Allow", "POST").Problem(405, "method_not_allowed")
}
