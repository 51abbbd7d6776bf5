package access

import (
	"net/http"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// age makes the sign-in behind every token older.
func age(s *harness.Server, by time.Duration) {
	s.Alter("UPDATE tokens SET signed_in_at = ?", -by)
}

// TestRecentSignIn is T46: what opens another account takes a session, the password or a token that rests on a sign-in
// of the last hour.
// Keeps T46.
func TestRecentSignIn(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL, Flags: []string{"--executors", "0"}})
		ola := made(t, s.Client, "/v1/users", harness.Body{"username": "ola", "role": "viewer", "password": password})
		bare := join(t, s, "bare", "operator").Client
		second := s.As(issueToken(t, s.Client, harness.Body{}).Token)
		mintFor := harness.Body{"name": "x", "user_id": ola}
		withPassword := harness.Body{"username": "eve", "role": "admin", "password": password}
		first := harness.Body{"new": password}
		age(s, 2*time.Hour)
		for _, r := range []struct {
			method, path string
			body         harness.Body
		}{
			{http.MethodPost, "/v1/tokens", mintFor}, {http.MethodPost, "/v1/users", withPassword},
			{http.MethodPut, "/v1/users/" + ola, harness.Body{"password": password}},
			{http.MethodPut, "/v1/auth/me/password", first},
		} {
			a := want(t, second, r.method, r.path, r.body, 403)
			if reason(t, a) != "recent_sign_in_required" {
				t.Errorf("%s %s: %s", r.method, r.path, a.Body)
			}
			want(t, s.As(""), r.method, r.path, r.body, 401)
		}
		want(t, bare, http.MethodPut, "/v1/auth/me/password", first, 403)
		child := s.As(issueToken(t, second, harness.Body{}).Token) // young, and made with an old one
		want(t, child, http.MethodPost, "/v1/tokens", mintFor, 403)
		for _, c := range []harness.Client{second, bare} {
			want(t, c, http.MethodPost, "/v1/tokens", harness.Body{"name": "own"}, 201)
		}
		want(t, bare, http.MethodPost, "/v1/tokens", mintFor, 403)
		want(t, s.Client, http.MethodPost, "/v1/tokens", mintFor, 201) // admin has no password
		want(t, s.Client, http.MethodPut, "/v1/auth/me/password", first, 200)
		if a := want(t, s.Client, http.MethodPost, "/v1/tokens", mintFor, 403); reason(t, a) != "recent_sign_in_required" {
			t.Errorf("the first token: %s", a.Body)
		}
		for _, bad := range []any{"wrong wrong wrong", 7, "", []string{password}} {
			status := 400
			if bad == "wrong wrong wrong" {
				status = 401
			}
			want(t, s.Client, http.MethodPost, "/v1/tokens", harness.Body{"name": "x", "user_id": ola, "password": bad}, status)
		}
		proven := issueToken(t, s.Client, harness.Body{"user_id": ola, "password": password})
		want(t, s.As(proven.Token), http.MethodGet, "/v1/auth/me", nil, 200)
		own := s.As(issueToken(t, s.Client, harness.Body{"password": password}).Token)
		want(t, own, http.MethodPost, "/v1/tokens", mintFor, 201)
		session, _ := login(t, s.Client, "admin", password)
		age(s, 11*time.Hour)
		want(t, s.As(session.Token), http.MethodPost, "/v1/tokens", mintFor, 201)
		want(t, s.As(session.Token), http.MethodPost, "/v1/users", withPassword, 201)
		if out, code := writ(t, "", "token", "new", "--user", "ola", "--db", s.DB); code != 0 {
			t.Errorf("token new: %d %s", code, out)
		}
	})
}
