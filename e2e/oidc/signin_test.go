package oidc

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestBrowserSignsIn signs in with a browser: to the provider, back, and then with a cookie.
func TestBrowserSignsIn(t *testing.T) {
	t.Parallel()
	i := up(t)
	b := i.browser(t, "text/html,application/xhtml+xml,*/*;q=0.8")
	p := b.signIn(user("ada", "engineers"))
	if to, err := p.Location(); err != nil || p.StatusCode/100 != 3 || to.Path != "/ui/" || to.RawQuery != "" {
		t.Fatalf("the way ended with %s at %v: %v\n%s", p.Status, to, err, p.body)
	}
	first := b.way[0].Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": i.idp.ClientID, "code_challenge_method": "S256",
		"redirect_uri": site + "/auth/oidc/callback",
	} {
		if first.Get(name) != want {
			t.Errorf("the provider was asked with %s=%q", name, first.Get(name))
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if len(first.Get(name)) < 43 {
			t.Errorf("%s is %q", name, first.Get(name))
		}
	}
	held := 0
	for _, c := range p.Cookies() {
		if strings.HasPrefix(c.Value, "writ_") {
			held++
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" ||
				strings.HasPrefix(c.Name, "__Host-") {
				t.Errorf("the session's cookie on loopback without TLS: %s", c.String())
			}
		}
	}
	if held != 1 {
		t.Errorf("%d cookies hold a session", held)
	}
	var me struct {
		User account `json:"user"`
		Role string  `json:"role"`
		Open bool    `json:"open"`
	}
	b.send(http.MethodGet, "/v1/auth/me", "").decode(t, http.StatusOK, &me)
	if me.User.Username != "ada" || me.User.Role != "operator" || me.Open {
		t.Errorf("%+v", me)
	}
	if p := b.send(http.MethodPost, "/v1/tokens", `{"name":"x"}`, "Sec-Fetch-Site",
		"cross-site"); p.StatusCode != http.StatusForbidden {
		t.Errorf("a write from another site: %s", p.Status)
	}
	if p := b.send(http.MethodPost, "/v1/auth/logout", "", "Sec-Fetch-Site", "same-origin"); p.StatusCode/100 != 2 {
		t.Errorf("sign out: %s\n%s", p.Status, p.body)
	}
	if p := b.send(http.MethodGet, "/v1/auth/me", ""); p.StatusCode != http.StatusUnauthorized {
		t.Errorf("after signing out: %s", p.Status)
	}
}

// TestProgramSignsIn requests JSON, and gets a token that works like any other.
func TestProgramSignsIn(t *testing.T) {
	t.Parallel()
	i := up(t)
	b := i.browser(t, asJSON)
	var s session
	b.signIn(user("ada", "engineers", "others")).decode(t, http.StatusOK, &s)
	i.secrets(s.Token)
	if !strings.HasPrefix(s.Token, "writ_") || s.ExpiresAt == "" || s.User.Username != "ada" ||
		s.User.Role != "operator" || s.User.ID == "" {
		t.Fatalf("%+v", s)
	}
	var me struct {
		User account `json:"user"`
	}
	a := i.As(s.Token).Do(http.MethodGet, "/v1/auth/me", nil)
	if a.JSON(t, &me); a.Status != http.StatusOK || me.User != s.User {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := i.As(s.Token).Do(http.MethodGet, "/v1/users", nil); a.Status != http.StatusForbidden {
		t.Errorf("an operator lists accounts: %d", a.Status)
	}
	// The same subject with another name and group is the same account with the role of the new group.
	again := user("ada-renamed", "chiefs")
	again.Subject = "subject-of-ada"
	var s2 session
	i.browser(t, asJSON).signIn(again).decode(t, http.StatusOK, &s2)
	i.secrets(s2.Token)
	if s2.User.ID != s.User.ID || s2.User.Role != "admin" || s2.Token == s.Token {
		t.Errorf("%+v, before %+v", s2.User, s.User)
	}
}

// TestLostGroup changes groups: the role follows the groups at each sign-in, and a lost group ends sessions and tokens.
func TestLostGroup(t *testing.T) {
	t.Parallel()
	i := up(t, "--oidc-default-role", "none")
	signIn := func(groups ...string) string {
		var s session
		i.browser(t, asJSON).signIn(user("ada", groups...)).decode(t, http.StatusOK, &s)
		i.secrets(s.Token)
		return s.Token
	}
	own := func(token string) string {
		var made struct{ Token string }
		a := i.As(token).Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "own"})
		if a.JSON(t, &made); a.Status != http.StatusCreated {
			t.Fatalf("mint: %d %s", a.Status, a.Body)
		}
		i.secrets(made.Token)
		return made.Token
	}
	check := func(what string, status int, tokens ...string) {
		t.Helper()
		for n, token := range tokens {
			if a := i.As(token).Do(http.MethodGet, "/v1/auth/me", nil); a.Status != status {
				t.Errorf("%s: token %d is answered %d, want %d", what, n, a.Status, status)
			}
		}
	}
	chief := signIn("chiefs")
	token := own(chief)
	engineer := signIn("engineers")
	check("a lost group", http.StatusUnauthorized, chief, token)
	token = own(engineer)
	check("the same groups", http.StatusOK, signIn("engineers"), engineer, token)
	i.browser(t, asJSON).signIn(user("ada", "strangers")).wantProblem(t, http.StatusForbidden, "no_role")
	check("without a role", http.StatusUnauthorized, engineer, token)
}

