package identity_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/identity"
)

func TestPreferences(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/auth/me/preferences", "/v1/teams/team_1/preferences"} {
		checkPreferences(t, path)
	}
	f := setup(t)
	f.Call(http.MethodPut, "/v1/teams/team_2/preferences", "viewer", "{}").Problem(404, "team_not_found")
}

func checkPreferences(t *testing.T, path string) {
	t.Helper()
	f := setup(t)
	a := f.Call(http.MethodGet, path, "viewer", "")
	if a.Status != 200 ||
		strings.TrimSpace(string(a.Body)) != `{"n":12345678901234567890}` || a.Header.Get("ETag") != `"3"` {
		t.Errorf("%d %s %q", a.Status, a.Body, a.Header.Get("ETag"))
	}
	for match, revision := range map[string]int64{"": 0, `"3"`: 3, "*": 0, "x": -1} {
		header := []string{"If-Match", match}
		if match == "" {
			header = nil
		}
		a = f.Call(http.MethodPut, path, "viewer", `{"a": "<b>", "n": 1.50}`, header...)
		if a.Status != 200 || strings.TrimSpace(string(a.Body)) != `{"a":"<b>","n":1.50}` || a.Header.Get("ETag") != `"4"` {
			t.Errorf("%q: %d %s %q", match, a.Status, a.Body, a.Header.Get("ETag"))
		}
		if d := cmp.Diff([]any{`{"a":"<b>","n":1.50}` + "\n", revision}, f.fake.last()); d != "" {
			t.Errorf("%q: %s", match, d)
		}
	}
	for _, body := range []string{"", "null", "[]", `"x"`, "7", `{"a":1,"a":2}`, `{"a":"\u0000"}`, `{"a":1}x`} {
		f.Call(http.MethodPut, path, "viewer", body).Problem(400, "invalid")
	}
	f.fake.answer(identity.RevisionChanged.New("changed"))
	f.Call(http.MethodPut, path, "viewer", "{}").Problem(412, "precondition_failed")
}
