package access

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// own creates a token of the client's own account.
func own(t *testing.T, c harness.Client) harness.Client {
	t.Helper()
	return c.As(issueToken(t, c, harness.Body{}).Token)
}

// TestWhatEndsTokens is T46: a new password, a lower role and a deletion end what rests on them, on both engines.
// Keeps T46.
func TestWhatEndsTokens(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "0"}})
		const next = "another long secret"
		for name, c := range map[string]struct {
			do   func(id string, asking harness.Client)
			left [4]int // the asking session, the other one, an own token, one that an admin made
		}{
			"own-password": {func(_ string, asking harness.Client) {
				want(t, asking, http.MethodPut, "/v1/auth/me/password", harness.Body{"current": password, "new": next}, 200)
			}, [4]int{200, 401, 401, 200}},
			"admins-password": {func(id string, _ harness.Client) {
				want(t, s.Client, http.MethodPut, "/v1/users/"+id, harness.Body{"password": next}, 200)
			}, [4]int{401, 401, 401, 200}},
			"higher-role": {func(id string, _ harness.Client) {
				want(t, s.Client, http.MethodPut, "/v1/users/"+id, harness.Body{"role": "admin"}, 200)
			}, [4]int{401, 401, 200, 200}},
			"lower-role": {func(id string, _ harness.Client) {
				want(t, s.Client, http.MethodPut, "/v1/users/"+id, harness.Body{"role": "viewer"}, 200)
			}, [4]int{401, 401, 401, 401}},
			"deletion": {func(id string, _ harness.Client) {
				want(t, s.Client, http.MethodDelete, "/v1/users/"+id, nil, 204)
			}, [4]int{401, 401, 401, 401}},
		} {
			id := made(t, s.Client, "/v1/users", harness.Body{"username": name, "role": "operator", "password": password})
			asking, _ := login(t, s.Client, name, password)
			other, _ := login(t, s.Client, name, password)
			clients := [4]harness.Client{s.As(asking.Token), s.As(other.Token), own(t, s.As(other.Token)),
				s.As(mint(t, s, id, harness.Body{}))}
			c.do(id, clients[0])
			for i, status := range c.left {
				if a := clients[i].Do(http.MethodGet, "/v1/auth/me", nil); a.Status != status {
					t.Errorf("%s: token %d is answered %d, want %d", name, i, a.Status, status)
				}
			}
		}
	})
}

// TestSAMLLostGroup is T46: the role follows the groups at each sign-in, and a lost group ends sessions and tokens. The
// doctor lists an account that its provider has not confirmed for 90 days.
// Keeps T46.
func TestSAMLLostGroup(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		f := federate(t, newIDP(t, persistentNames{}), harness.Options{DB: dbURL, Flags: []string{"--executors", "0"},
			Env: []string{harness.WithoutPrograms}})
		signIn := func(groups ...string) (harness.Client, session) {
			f.setUser(t, "ada", groups...)
			in := f.browser(t, "ada").program()
			return f.As(in.Token), in
		}
		check := func(what string, status int, clients ...harness.Client) {
			t.Helper()
			for i, c := range clients {
				if a := c.Do(http.MethodGet, "/v1/auth/me", nil); a.Status != status {
					t.Errorf("%s: token %d is answered %d, want %d", what, i, a.Status, status)
				}
			}
		}
		chief, in := signIn("chiefs", "engineers")
		token := own(t, chief)
		ofAdmin := f.As(mint(t, f.Server, in.User.ID, harness.Body{}))
		engineer, in := signIn("engineers")
		if in.User.Role != "operator" {
			t.Errorf("the role is %s", in.User.Role)
		}
		check("a lost group", 401, chief, token, ofAdmin)
		token = own(t, engineer)
		ofAdmin = f.As(mint(t, f.Server, in.User.ID, harness.Body{}))
		f.setUser(t, "ada", "strangers")
		b := f.browser(t, "ada")
		f.refused(t, "without a role", b.post(b.answer(), asJSON), 403, "no_role", "")
		check("without a role", 401, engineer, token)
		check("without a role", 200, ofAdmin) // until an admin deletes it

		listed := func() bool {
			a := want(t, f.Client, http.MethodGet, "/v1/doctor", nil, 200)
			return strings.Contains(string(a.Body), in.User.ID) &&
				strings.Contains(string(a.Body), "its provider has not confirmed the account for 91 days")
		}
		if listed() {
			t.Error("the doctor lists an account that was just confirmed")
		}
		f.Alter("UPDATE users SET confirmed_at = ? WHERE id = ?", -91*24*time.Hour, in.User.ID)
		if !listed() {
			t.Error("the doctor does not list an unconfirmed account")
		}
		signIn("engineers")
		if listed() {
			t.Error("the doctor lists an account that signed in again")
		}
	})
}
