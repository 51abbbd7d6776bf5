package secrets_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

// canary is the value of every possible secret.
const canary = "c4n4ryS3cretValue"

// TestWrongTypes checks that an error names the member and not its value.
func TestWrongTypes(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for body, where := range map[string]string{
		`{"kind":"aws"}`: "name", `{"name":7,"kind":"aws"}`: "name", `{"name":"a","kind":"x"}`: "kind",
		`{"name":"a","kind":""}`: "kind",
		`{"name":"a","kind":["` + canary +
			`"]}`: "kind",
		`{"name":"a","kind":"aws","secret":"` + canary +
			`"}`: "secret",
		`{"name":"a","kind":"aws","secret":["` + canary +
			`"]}`: "secret",
		`{"name":"a","kind":"aws","secret":{"secret_access_key":7}}`:    "secret.secret_access_key",
		`{"name":"a","kind":"aws","secret":{"secret_access_key":true}}`: "secret.secret_access_key",
		`{"name":"a","kind":"aws","secret":{"secret_access_key":["` + canary +
			`"]}}`: "secret.secret_access_key",
		`{"name":"a","kind":"aws","secret":{"secret_access_key":{"a":"` + canary +
			`"}}}`: "secret.secret_access_key",
		`{"name":"a","kind":"env","secret":{"vars":["` + canary +
			`"]}}`: "secret.vars",
		`{"name":"a","kind":"env","secret":{"vars":7}}`:   "secret.vars",
		`{"name":"a","type_id":"cty_1","secret":{"x":7}}`: "secret.x",
		`{"name":"a","kind":"aws","secret":{"secret_access_key":"` + canary +
			`\u0000"}}`: "secret.secret_access_key",
		`{"name":"a","kind":"aws","secret":{"secret_access_key":"` + canary + `","secret_access_key":"` + canary +
			`"}}`: "secret.secret_access_key",
		`{"name":"a","kind":"aws","secret":{"secret_access_key":"` + canary:           "secret.secret_access_key",
		`{"name":"a","kind":"aws","settings":["` + canary + `"]}`:                     "settings",
		`{"name":"a","kind":"aws","fields":"` + canary + `"}`:                         "fields",
		`{"name":"a","kind":"aws","source":"` + canary + `"}`:                         "source",
		`{"name":"a","kind":"aws","source":{"config":{}}}`:                            "source.engine",
		`{"name":"a","kind":"aws","source":{"engine":"e","config":"` + canary + `"}}`: "source.config",
		`{"name":"a","kind":"aws","source":{"engine":"e","token":"` + canary + `"}}`:  "source.token",
		`{"name":"a","kind":"aws","password":"` + canary + `"}`:                       "password",
		`{"name":"a","kind":"aws","has_secret":7}`:                                    "has_secret",
		`{"name":"a","kind":"aws","id":"x"}`:                                          "id",
		`{"name":"a","kind":"aws","Secret":{}}`:                                       "Secret", `{"name":"a"} {}`: "body",
		`{"name":"a","kind":"aws","org_id":7}`: "org_id", `{"name":"a","kind":"aws","warnings":[]}`: "warnings",
	} {
		for _, r := range []string{"POST /v1/credentials", "PUT /v1/credentials/known"} {
			method, path, _ := strings.Cut(r, " ")
			a := f.Call(method, path, "operator", body)
			if got := a.Problem(400, "invalid"); !slices.Equal(got, []string{where}) || strings.Contains(a.Body, canary) {
				t.Errorf("%s: %v, want %s: %s", body, got, where, a.Body)
			}
		}
	}
	for body, where := range map[string]string{
		`{"name":"a"}`: "fields", `{"fields":[]}`: "name", `{"name":"a","fields":[{"type":"text"}]}`: "fields[0].name",
		`{"name":"a","fields":[{"name":"k","type":"int"}]}`:                    "fields[0].type",
		`{"name":"a","fields":[{"name":"k"}]}`:                                 "fields[0].type",
		`{"name":"a","fields":[{"name":"k","type":"text","secret":"yes"}]}`:    "fields[0].secret",
		`{"name":"a","fields":[{"name":"k","type":"text","choices":[7]}]}`:     "fields[0].choices[0]",
		`{"name":"a","fields":[],"inject":{"env":{"A":7}}}`:                    "inject.env.A",
		`{"name":"a","fields":[],"inject":{"environment":{}}}`:                 "inject.environment",
		`{"name":"a","fields":[],"inject":{"files":{"a":["` + canary + `"]}}}`: "inject.files.a",
		`{"name":"a","fields":[],"inject":{"extra_vars":["` + canary + `"]}}`:  "inject.extra_vars",
		`{"name":"a","fields":[],"org_id":"o"}`:                                "org_id",
	} {
		for _, r := range []string{"POST /v1/credential-types", "PUT /v1/credential-types/known"} {
			method, path, _ := strings.Cut(r, " ")
			a := f.Call(method, path, "admin", body)
			if got := a.Problem(400, "invalid"); !slices.Equal(got, []string{where}) || strings.Contains(a.Body, canary) {
				t.Errorf("%s: %v, want %s: %s", body, got, where, a.Body)
			}
		}
	}
	for _, text := range []string{"", "[]", "7", `"` + canary + `"`, `{"name":"` + canary, "\xff"} {
		a := f.Call("POST", "/v1/credentials", "operator", text)
		if a.Problem(400, "invalid"); strings.Contains(a.Body, canary) {
			t.Errorf("%s: %s", text, a.Body)
		}
	}
	f.Call("POST", "/v1/credentials", "operator", `{"name":"a"}`, "Content-Type", "text/plain").
		Problem(415, "unsupported_media_type")
	if strings.Contains(f.Log.String(), canary) {
		t.Error("a value is in the log")
	}
}

