package identity_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/fault"
)

// canary replaces a password or a value of a profile.
const canary = "c4n4ryS3cretValue"

// TestNoSecretIsEchoed puts a secret where it is invalid, in every way in which a body can be refused, and searches
// the answer and the log for it.
func TestNoSecretIsEchoed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	long := strings.Repeat(canary, 200)
	var bodies []string
	for _, member := range []string{
		"username", "password", "current", "new", "token", "role", "full_name", "email", "phone", "title", "links", "notes",
		"identities", "name",
		"code", "verifier", "user_id", "expires_in", "subject", "object", "level",
	} {
		for _, value := range []string{
			`"` + canary + `"`, `["` + canary + `"]`, `{"a":"` + canary + `"}`, `"` + long + `"`, `"` + canary + `\u0000"`,
			`"` + canary + `\ud800"`,
			`["` + canary + `",1,null]`, `"` + canary, `"` + canary + `",`, `"` + canary + `","` + member + `":"` + canary + `"`,
		} {
			bodies = append(bodies, `{"`+member+`":`+value+`}`)
		}
	}
	requests := []string{
		"POST /v1/auth/login", "POST /v1/auth/check", "POST /v1/auth/exchange",
		"PUT /v1/auth/me/password", "POST /v1/tokens", "POST /v1/users",
		"PUT /v1/users/known",
		"POST /v1/teams", "POST /v1/teams/known/members", "POST /v1/orgs", "POST /v1/orgs/known/members", "POST /v1/grants",
	}
	refused := 0
	for _, r := range requests {
		method, path, _ := strings.Cut(r, " ")
		for _, body := range bodies {
			a := f.Call(method, path, "admin", body)
			if a.Status == 400 {
				refused++
			}
			// The id of an added member is no secret and part of the answer.
			if strings.Contains(a.Body, canary) && (a.Status >= 400 || !strings.HasSuffix(path, "/members")) {
				t.Errorf("%s %.100s: %s", r, body, a.Body)
			}
		}
	}
	if refused < len(requests)*len(bodies)/2 {
		t.Errorf("only %d of %d were refused", refused, len(requests)*len(bodies))
	}
	if strings.Contains(f.Log.String(), canary) {
		t.Error("a secret is in the log")
	}
}

// TestNoSecretInFailures lets all calls behind the routes fail.
func TestNoSecretInFailures(t *testing.T) {
	t.Parallel()
	f := setup(t)
	profile := `"full_name":"` + canary + `","email":"` + canary + `","notes":"` + canary + `","links":["https://` +
		canary + `"]`
	for _, err := range []error{
		errors.New("the database is gone"), fault.BadField("links[0]", "is no http or https address"),
		fault.Wrap(fault.Unavailable, errors.New("busy"), "try again"),
	} {
		f.fake.answer(err)
		for request, body := range map[string]string{
			"POST /v1/auth/login":       `{"username":"alex","password":"` + canary + `"}`,
			"POST /v1/auth/exchange":    `{"code":"` + canary + `","verifier":"` + canary + `"}`,
			"POST /v1/auth/check":       `{"token":"` + canary + `"}`,
			"PUT /v1/auth/me/password":  `{"current":"` + canary + `","new":"` + canary + `"}`,
			"POST /v1/users":            `{"username":"alex","role":"viewer","password":"` + canary + `",` + profile + `}`,
			"PUT /v1/users/known":       `{"password":"` + canary + `",` + profile + `}`,
			"GET /auth/oidc/callback":   "",
			"POST /v1/auth/logout":      "",
			"DELETE /v1/users/" + "any": "",
		} {
			method, path, _ := strings.Cut(request, " ")
			a := f.Call(method, path+"?code="+canary, "admin", body, "Cookie", "writ_session="+canary+"; writ_signin="+canary)
			b := f.Call(method, path, "admin", body, "Cookie", "writ_session="+canary+"; writ_signin="+canary)
			if a.Status < 400 || b.Status < 400 || strings.Contains(a.Body+b.Body, canary) {
				t.Errorf("%s: %d %s, %d %s", request, a.Status, a.Body, b.Status, b.Body)
			}
		}
	}
	if strings.Contains(f.Log.String(), canary) || !strings.Contains(f.Log.String(), "the database is gone") {
		t.Errorf("log: %s", f.Log.String())
	}
}
