package access

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

const password = "a long enough secret"

type session struct {
	Token     string `json:"token"`
	ExpiresAt string `json:"expires_at"`
	User      struct{ ID, Username, Role string }
}

func login(t *testing.T, c harness.Client, name, password string, header ...string) (session, harness.Answer) {
	t.Helper()
	a := c.As("").Do(http.MethodPost, "/v1/auth/login", harness.Body{"username": name, "password": password}, header...)
	var out session
	if a.Status == http.StatusOK {
		a.JSON(t, &out)
	}
	return out, a
}

// TestSessions signs in, uses the session, changes the password and logs out, on both engines.
// Keeps T26.
func TestSessions(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		id := made(t, s.Client, "/v1/users", harness.Body{"username": "ola", "role": "operator", "password": password})
		first, a := login(t, s.Client, "ola", password)
		if a.Status != http.StatusOK || first.User.ID != id || first.User.Role != "operator" || first.ExpiresAt == "" {
			t.Fatalf("login: %d %s", a.Status, a.Body)
		}
		second, _ := login(t, s.Client, "ola", password)
		if second.Token == first.Token {
			t.Error("two logins share a token")
		}
		var me struct {
			User        struct{ Username string }
			Role        string
			Open        bool
			Token       struct{ Kind string }
			Permissions []any
		}
		want(t, s.As(first.Token), http.MethodGet, "/v1/auth/me", nil, 200).JSON(t, &me)
		if me.User.Username != "ola" || me.Role != "operator" || me.Open || me.Token.Kind != "session" ||
			len(me.Permissions) == 0 {
			t.Errorf("me: %+v", me)
		}
		for _, wrong := range []struct{ name, password string }{{"ola", "not the one at all"}, {"nobody", password},
			{"admin", password}} {
			if _, a := login(t, s.Client, wrong.name, wrong.password); a.Status != 401 || reason(t, a) != "bad_login" {
				t.Errorf("%+v: %d %s", wrong, a.Status, a.Body)
			}
		}
		const next = "another long secret"
		want(t, s.As(first.Token), http.MethodPut, "/v1/auth/me/password",
			harness.Body{"current": "wrong wrong wrong", "new": next}, 401)
		want(t, s.As(first.Token), http.MethodPut, "/v1/auth/me/password",
			harness.Body{"current": password, "new": "short"}, 400)
		want(t, s.As(first.Token), http.MethodPut, "/v1/auth/me/password",
			harness.Body{"current": password, "new": next}, 200)
		want(t, s.As(first.Token), http.MethodGet, "/v1/auth/me", nil, 200)
		want(t, s.As(second.Token), http.MethodGet, "/v1/auth/me", nil, 401)
		if _, a := login(t, s.Client, "ola", password); a.Status != 401 {
			t.Errorf("the password before: %d", a.Status)
		}
		var valid struct{ Valid bool }
		want(t, s.As(""), http.MethodPost, "/v1/auth/check", harness.Body{"token": first.Token}, 200).JSON(t, &valid)
		if !valid.Valid {
			t.Error("a good token is not valid")
		}
		want(t, s.As(first.Token), http.MethodPost, "/v1/auth/logout", nil, 204)
		want(t, s.As(first.Token), http.MethodGet, "/v1/auth/me", nil, 401)
		want(t, s.As(""), http.MethodPost, "/v1/auth/check", harness.Body{"token": first.Token}, 200).JSON(t, &valid)
		if valid.Valid {
			t.Error("a token of a session that ended is valid")
		}
		if out := s.Output(); strings.Contains(out, password) || strings.Contains(out, next) ||
			strings.Contains(out, first.Token) {
			t.Error("the log holds a password or a session")
		}
	})
}