// bodies puts the canary into every member of every kind, in every form that a value has.
func bodies() []string {
	var out []string
	forms := []string{
		`"` + canary + `"`, `["` + canary + `"]`, `{"A":"` + canary + `"}`, `{"` + canary + `":["` + canary + `"]}`,
		`"` + canary + `\u0000"`, `"` + canary + `\ud800"`,
		`"` + canary, `"` + canary + `",`, `[["` + canary + `",7]`,
	}
	for _, k := range secrets.Kinds() {
		for _, m := range k.Members() {
			part := "settings"
			if m.Secret {
				part = "secret"
			}
			for _, v := range forms {
				out = append(out, fmt.Sprintf(`{"name":"a","kind":%q,%q:{%q:%s}}`, k, part, m.Name, v))
			}
		}
	}
	for _, v := range forms {
		out = append(out, `{"name":"a","type_id":"cty_1","fields":{"key":`+v+`},"secret":{"other":`+v+`}}`,
			`{"name":"a","kind":"token","source":{"engine":"vault","config":{"token":`+v+`}}}`)
	}
	return out
}

// TestNoSecretIsAnswered makes all calls succeed and then fail, and searches the answers and the log for the secrets.
func TestNoSecretIsAnswered(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		nil, errors.New("the database is gone"), fault.BadField("secret.password", "is too long"),
		secrets.KeyLost.New("the key is lost"),
		fault.Wrap(fault.Unavailable, errors.New("busy"), "try again"), secrets.TypeNotFound.New("no type"),
	} {
		f := setup(t)
		f.fake.answer(err)
		answered := 0
		for i, body := range bodies() {
			if err != nil && i%depthtest.Of(5, 1) != 0 {
				continue
			}
			for _, r := range []string{"POST /v1/credentials", "PUT /v1/credentials/known", "PUT /v1/credentials/other"} {
				method, path, _ := strings.Cut(r, " ")
				a := f.Call(method, path, "operator", body)
				if a.Status < 300 {
					answered++
				}
				if strings.Contains(a.Body, canary) {
					t.Errorf("%v: %s %s: %s", err, r, body, a.Body)
				}
			}
		}
		if (err == nil) != (answered > 0) {
			t.Errorf("%v: %d were answered", err, answered)
		}
		if log := f.Log.String(); strings.Contains(log, canary) {
			t.Errorf("%v: a secret is in the log", err)
		}
	}
}
