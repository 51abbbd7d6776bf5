package scheduling_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	scheduleHead = `{"id":"known","name":"nightly","cron":"30 2 * * *","timezone":"Europe/Berlin","enabled":true,"overlap":"allow",`
	scheduleTail = `"org_id":"org_1","created_by":"usr_admin","next_run_at":"2026-01-06T02:30:00Z","last_run_at":"2026-01-05T08:30:00.123456Z",
		"last_run_id":"run_1","last_error":"refused","created_at":"2026-01-05T08:30:00.123456Z","updated_at":"2026-01-05T08:30:00.123456Z"}`
	scheduleJSON = scheduleHead +
		`"template_id":"tpl_1","answers":{"n":9007199254740993,"on":true,"db_password":"[redacted]"},` + scheduleTail
	runJSON = `{"name":"n","tool":"bash","command":"make","inventory_id":"inv_1","project_id":"prj_1",
		"extra_vars":{"big":9007199254740993,"api_token":"[redacted]","deep":{"list":[{"password":"[redacted]","x":1}]}},
		"shards":2,"limit":"web","tags":["a"],"skip_tags":["b"],"forks":3,"verbosity":1,"diff_mode":true,"dry_run":true,"timeout":9,
		"notifications":[{"kind":"slack","url":"https://hooks.test/***"},{"kind":"pagerduty","key":"***","on_failure":true}],
		"env":{"A":"b"},"credential_ids":["crd_1"],"queue":"q","priority":2,"require_approval":true,"labels":{"team":"web"},"change":"CHG-1",
		"locks":["db"],"exclusive_hosts":true}`
)

func TestCreateSchedule(t *testing.T) {
	t.Parallel()
	f := setup(t)
	a := f.Call("POST", "/v1/schedules", "operator",
		`{"name":"nightly","cron":"30 2 * * *","timezone":"Europe/Berlin","template_id":"tpl_1",
		"answers":{"n":9007199254740993,"f":1.50,"on":true,"list":[1e3]},"org_id":"org_1"}`)
	a.Is(201, scheduleJSON).Has("Location", "/v1/schedules/known").Has("ETag", `"3"`)
	if !strings.Contains(a.Body, "9007199254740993") {
		t.Errorf("a number lost digits: %s", a.Body)
	}
	f.wasAsked(scheduling.Schedule{
		Record: scheduling.Record{Record: object.Record{Name: "nightly", Org: "org_1"}}, Cron: "30 2 * * *",
		Timezone: "Europe/Berlin",
		Enabled:  true,
		Target: scheduling.Target{TemplateID: "tpl_1", Answers: map[string]any{
			"n": json.Number("9007199254740993"), "f": json.Number("1.50"), "on": true, "list": []any{json.Number("1e3")},
		}},
	})
	f.Call("POST", "/v1/schedules", "operator", `{"name":"a","cron":"@daily","enabled":false,"run":`+runJSON+`}`)
	got := f.kept()
	want := stored()
	want.ExtraVars["api_token"], want.ExtraVars["deep"] = json.RawMessage(`"[redacted]"`),
		json.RawMessage(`{"list":[{"password":"[redacted]","x":1}]}`)
	want.Notifications[0].URL, want.Notifications[1].Key = "https://hooks.test/***", "***"
	if d := cmp.Diff(want, got.Target.Run); d != "" || got.Enabled || got.Target.TemplateID != "" ||
		got.Target.Pipeline != nil {
		t.Errorf("%v: %s", got, d)
	}
	f.Call("POST", "/v1/schedules", "operator",
		`{"name":"a","cron":"@daily","pipeline":{"name":"p","steps":[{"name":"s","command":"x"}]}}`)
	if p := f.kept().Target.Pipeline; p == nil || p.Name != "p" ||
		!cmp.Equal(p.Steps, []runs.StepSpec{{Name: "s", Command: "x"}}) {
		t.Errorf("%v", p)
	}
	if s := f.kept(); !s.Enabled || s.Timezone != "" || s.Overlap != "" {
		t.Errorf("defaults: %v", s)
	}
	f.Call("POST", "/v1/schedules", "operator", `{"name":"a","cron":"@daily","template_id":"t","dry_run":true}`)
	if s := f.kept(); !s.Target.DryRun {
		t.Errorf("no dry run: %v", s)
	}
	for _, overlap := range []string{"skip", "queue", "allow"} {
		f.Call("POST", "/v1/schedules", "operator",
			`{"name":"a","cron":"@daily","template_id":"t","overlap":"`+overlap+`"}`)
		if s := f.kept(); string(s.Overlap) != overlap {
			t.Errorf("%s: %v", overlap, s)
		}
	}
}

