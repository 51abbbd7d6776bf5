package ui

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestSignInForms checks the sign-in by password and by token, where it leads, and who is refused.
func TestSignInForms(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	createdBy(t, s.Client, "/v1/users", harness.Body{"username": "ines", "role": "viewer", "password": formPassword})
	v := browseForms(t, s)
	v.get("/ui/runs?q=a").to(t, "/ui/login?next=%2Fui%2Fruns%3Fq%3Da")
	v.get("/ui/login").want(t, 200, "<h1>Sign in</h1>", "writ token reset-admin").
		lacks(t, "/auth/oidc/login", "/auth/saml/login")

	form := url.Values{"username": {"ines"}, "password": {"wrong"}, "_page": {"/ui/login?next=%2Fui%2Fruns"},
		"_next": {"/ui/runs"}}
	v.post("/ui/login", form).want(t, 401, "No account has this name and this password.", `value="ines"`).
		lacks(t, "wrong")
	for _, origin := range []string{"", "https://evil.test"} {
		v.send(http.MethodPost, "/ui/login", form, "Origin", origin).want(t, 403)
		v.send(http.MethodPost, "/ui/login/token", url.Values{"token": {s.Admin}}, "Origin", origin).want(t, 403)
	}
	form.Set("password", formPassword)
	for _, next := range []string{"https://evil.test/ui/", "//evil.test/ui/", "/v1/runs", "/ui/../v1/runs\\"} {
		form.Set("_next", next)
		if a := browseForms(t, s).post("/ui/login", form); a.location != "/ui/" {
			t.Errorf("next %q leads to %q", next, a.location)
		}
	}
	form.Set("_next", "/ui/account")
	a := v.post("/ui/login", form).to(t, "/ui/account")
	if c := a.header.Get("Set-Cookie"); !strings.HasPrefix(c, "writ_session=") || !strings.Contains(c, "HttpOnly") ||
		!strings.Contains(c, "SameSite=Lax") {
		t.Errorf("the cookie is %q", c)
	}
	v.get("/ui/account").want(t, 200, "You are signed in as ines, viewer.").lacks(t, "Delete the token", ">Settings<")
	v.get("/ui/login?next=/ui/account").to(t, "/ui/account")
	v.send(http.MethodPost, "/ui/logout", url.Values{"_page": {"/ui/account"}}, "Origin", "https://evil.test").want(t, 403)
	v.post("/ui/logout", url.Values{"_page": {"/ui/account"}}).to(t, "/ui/login")
	v.get("/ui/account").to(t, "/ui/login")
}

// TestSignInAttempts checks that the page says when the next attempt is possible.
func TestSignInAttempts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	v := browseForms(t, s)
	form := url.Values{"username": {"nobody"}, "password": {"x"}, "_page": {"/ui/login"}}
	for range 11 {
		if a := v.post("/ui/login", form); a.status == http.StatusTooManyRequests {
			a.want(t, 429, "Too many attempts failed. Try again in ", `value="nobody"`)
			return
		}
	}
	t.Error("eleven failures are not too many")
}

// TestSignInByToken checks that a token opens a session of its own, and that signing out leaves the token alone.
func TestSignInByToken(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	v := browseForms(t, s)
	v.post("/ui/login/token", url.Values{"token": {"writ_no"}, "_page": {"/ui/login"}}).
		want(t, 401, "This token is not valid", "<details class=\"sm\" open>")
	a := v.post("/ui/login/token", url.Values{"token": {" " + s.Admin + "\n"}, "_page": {"/ui/login"}}).to(t, "/ui/")
	if strings.Contains(a.header.Get("Set-Cookie"), s.Admin) {
		t.Error("the cookie has the pasted token itself")
	}
	v.get("/ui/account").want(t, 200, "You are signed in as admin, administrator.", "Browser session", "Delete the token")
	v.post("/ui/logout", url.Values{"_page": {"/ui/account"}}).to(t, "/ui/login")
	if a := s.Do(http.MethodGet, "/v1/auth/me", nil); a.Status != http.StatusOK {
		t.Errorf("the pasted token answers %d after the sign-out", a.Status)
	}
	var narrow struct{ Token string }
	s.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "reader", "scopes": []string{"read"}}).JSON(t, &narrow)
	a = v.post("/ui/login/token", url.Values{"token": {narrow.Token}, "_page": {"/ui/login"}})
	if a.status == http.StatusSeeOther { // the session has the limits of the token
		v.post("/ui/do/submit-run", url.Values{"tool": {"bash"}, "command": {"true"}, "_page": {"/ui/account"}}).want(t, 403)
		return
	}
	a.want(t, 403, "This token may not open a session")
}

// TestOwnAccount checks how pages look, the own password, and that a secret is shown once.
func TestOwnAccount(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	v := signedInForms(t, s, "ines", "operator")
	looks := url.Values{"theme": {"dark"}, "density": {"compact"}, "zone": {"Nowhere/Land"}, "keys": {"off"},
		"_page": {"/ui/account"}, "_next": {"/ui/account"}}
	v.post("/ui/account/appearance", looks).want(t, 400, "is no time zone", "Nowhere/Land")
	looks.Set("zone", "Europe/Berlin")
	v.post("/ui/account/appearance", looks).to(t, "/ui/account")
	v.get("/ui/account").want(t, 200, `data-theme="dark"`, `data-density="compact"`, `data-zone="Europe/Berlin"`,
		`data-keys="off"`)

	token := url.Values{"name": {"<script>ci"}, "expires_in:int": {"86400"}, "scopes:list": {"read"},
		"_page": {"/ui/account"}}
	a := v.post("/ui/account/tokens", token).want(t, 201, "I have stored it", "writ_", "&lt;script&gt;ci")
	secret := tokenOnPage.FindString(a.body)
	if m := s.As(secret).Do(http.MethodGet, "/v1/auth/me", nil); m.Status != http.StatusOK {
		t.Errorf("the new token answers %d", m.Status)
	}
	v.get("/ui/account").want(t, 200).lacks(t, secret)
	token.Set("name", "")
	v.post("/ui/account/tokens", token).want(t, 400)

	change := url.Values{"current": {"not it"}, "new": {"another long password"}, "_page": {"/ui/account"}}
	v.post("/ui/do/change-password", change).want(t, 401).lacks(t, "not it", "another long password")
	change.Set("current", formPassword)
	v.post("/ui/do/change-password", change).to(t, "/ui/account")
	v.get("/ui/account").want(t, 200, "signed in as ines")
}