// TestGuessingIsSlow: a thousand wrong logins are refused early, do not disclose whether the account exists, and
// do not lock out callers from other addresses.
// Keeps T25.
func TestGuessingIsSlow(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--trusted-proxies", "127.0.0.1"}})
	made(t, s.Client, "/v1/users", harness.Body{"username": "ola", "role": "viewer", "password": password})
	const tries = 1000
	for _, name := range []string{"ola", "nobody"} {
		var mu sync.Mutex
		seen := map[int]int{}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range tries / 8 {
					_, a := login(t, s.Client, name, "guess guess guess", "X-Forwarded-For", "198.51.100.7")
					mu.Lock()
					seen[a.Status]++
					mu.Unlock()
					if a.Status == 429 && (reason(t, a) != "too_many_attempts" || a.Header.Get("Retry-After") == "") {
						t.Errorf("%s %s", a.Header, a.Body)
					}
				}
			})
		}
		wg.Wait()
		// The thousand tries may cross a minute, on a slow machine even two.
		if seen[401] < 10 || seen[401] > 30 || seen[401]+seen[429] != tries {
			t.Errorf("%s: %v", name, seen)
		}
	}
	if _, a := login(t, s.Client, "ola", password, "X-Forwarded-For", "198.51.100.7"); a.Status != 429 {
		t.Errorf("the right password from where the guesses came: %d", a.Status)
	}
	if _, a := login(t, s.Client, "ola", password, "X-Forwarded-For", "203.0.113.9"); a.Status != 200 {
		t.Errorf("the right password from elsewhere: %d", a.Status)
	}
	forged := "203.0.113.10, 198.51.100.7" // the last address before the proxy counts
	if _, a := login(t, s.Client, "ola", password, "X-Forwarded-For", forged); a.Status != 429 {
		t.Errorf("behind a forged hop: %d", a.Status)
	}
}

// TestForwardedAddressesOfStrangersAreNotBelieved: without a trusted proxy the header changes nothing.
// Keeps T40.
func TestForwardedAddressesOfStrangersAreNotBelieved(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	last := 0
	for i := range 12 {
		_, a := login(t, s.Client, "nobody", "guess guess guess", "X-Forwarded-For", fmt.Sprint("198.51.100.", i))
		last = a.Status
	}
	if last != 429 {
		t.Errorf("the twelfth try under the twelfth forged address: %d", last)
	}
}

// TestTheLastAdminStays demotes and deletes all admins concurrently: one remains, on both engines.
func TestTheLastAdminStays(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		var admins []account
		for i := range 6 {
			admins = append(admins, join(t, s, fmt.Sprint("admin", i), "admin"))
		}
		var me struct{ User struct{ ID string } }
		want(t, s.Client, http.MethodGet, "/v1/auth/me", nil, 200).JSON(t, &me)
		targets := []string{me.User.ID}
		for _, p := range admins {
			targets = append(targets, p.ID)
		}
		var wg sync.WaitGroup
		for i, p := range admins {
			wg.Go(func() {
				for j, id := range targets {
					if (i+j)%2 == 0 {
						p.Do(http.MethodDelete, "/v1/users/"+id, nil)
					} else {
						p.Do(http.MethodPut, "/v1/users/"+id, harness.Body{"role": "viewer"})
					}
				}
			})
		}
		wg.Wait()
		out, _ := writ(t, "", "user", "list", "--db", s.DB)
		if n := strings.Count(out, " admin  "); n != 1 {
			t.Errorf("%d admins are left:\n%s", n, out)
		}
	})
}

// TestProfilesArePrivate checks that only admins see the profiles of others, and that answers and logs contain none.
func TestProfilesArePrivate(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--log-level", "debug"}})
	canary := harness.Body{
		"full_name": "Canary-Name", "email": "canary-mail@example.com", "phone": "+1 canary-phone", "title": "Canary-Title",
		"links": []string{"https://example.com/canary-link"}, "notes": "canary-notes",
	}
	body := harness.Body{"username": "ola", "role": "viewer", "password": password}
	for k, v := range canary {
		body[k] = v
	}
	id := made(t, s.Client, "/v1/users", body)
	if a := want(t, s.Client, http.MethodGet, "/v1/users/"+id, nil, 200); strings.Count(strings.ToLower(string(a.Body)),
		"canary") != 6 || a.Header.Get("ETag") == "" {
		t.Errorf("an admin reads %s", a.Body)
	}
	own, _ := login(t, s.Client, "ola", password)
	for _, path := range []string{"/v1/users/" + id, "/v1/users"} {
		want(t, s.As(own.Token), http.MethodGet, path, nil, 403)
	}
	for _, bad := range []harness.Body{
		{"email": strings.Repeat("canary", 60)}, {"notes": strings.Repeat("canary", 400)},
		{"links": []string{"javascript:canary"}},
		{"phone": "canary\nphone"}, {"title": 7, "notes": "canary"}, {"links": []string{"https://x/canary", "ftp://canary"}},
	} {
		a := want(t, s.Client, http.MethodPut, "/v1/users/"+id, bad, 400)
		if strings.Contains(strings.ToLower(string(a.Body)), "canary") || !strings.Contains(string(a.Body), `"location"`) {
			t.Errorf("%v is refused with %s", bad, a.Body)
		}
	}
	if a := want(t, s.Client, http.MethodPut, "/v1/users/"+id, harness.Body{"title": "Canary-Boss"},
		200); strings.Contains(string(a.Body), "canary-mail") {
		t.Errorf("what was left out is still there: %s", a.Body)
	}
	if strings.Contains(strings.ToLower(s.Output()), "canary") || strings.Contains(s.Output(), password) {
		t.Error("the log holds values of a profile or a password")
	}
	request := regexp.MustCompile(`level=DEBUG msg=request request_id=\S+ method=PUT route=/v1/users/\{id\} status=400 `)
	harness.Eventually(t, time.Minute, "the log has the refused requests at debug", func() bool {
		return len(request.FindAllString(s.Output(), -1)) == 6
	})
}

