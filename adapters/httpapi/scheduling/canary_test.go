package scheduling_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/fault"
)

// canary replaces a secret.
const canary = "c4n4ryS3cretValue"

// TestNoSecretIsEchoed puts a secret where it is invalid, in every way in which a body can be refused, and searches
// the answer and the log for it.
// Keeps T54.
func TestNoSecretIsEchoed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var bodies []string
	for _, member := range []string{
		"name", "cron", "timezone", "enabled", "overlap", "template_id", "answers", "run", "pipeline", "dry_run", "org_id",
		"require_signature", "branch", "events", "token",
		"signing_secret",
	} {
		for _, value := range []string{
			`"` + canary + `"`, `["` + canary + `"]`, `{"a":"` + canary + `"}`, `"` + canary + `\u0000"`,
			`"` + canary + `\ud800"`,
			`["` + canary + `",1,null]`, `"` + canary, `"` + canary + `",`, `"` + canary + `","` + member + `":"` + canary + `"`,
			`{"extra_vars":{"password":"` + canary + `"},"steps":"` + canary + `"}`,
			`{"notifications":[{"kind":7,"url":"` + canary + `"}]}`,
		} {
			bodies = append(bodies, `{"`+member+`":`+value+`}`)
		}
	}
	requests := []string{
		"POST /v1/schedules", "PUT /v1/schedules/known", "POST /v1/triggers", "PUT /v1/triggers/known",
		"POST /v1/triggers/known/rotate-secret",
	}
	refused := 0
	for _, r := range requests {
		method, path, _ := strings.Cut(r, " ")
		for _, body := range bodies {
			a := f.Call(method, path, "admin", body)
			if a.Status == 400 {
				refused++
			}
			if strings.Contains(a.Body, canary) {
				t.Errorf("%s %.100s: %s", r, body, a.Body)
			}
		}
	}
	if refused < len(requests)*len(bodies)*9/10 {
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
	secrets := `"extra_vars":{"password":"` + canary + `"},"notifications":[{"kind":"slack","url":"https://x.test/` +
		canary + `","key":"` + canary + `"}]`
	for _, err := range []error{
		errors.New("the database is gone"), fault.BadField("run.playbook", "is required"),
		fault.Wrap(fault.Unavailable, errors.New("busy"), "try again"),
	} {
		f.fake.answer(err)
		for request, body := range map[string]string{
			"POST /v1/schedules":      `{"name":"a","cron":"@daily","run":{` + secrets + `}}`,
			"PUT /v1/schedules/known": `{"name":"a","cron":"@daily","pipeline":{"steps":[],` + secrets + `}}`,
			"PUT /v1/schedules/other": `{"name":"a","cron":"@daily","template_id":"t","answers":{"password":"` +
				canary + `"}}`,
			"POST /hooks/" + canary:                  `{"a":"` + canary + `"}`,
			"POST /hooks/" + canary + "?b=" + canary: canary,
		} {
			method, path, _ := strings.Cut(request, " ")
			a := f.Call(method, path, "admin", body, "X-Gitlab-Token", canary, "X-Hub-Signature-256", canary)
			if a.Status < 400 || strings.Contains(a.Body, canary) {
				t.Errorf("%s: %d %s", request, a.Status, a.Body)
			}
		}
	}
	if strings.Contains(f.Log.String(), canary) || !strings.Contains(f.Log.String(), "the database is gone") {
		t.Errorf("log: %s", f.Log.String())
	}
}