func TestBadSchedules(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for body, where := range map[string]string{
		`{"cron":"@daily","template_id":"t"}`: "name", `{"name":"a","template_id":"t"}`: "cron",
		`{"name":"a","cron":"@daily"}`:                                                "template_id",
		`{"name":"a","cron":"@daily","template_id":"t","run":{}}`:                     "template_id",
		`{"name":"a","cron":"@daily","run":{},"pipeline":{"steps":[{"name":"s"}]}}`:   "template_id",
		`{"name":"a","cron":"@daily","run":{},"answers":{"a":1}}`:                     "answers",
		`{"name":"a","cron":"@daily","run":{"forks":"x"}}`:                            "run.forks",
		`{"name":"a","cron":"@daily","run":{"template_id":"x"}}`:                      "run.template_id",
		`{"name":"a","cron":"@daily","pipeline":{"steps":[{"name":"s","shards":2}]}}`: "pipeline.steps[0].shards",
		`{"name":"a","cron":"@daily","pipeline":{}}`:                                  "pipeline.steps",
		`{"name":"a","cron":"@daily","template_id":"t","answers":[]}`:                 "answers",
		`{"name":"a","cron":"@daily","template_id":"t","enabled":"yes"}`:              "enabled",
		`{"name":"a","cron":"@daily","template_id":"t","dry_run":"yes"}`:              "dry_run",
		`{"name":"a","cron":"@daily","template_id":"t","overlap":"wait"}`:             "overlap",
		`{"name":"a","cron":"@daily","template_id":"t","overlap":true}`:               "overlap",
		`{"name":"a","cron":"@daily","run":{"locks":"db"}}`:                           "run.locks",
		`{"name":"a","cron":"@daily","run":{"when_busy":"skip"}}`:                     "run.when_busy",
		`{"name":"a","cron":7,"template_id":"t"}`:                                     "cron",
		`{"name":"a","cron":"@daily","template_id":"t","next_run_at":"x"}`:            "next_run_at",
		`{"name":"a","cron":"@daily","template_id":"t","answers":{"a":1,"a":2}}`:      "answers.a",
	} {
		for _, r := range []string{"POST /v1/schedules", "PUT /v1/schedules/known", "PUT /v1/schedules/other"} {
			method, path, _ := strings.Cut(r, " ")
			if got := f.Call(method, path, "operator", body).Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
				t.Errorf("%s %s: %v", r, body, got)
			}
		}
	}
	f.wasAsked()
	f.fake.answer(scheduling.NameTaken.New("the name is taken"))
	f.Call("POST", "/v1/schedules", "operator", `{"name":"a","cron":"@daily","template_id":"t"}`).
		Problem(409, "name_taken")
}