// TestForeignAnswers sends callbacks to wrong browsers and servers.
// Keeps T28.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	i := up(t)
	victim, thief := i.browser(t, asJSON), i.browser(t, asJSON)

	address := victim.callback(user("ada", "engineers"))
	thief.send(http.MethodGet, address, "").wantProblem(t, http.StatusUnauthorized, "bad_sign_in")

	address = victim.callback(user("ada", "engineers"))
	thief.callback(user("eve", "engineers"))
	thief.send(http.MethodGet, address, "").wantProblem(t, http.StatusUnauthorized, "bad_sign_in")

	address = victim.callback(user("ada", "engineers"))
	var s session
	victim.send(http.MethodGet, address, "").decode(t, http.StatusOK, &s)
	i.secrets(s.Token)
	victim.send(http.MethodGet, address, "").wantProblem(t, http.StatusUnauthorized, "bad_sign_in")

	for _, change := range []func(url.Values){
		func(q url.Values) { q.Set("state", strings.Repeat("A", 43)) },
		func(q url.Values) { q.Set("code", "c4nary-code-of-nobody") },
		func(q url.Values) { q.Set("iss", "https://evil.example.com") },
		func(q url.Values) { q.Set("error", "access_denied"); q.Del("code") },
		func(q url.Values) { q.Add("code", "c4nary-second") },
		func(q url.Values) { clear(q) },
	} {
		u, err := url.Parse(victim.callback(user("ada", "engineers")))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		change(q)
		u.RawQuery = q.Encode()
		victim.send(http.MethodGet, u.String(), "").wantProblem(t, http.StatusUnauthorized, "bad_sign_in")
	}
	i.secrets("c4nary")
}

// TestOneAnswerManyTimes sends one callback many times concurrently from one browser.
// Keeps T28.
func TestOneAnswerManyTimes(t *testing.T) {
	t.Parallel()
	i := up(t)
	b := i.browser(t, asJSON)
	address := b.callback(user("ada", "engineers"))
	here, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	cookies := b.Jar.Cookies(here)
	var wg sync.WaitGroup
	statuses := make([]int, 20)
	for n := range statuses {
		tab := i.browser(t, asJSON)
		tab.Jar.SetCookies(here, cookies)
		wg.Go(func() { statuses[n] = tab.send(http.MethodGet, address, "").StatusCode })
	}
	wg.Wait()
	in := 0
	for _, s := range statuses {
		switch s {
		case http.StatusOK:
			in++
		case http.StatusUnauthorized:
		default:
			t.Errorf("status %d", s)
		}
	}
	if in != 1 {
		t.Errorf("%d of %d signed in", in, len(statuses))
	}
}

// TestWhoGetsNoAccount: users without a role, or with the name of another account.
func TestWhoGetsNoAccount(t *testing.T) {
	t.Parallel()
	i := up(t, "--oidc-default-role", "none")
	i.browser(t, asJSON).signIn(user("ada", "strangers")).wantProblem(t, http.StatusForbidden, "no_role")
	i.browser(t, asJSON).signIn(user("admin", "engineers")).wantProblem(t, http.StatusConflict, "name_taken")
	byMail := user("", "engineers")
	byMail.PreferredUsername, byMail.Email = "", "admin"
	i.browser(t, asJSON).signIn(byMail).wantProblem(t, http.StatusConflict, "name_taken")
}

// TestDefaultRole is the role of users without a mapped group.
func TestDefaultRole(t *testing.T) {
	t.Parallel()
	i := up(t, "--oidc-default-role", "viewer")
	var s session
	i.browser(t, asJSON).signIn(user("ada", "strangers")).decode(t, http.StatusOK, &s)
	i.secrets(s.Token)
	if s.User.Role != "viewer" {
		t.Errorf("%+v", s.User)
	}
}

// TestProviderThatComesLater: the server starts without it, and signs in once it is there.
func TestProviderThatComesLater(t *testing.T) {
	t.Parallel()
	front := harness.NewLink(t, "") // leads nowhere yet
	m := newProvider(t)
	i := start(t, m, front.Addr())
	b := i.browser(t, asJSON)
	b.send(http.MethodGet, login, "").wantProblem(t, http.StatusServiceUnavailable, "unavailable")
	addr := listen(t, m)
	m.Server.Addr = front.Addr() // as which it knows itself
	front.Lead(addr)
	harness.Eventually(t, 30*time.Second, "the provider is heard of", func() bool {
		b.hold = true
		defer func() { b.hold = false }()
		<-time.After(500 * time.Millisecond) // each try is a sign-in that begins, of which there are a hundred a minute
		return b.send(http.MethodGet, login, "").StatusCode/100 == 3
	})
	var s session
	b.signIn(user("ada", "engineers")).decode(t, http.StatusOK, &s)
	i.secrets(s.Token)
}

// TestBeginningsAreBounded begins more sign-ins than an address may: further ones are refused, and a sign-in in
// progress continues.
func TestBeginningsAreBounded(t *testing.T) {
	t.Parallel()
	i := up(t)
	b := i.browser(t, asJSON)
	address := b.callback(user("ada", "engineers"))
	api := harness.NewClient(t, i.URL, "")
	api.Via = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	begun, refused := 1, 0
	for range 120 {
		switch a := api.Do(http.MethodGet, login, nil, "Accept", asJSON); {
		case a.Status == http.StatusFound:
			begun++
		case a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "" &&
			len(a.Header.Values("Set-Cookie")) == 0:
			refused++
		default:
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	// The minute may pass on a slow machine.
	if begun < 100 || refused == 0 {
		t.Errorf("%d began and %d were refused", begun, refused)
	}
	var s session
	b.send(http.MethodGet, address, "").decode(t, http.StatusOK, &s)
	i.secrets(s.Token)
}
