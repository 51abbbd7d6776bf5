package scheduling_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	triggerOwn = `"id":"known","name":"push","template_id":"tpl_1","require_signature":true,"branch":"main","org_id":"org_1","created_by":"usr_admin",
		"created_at":"2026-01-05T08:30:00.123456Z","updated_at":"2026-01-05T08:30:00.123456Z"`
	triggerMembers = triggerOwn +
		`,"events":["push"],"last_fired_at":"2026-01-05T08:30:00.123456Z","last_run_id":"run_1","last_error":"refused"`
	triggerJSON = `{` + triggerMembers + `}`
)

func TestTriggers(t *testing.T) {
	t.Parallel()
	f := setup(t)
	made := `{` + triggerOwn + `,"events":[],"token":"` + hookToken + `","hook_path":"/hooks/` + hookToken +
		`","signing_secret":"` + signing + `"}`
	f.Call("POST", "/v1/triggers", "operator", `{"name":"push","template_id":"tpl_1"}`).Is(201, made).
		Has("Location", "/v1/triggers/known").Has("ETag", `"3"`).Has("Cache-Control", "no-store")
	f.wasAsked(scheduling.Trigger{Record: scheduling.Record{Record: object.Record{Name: "push"}}, TemplateID: "tpl_1",
		RequireSignature: true})
	f.Call("POST", "/v1/triggers", "operator",
		`{"name":"push","template_id":"tpl_1","require_signature":false,"branch":"main","events":["push","tag"],"org_id":"org_1"}`).Is(201, made)
	f.wasAsked(scheduling.Trigger{
		Record: scheduling.Record{Record: object.Record{Name: "push", Org: "org_1"}}, TemplateID: "tpl_1", Branch: "main",
		Events: []string{"push", "tag"},
	})
	for body, where := range map[string]string{
		`{"template_id":"t"}`: "name", `{"name":"a"}`: "template_id", `{"name":"a","template_id":"t","token":"x"}`: "token",
		`{"name":"a","template_id":"t","events":"push"}`:       "events",
		`{"name":"a","template_id":"t","events":[1]}`:          "events[0]",
		`{"name":"a","template_id":"t","require_signature":1}`: "require_signature",
		`{"name":"a","template_id":"t","signing_secret":"x"}`:  "signing_secret",
	} {
		if got := f.Call("POST", "/v1/triggers", "operator", body).
			Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	one := f.Call("GET", "/v1/triggers/known", "viewer", "").Is(200, triggerJSON).Has("ETag", `"3"`)
	f.Call("GET", "/v1/triggers/other", "viewer", "").Problem(404, "trigger_not_found")
	list := f.Call("GET", "/v1/triggers?limit=2&offset=1&name=push&org_id=o&template_id=t", "viewer", "").
		Is(200, `{"triggers":[`+triggerJSON+`],"count":1,"total":7,"limit":2}`)
	f.wasAsked(scheduling.Filter{Name: "push", Org: "o", TemplateID: "t"}, page.Window{Offset: 1, Limit: 2})
	f.Call("GET", "/v1/triggers?branch=main", "viewer", "").Problem(400, "invalid")
	f.Call("GET", "/v1/triggers/known/deliveries?limit=2&offset=1", "viewer", "").Is(200, `{"deliveries":[{"at":"`+
		past.Format(time.RFC3339Nano)+`","verdict":"ignored","event":"push","delivery_id":"1","reason":"busy"},{"at":"`+
		past.Format(time.RFC3339Nano)+`","verdict":"fired","run_id":"run_1"}],"count":2,"total":7,"limit":2}`)
	f.wasAsked("known", page.Window{Offset: 1, Limit: 2})
	f.Call("GET", "/v1/triggers/other/deliveries", "viewer", "").Problem(404, "trigger_not_found")
	f.Call("GET", "/v1/triggers/known/deliveries?limit=x", "viewer", "").Problem(400, "invalid")
	rotated := f.Call("POST", "/v1/triggers/known/rotate-secret", "operator", "").
		Is(200, `{`+triggerMembers+`,"signing_secret":"`+signing+`"}`).Has("ETag", `"3"`)
	f.wasAsked("known", "rotated")
	f.Call("POST", "/v1/triggers/known/rotate-secret", "operator", `{"signing_secret":"mine"}`).Problem(400, "invalid")
	f.Call("POST", "/v1/triggers/other/rotate-secret", "operator", "").Problem(404, "trigger_not_found")
	changed := f.Call("PUT", "/v1/triggers/known", "operator", `{"name":"a"}`).Is(200, triggerJSON)
	for _, a := range []httpapitest.Answer{one, list, changed} {
		if strings.Contains(a.Body, signing) || strings.Contains(a.Body, hookToken) {
			t.Errorf("a secret is shown again: %s", a.Body)
		}
	}
	if strings.Contains(rotated.Body, hookToken) {
		t.Errorf("the token is shown again: %s", rotated.Body)
	}
	f.Call("DELETE", "/v1/triggers/known", "operator", "").Is(204, "")
	f.wasAsked("known", int64(0), "deleted")
	f.Call("PATCH", "/v1/triggers/known", "operator", "{}").Has("Allow", "GET, HEAD, PUT, DELETE").
		Problem(405, "method_not_allowed")
	if strings.Contains(f.Log.String(), signing) || strings.Contains(f.Log.String(), hookToken) {
		t.Error("a secret is in the log")
	}
}

// TestRenameKeepsTheRest: a client that only renames a trigger, or only toggles its enforcement, changes nothing else.
func TestRenameKeepsTheRest(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for body, change := range map[string]func(*scheduling.Trigger){
		`{"name":"new"}`: func(*scheduling.Trigger) {},
		`{"name":"new","require_signature":false}`: func(t *scheduling.Trigger) { t.RequireSignature = false },
		`{"name":"new","template_id":"tpl_2"}`:     func(t *scheduling.Trigger) { t.TemplateID = "tpl_2" },
		`{"name":"new","branch":"","events":[]}`: func(t *scheduling.Trigger) {
			t.Branch, t.Events = "", []string{}
		},
		`{"name":"new","events":["tag"],"org_id":""}`: func(t *scheduling.Trigger) {
			t.Events, t.Org = []string{"tag"}, ""
		},
		`{"name":"new","branch":"dev","org_id":"org_2"}`:    func(t *scheduling.Trigger) { t.Branch, t.Org = "dev", "org_2" },
		`{"name":"new","template_id":"","events":["push"]}`: func(t *scheduling.Trigger) { t.TemplateID = "" },
	} {
		want := triggers{f.fake}.trigger()
		want.Name = "new"
		change(&want)
		f.Call("PUT", "/v1/triggers/known", "operator", body).Is(200, triggerJSON)
		f.wasAsked("known", int64(3), want)
	}
	for body, where := range map[string]string{
		`{}`: "name", `{"require_signature":true}`: "name", `{"name":7}`: "name", `{"name":"a","last_error":7}`: "last_error",
	} {
		if got := f.Call("PUT", "/v1/triggers/known", "operator", body).
			Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	f.fake.answer(scheduling.NameTaken.New("the name is taken"))
	f.Call("PUT", "/v1/triggers/known", "operator", `{"name":"a"}`).Problem(409, "name_taken")
}