func TestReadSchedules(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Call("GET", "/v1/schedules/known", "viewer", "").Is(200, scheduleJSON).Has("ETag", `"3"`)
	f.Call("GET", "/v1/schedules/other", "viewer", "").Problem(404, "schedule_not_found")
	f.Call("GET", "/v1/schedules?limit=2&offset=1&name=nightly&org_id=org_1&template_id=tpl_1", "viewer", "").
		Is(200, `{"schedules":[`+scheduleJSON+`],"count":1,"total":7,"limit":2}`)
	f.wasAsked(scheduling.Filter{Name: "nightly", Org: "org_1", TemplateID: "tpl_1"}, page.Window{Offset: 1, Limit: 2})
	f.Call("GET", "/v1/schedules?limit=5000", "viewer", "").
		Is(200, `{"schedules":[`+scheduleJSON+`],"count":1,"total":7,"limit":1000}`)
	for _, query := range []string{"?limit=x", "?enabled=true", "?name=a&name=b"} {
		f.Call("GET", "/v1/schedules"+query, "viewer", "").Problem(400, "invalid")
	}
	f.fake.target = scheduling.Target{Run: stored()}
	a := f.Call("GET", "/v1/schedules/known", "viewer", "").Is(200, scheduleHead+`"run":`+runJSON+`,`+scheduleTail)
	b := f.Call("GET", "/v1/schedules", "viewer", "").
		Is(200, `{"schedules":[`+scheduleHead+`"run":`+runJSON+`,`+scheduleTail+`],"count":1,"total":7,"limit":1000}`)
	f.fake.target = scheduling.Target{TemplateID: "tpl_1", DryRun: true}
	f.Call("GET", "/v1/schedules/known", "viewer", "").
		Is(200, scheduleHead+`"template_id":"tpl_1","dry_run":true,`+scheduleTail)
	s := stored()
	f.fake.target = scheduling.Target{Pipeline: &runs.PipelineSubmission{
		Name: "p", Inventory: "hosts", Steps: []runs.StepSpec{{Name: "s", Tool: "bash", Command: "x", Retries: 1,
			ExtraVars: s.ExtraVars, TimeoutSeconds: 4}},
		ExtraVars: s.ExtraVars, Notifications: s.Notifications, TimeoutSeconds: 5,
	}}
	vars := `"extra_vars":{"big":9007199254740993,"api_token":"[redacted]","deep":{"list":[{"password":"[redacted]","x":1}]}}`
	c := f.Call("GET", "/v1/schedules/known", "viewer", "").
		Is(200, scheduleHead+`"pipeline":{"name":"p","inventory":"hosts",
		"steps":[{"name":"s","tool":"bash","command":"x","retries":1,`+vars+`,"timeout":4}],`+vars+`,"timeout":5,
		"notifications":[{"kind":"slack","url":"https://hooks.test/***"},{"kind":"pagerduty","key":"***","on_failure":true}]},`+scheduleTail)
	if strings.Contains(a.Body+b.Body+c.Body, "S3CRET") {
		t.Error("a secret is shown")
	}
	f.fake.answer(scheduling.NotAllowed.New("this is for others"))
	f.Call("GET", "/v1/schedules/known", "viewer", "").Problem(403, "forbidden")
}

// TestAnEchoKeepsSecrets sends a schedule back as it was read, with one other field changed: masked values stay.
func TestAnEchoKeepsSecrets(t *testing.T) {
	t.Parallel()
	f := setup(t)
	writable := func(a httpapitest.Answer) string {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(a.Body), &m); err != nil {
			t.Fatal(err)
		}
		for name := range m {
			if !slices.Contains([]string{"name", "cron", "timezone", "template_id", "answers", "run", "pipeline", "org_id"},
				name) {
				delete(m, name)
			}
		}
		m["enabled"] = json.RawMessage("false")
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	s := stored()
	s.Notifications = []runs.Notification{{Kind: "slack", URL: "https://hooks.test/***",
		OnFailure: true}} // in their stored form
	for _, target := range []scheduling.Target{
		f.fake.target, {Run: s},
		{Pipeline: &runs.PipelineSubmission{
			Name: "p", Steps: []runs.StepSpec{{Name: "a", Command: "x", ExtraVars: s.ExtraVars}, {Name: "b", Command: "y"}},
			ExtraVars:     s.ExtraVars,
			Notifications: s.Notifications,
		}},
	} {
		f.fake.target = target
		body := writable(f.Call("GET", "/v1/schedules/known", "operator", ""))
		f.Call("PUT", "/v1/schedules/known", "operator", body).
			Is(200, f.Call("GET", "/v1/schedules/known", "operator", "").Body)
		f.Call("PUT", "/v1/schedules/known", "operator", body)
		if got := f.kept(); got.Enabled || cmp.Diff(target, got.Target) != "" {
			t.Errorf("%s", cmp.Diff(target, got.Target))
		}
	}
	// A mask that is new, in another place or of another target is used literally.
	f.fake.target = scheduling.Target{TemplateID: "tpl_1", Answers: map[string]any{"db_password": "hunter22"}}
	f.Call("PUT", "/v1/schedules/known", "operator",
		`{"name":"a","cron":"@daily","template_id":"tpl_2","answers":{"db_password":"[redacted]"}}`)
	if got := f.kept().Target.Answers["db_password"]; got != "[redacted]" {
		t.Errorf("another template got the answer %v", got)
	}
	f.Call("PUT", "/v1/schedules/known", "operator",
		`{"name":"a","cron":"@daily","template_id":"tpl_1","answers":{"db_password":"new","plain":"[redacted]"}}`)
	if got := f.kept().Target.Answers; !cmp.Equal(got, map[string]any{"db_password": "new", "plain": "[redacted]"}) {
		t.Errorf("%v", got)
	}
	// The module resolves masks of notifications.
	f.Call("PUT", "/v1/schedules/known", "operator", `{"name":"a","cron":"@daily","run":{"notifications":[
		{"kind":"slack","url":"https://else.test/***"},{"kind":"slack","url":"https://hooks.test/4","key":"***","on_failure":true}]}}`)
	want := []runs.Notification{
		{Kind: "slack", URL: "https://else.test/***"},
		{Kind: "slack", URL: "https://hooks.test/4", Key: "***", OnFailure: true},
	}
	if d := cmp.Diff(want, f.kept().Target.Run.Notifications); d != "" {
		t.Error(d)
	}
}

