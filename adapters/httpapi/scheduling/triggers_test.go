package scheduling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	triggerOwn = `"id":"known","name":"push","template_id":"tpl_1","require_signature":true,"branch":"main","org_id":"org_1","created_by":"usr_admin",
		"created_at":"2026-01-05T08:30:00.123456Z","updated_at":"2026-01-05T08:30:00.123456Z"`
	triggerMembers = triggerOwn + `,"events":["push"],"last_fired_at":"2026-01-05T08:30:00.123456Z","last_run_id":"run_1","last_error":"refused"`
	triggerJSON    = `{` + triggerMembers + `}`
)

func TestTriggers(t *testing.T) {
	t.Parallel()
	f := setup(t)
	made := `{` + triggerOwn + `,"events":[],"token":"` + hookToken + `","hook_path":"/hooks/` + hookToken + `","signing_secret":"` + signing + `"}`
	f.call("POST", "/v1/triggers", "operator", `{"name":"push","template_id":"tpl_1"}`).is(201, made).
		has("Location", "/v1/triggers/known").has("ETag", `"3"`).has("Cache-Control", "no-store")
	f.wasAsked(scheduling.Trigger{Record: scheduling.Record{Name: "push"}, TemplateID: "tpl_1", RequireSignature: true})
	f.call("POST", "/v1/triggers", "operator",
		`{"name":"push","template_id":"tpl_1","require_signature":false,"branch":"main","events":["push","tag"],"org_id":"org_1"}`).is(201, made)
	f.wasAsked(scheduling.Trigger{
		Record: scheduling.Record{Name: "push", Org: "org_1"}, TemplateID: "tpl_1", Branch: "main", Events: []string{"push", "tag"},
	})
	for body, where := range map[string]string{
		`{"template_id":"t"}`: "name", `{"name":"a"}`: "template_id", `{"name":"a","template_id":"t","token":"x"}`: "token",
		`{"name":"a","template_id":"t","events":"push"}`: "events", `{"name":"a","template_id":"t","events":[1]}`: "events[0]",
		`{"name":"a","template_id":"t","require_signature":1}`: "require_signature", `{"name":"a","template_id":"t","signing_secret":"x"}`: "signing_secret",
	} {
		if got := f.call("POST", "/v1/triggers", "operator", body).problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	one := f.call("GET", "/v1/triggers/known", "viewer", "").is(200, triggerJSON).has("ETag", `"3"`)
	f.call("GET", "/v1/triggers/other", "viewer", "").problem(404, "trigger_not_found")
	list := f.call("GET", "/v1/triggers?limit=2&offset=1&name=push&org_id=o&template_id=t", "viewer", "").
		is(200, `{"triggers":[`+triggerJSON+`],"count":1,"total":7,"limit":2}`)
	f.wasAsked(scheduling.Filter{Name: "push", Org: "o", TemplateID: "t"}, page.Window{Offset: 1, Limit: 2})
	f.call("GET", "/v1/triggers?branch=main", "viewer", "").problem(400, "invalid")
	rotated := f.call("POST", "/v1/triggers/known/rotate-secret", "operator", "").
		is(200, `{`+triggerMembers+`,"signing_secret":"`+signing+`"}`).has("ETag", `"3"`)
	f.wasAsked("known", "rotated")
	f.call("POST", "/v1/triggers/known/rotate-secret", "operator", `{"signing_secret":"mine"}`).problem(400, "invalid")
	f.call("POST", "/v1/triggers/other/rotate-secret", "operator", "").problem(404, "trigger_not_found")
	changed := f.call("PUT", "/v1/triggers/known", "operator", `{"name":"a"}`).is(200, triggerJSON)
	for _, a := range []answer{one, list, changed} {
		if strings.Contains(a.body, signing) || strings.Contains(a.body, hookToken) {
			t.Errorf("a secret is shown again: %s", a.body)
		}
	}
	if strings.Contains(rotated.body, hookToken) {
		t.Errorf("the token is shown again: %s", rotated.body)
	}
	f.call("DELETE", "/v1/triggers/known", "operator", "").is(204, "")
	f.wasAsked("known", int64(0), "deleted")
	f.call("PATCH", "/v1/triggers/known", "operator", "{}").has("Allow", "GET, HEAD, PUT, DELETE").problem(405, "method_not_allowed")
	if strings.Contains(f.log.String(), signing) || strings.Contains(f.log.String(), hookToken) {
		t.Error("a secret is in the log")
	}
}

// TestRenameKeepsTheRest: a client that only renames a trigger, or only toggles its enforcement, changes nothing else.
func TestRenameKeepsTheRest(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for body, change := range map[string]func(*scheduling.Trigger){
		`{"name":"new"}`: func(*scheduling.Trigger) {},
		`{"name":"new","require_signature":false}`:          func(t *scheduling.Trigger) { t.RequireSignature = false },
		`{"name":"new","template_id":"tpl_2"}`:              func(t *scheduling.Trigger) { t.TemplateID = "tpl_2" },
		`{"name":"new","branch":"","events":[]}`:            func(t *scheduling.Trigger) { t.Branch, t.Events = "", []string{} },
		`{"name":"new","events":["tag"],"org_id":""}`:       func(t *scheduling.Trigger) { t.Events, t.Org = []string{"tag"}, "" },
		`{"name":"new","branch":"dev","org_id":"org_2"}`:    func(t *scheduling.Trigger) { t.Branch, t.Org = "dev", "org_2" },
		`{"name":"new","template_id":"","events":["push"]}`: func(t *scheduling.Trigger) { t.TemplateID = "" },
	} {
		want := triggers{f.stand}.trigger()
		want.Name = "new"
		change(&want)
		f.call("PUT", "/v1/triggers/known", "operator", body).is(200, triggerJSON)
		f.wasAsked("known", int64(3), want)
	}
	for body, where := range map[string]string{
		`{}`: "name", `{"require_signature":true}`: "name", `{"name":7}`: "name", `{"name":"a","last_error":"x"}`: "last_error",
	} {
		if got := f.call("PUT", "/v1/triggers/known", "operator", body).problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	f.stand.answer(scheduling.NameTaken.New("the name is taken"))
	f.call("PUT", "/v1/triggers/known", "operator", `{"name":"a"}`).problem(409, "name_taken")
}