// TestCommandsReachARunningServer creates, changes and deletes an account by commands while a server runs.
func TestCommandsReachARunningServer(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		if out, code := writ(t, password+"\n", "user", "new", "ola", "--role", "operator", "--password-stdin", "--db",
			s.DB); code != 0 {
			t.Fatalf("user new: %d %s", code, out)
		}
		own, a := login(t, s.Client, "ola", password)
		if a.Status != 200 || own.User.Role != "operator" {
			t.Fatalf("login: %d %s", a.Status, a.Body)
		}
		for _, bad := range [][]string{{"new", "ola"}, {"new", "x", "--role", "root"}, {"set", "nobody", "--role", "viewer"},
			{"delete", "admin", "--yes"}} {
			if out, code := writ(t, "", append(append([]string{"user"}, bad...), "--db", s.DB)...); code != 1 ||
				!strings.HasPrefix(out, "writ: ") {
				t.Errorf("user %v: %d %s", bad, code, out)
			}
		}
		if out, code := writ(t, "short\n", "user", "set", "ola", "--password-stdin", "--db", s.DB); code != 1 ||
			strings.Contains(out, "short") && !strings.Contains(out, "12") {
			t.Errorf("a short password: %d %s", code, out)
		}
		if out, code := writ(t, "", "user", "set", "ola", "--db", s.DB); code != 2 {
			t.Errorf("nothing to change: %d %s", code, out)
		}
		if out, code := writ(t, "\n", "user", "new", "empty", "--password-stdin", "--db", s.DB); code != 1 ||
			!strings.Contains(out, "empty") {
			t.Errorf("an empty password: %d %s", code, out)
		}
		for _, half := range [][]string{{"--issuer", "x"}, {"--protocol", "oidc", "--issuer", "x"},
			{"--protocol", "ldap", "--issuer", "x", "--subject", "y"}, {"--unlink", "--subject", "y"}} {
			if out, code := writ(t, "", append([]string{"user", "set", "ola", "--db", s.DB}, half...)...); code != 2 {
				t.Errorf("%v: %d %s", half, code, out)
			}
		}
		if out, code := writ(t, "", "token", "new", "--user", "ola", "--name", "by-command", "--json", "--db",
			s.DB); code != 0 || !strings.Contains(out, `"created_by": "cli`) {
			t.Errorf("token new does not say who made it: %d %s", code, out)
		}
		if out, code := writ(t, "", "user", "set", "ola", "--role", "viewer", "--db", s.DB); code != 0 {
			t.Errorf("user set: %d %s", code, out)
		}
		want(t, s.As(own.Token), http.MethodGet, "/v1/auth/me", nil, 401) // a changed role ends sessions
		if out, code := writ(t, "", "user", "list", "--json", "--db", s.DB); code != 0 ||
			!strings.Contains(out, `"username": "ola"`) || strings.Contains(out, "argon2") {
			t.Errorf("user list: %d %s", code, out)
		}
		if out, code := writ(t, "", "user", "delete", "ola", "--yes", "--db", s.DB); code != 0 {
			t.Errorf("user delete: %d %s", code, out)
		}
		if _, a := login(t, s.Client, "ola", password); a.Status != 401 {
			t.Errorf("a deleted account: %d", a.Status)
		}
	})
}
