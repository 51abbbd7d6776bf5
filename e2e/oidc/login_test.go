package oidc

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestCommandLineSignsIn signs in with 'writ login' and a browser: to the provider, back to the server, and on to the
// command, which then works as the account. The browser gets no session.
func TestCommandLineSignsIn(t *testing.T) {
	t.Parallel()
	i := up(t)
	home, b := harness.NewHome(t), i.browser(t, "text/html,application/xhtml+xml,*/*;q=0.8")
	login := home.Login(i.URL)
	i.idp.QueueUser(user("ada", "engineers"))
	p := b.send(http.MethodGet, login.Address, "")
	if p.StatusCode != http.StatusOK || !strings.Contains(string(p.body), "Signed in") || p.Request.URL.Hostname() !=
		"127.0.0.1" {
		t.Fatalf("the way ended with %s at %s\n%s", p.Status, p.Request.URL, p.body)
	}
	if out, code := login.Wait(); code != 0 || !strings.Contains(out, "as ada (operator)") ||
		strings.Contains(out, "writ_") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	site, _ := url.Parse(site)
	for _, c := range b.Jar.Cookies(site) {
		if strings.HasPrefix(c.Value, "writ_") {
			t.Errorf("the browser has a session in %s", c.Name)
		}
	}
	if out, code := home.Writ("whoami"); code != 0 || !strings.Contains(out, "ada, operator") ||
		!strings.Contains(out, "oidc") {
		t.Errorf("exit %d\n%s", code, out)
	}
	// The code and the answer of the provider are used up.
	for _, way := range b.way {
		if strings.HasSuffix(way.Path, "/callback") {
			b.accept = asJSON
			b.send(http.MethodGet, way.String(), "").wantProblem(t, http.StatusUnauthorized, "bad_sign_in")
		}
		if code := way.Query().Get("code"); way.Path == "/" && code != "" {
			a := i.As("").Do(http.MethodPost, "/v1/auth/exchange", harness.Body{"code": code, "verifier": "other"})
			if a.Status != http.StatusUnauthorized {
				t.Errorf("the code again: %d %s", a.Status, a.Body)
			}
		}
	}
	if out, code := home.Writ("logout"); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	if out, code := home.Writ("whoami"); code != 1 || !strings.Contains(out, "writ login") {
		t.Errorf("signed out: exit %d\n%s", code, out)
	}
}

// TestCommandLineIsRefused: a user without a role gets an error on the command line, and no account.
func TestCommandLineIsRefused(t *testing.T) {
	t.Parallel()
	i := up(t, "--oidc-default-role", "none")
	home, b := harness.NewHome(t), i.browser(t, "text/html")
	login := home.Login(i.URL)
	i.idp.QueueUser(user("eve", "strangers"))
	if p := b.send(http.MethodGet, login.Address, ""); p.StatusCode != http.StatusForbidden {
		t.Errorf("%s\n%s", p.Status, p.body)
	}
	if out, code := login.Wait(); code != 1 || !strings.Contains(out, "role") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if a := i.Do(http.MethodGet, "/v1/users", nil); strings.Contains(string(a.Body), "eve") {
		t.Errorf("%s", a.Body)
	}
}