func TestPutTakesWhatGetReturned(t *testing.T) {
	t.Parallel()
	setup(t).PutsBack()
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for path, c := range map[string][2]string{
		"/v1/schedules/": {`{"name":"a","cron":"@daily","template_id":"t"}`, "schedule_not_found"},
		"/v1/triggers/":  {`{"name":"a"}`, "trigger_not_found"},
	} {
		for method, body := range map[string]string{"PUT": c[0], "DELETE": ""} {
			done := map[string]int{"PUT": http.StatusOK, "DELETE": http.StatusNoContent}[method]
			for _, header := range []string{`"3"`, "*"} {
				if a := f.Call(method, path+"known", "operator", body, "If-Match", header); a.Status != done {
					t.Errorf("%s %s with %s: %d %s", method, path, header, a.Status, a.Body)
				}
			}
			for _, header := range []string{`"2"`, `W/"3"`, "3", `"3", "9"`, `"abc"`} {
				f.Call(method, path+"known", "operator", body, "If-Match", header).Problem(412, "precondition_failed")
				f.Call(method, path+"other", "operator", body, "If-Match", header).Problem(404, c[1])
			}
			f.Call(method, path+"other", "operator", body).Problem(404, c[1])
		}
	}
}

// TestAmendedAnew: a change for any revision succeeds although another one comes between; a change for a given
// revision does not.
func TestAmendedAnew(t *testing.T) {
	t.Parallel()
	for _, r := range []string{`/v1/schedules/known {"name":"a","cron":"@daily","template_id":"t"}`,
		`/v1/triggers/known {"name":"a"}`} {
		path, body, _ := strings.Cut(r, " ")
		for moved, want := range map[int]int{1: 200, 2: 200, 3: 412} {
			f := setup(t)
			f.fake.moved = moved
			if a := f.Call("PUT", path, "operator", body); a.Status != want {
				t.Errorf("%s after %d changes: %d %s", path, moved, a.Status, a.Body)
			}
			f.fake.moved, f.fake.revision = 1, 3
			f.Call("PUT", path, "operator", body, "If-Match", `"3"`).Problem(412, "precondition_failed")
		}
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.plan = scheduling.Preview{Cron: "30 2 * * *", Timezone: "Europe/Berlin",
		Next: []time.Time{next, next.AddDate(0, 0, 1)}, Notes: []string{"note"}}
	f.Call("GET", "/v1/schedules/preview?cron=30+2+*+*+*&timezone=Europe/Berlin&count=2", "viewer", "").
		Is(200,
			`{"cron":"30 2 * * *","timezone":"Europe/Berlin","count":2,"next":["2026-01-06T02:30:00Z","2026-01-07T02:30:00Z"],"notes":["note"]}`)
	f.wasAsked("30 2 * * *", "Europe/Berlin", 2)
	f.fake.plan = scheduling.Preview{Cron: "0 0 31 2 *"}
	f.Call("GET", "/v1/schedules/preview?cron=0+0+31+2+*", "viewer", "").
		Is(200, `{"cron":"0 0 31 2 *","timezone":"","count":5,"next":[],"notes":[]}`)
	f.wasAsked("0 0 31 2 *", "", 5)
	for query, count := range map[string]int{"count=0": 5, "count=50": 50, "count=51": 50,
		"count=99999999999999999999": 50} {
		f.Call("GET", "/v1/schedules/preview?cron=@daily&"+query, "viewer", "").
			Is(200, fmt.Sprintf(`{"cron":"0 0 31 2 *","timezone":"","count":%d,"next":[],"notes":[]}`, count))
		f.wasAsked("@daily", "", count)
	}
	for query, where := range map[string]string{"": "cron", "?cron=": "cron", "?cron=bad": "cron",
		"?cron=@daily&count=-1": "count", "?cron=@daily&tz=UTC": "tz"} {
		if got := f.Call("GET", "/v1/schedules/preview"+query, "viewer", "").
			Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", query, got)
		}
	}
}
