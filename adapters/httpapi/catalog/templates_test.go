package catalog_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/runs"
)

const surveyJSON = `[ {"var":"version","type":"text","default":"a<b","min_length":1,"pattern":"x+"},{"var":"n","type":"int","min":-1,"max":9007199254740993,
	"label":"l","help":"h","required":true},{"var":"c","type":"choice","choices":["a"],"default":null} ]`

// wholeTemplate has every member that a caller sets except steps.
const wholeTemplate = `{"name":"deploy","tool":"ansible","playbook":"site.yml","command":"c","shards":4,"inventory_id":"inv_1","inventory":"hosts",
	"project_id":"prj_1","extra_vars":{"n":9007199254740993,"f":1.50,"db_password":"hunter2","of":[{"api_key":"hunter2"}]},"limit":"web","tags":["a"],
	"skip_tags":["b"],"forks":9,"verbosity":3,"diff_mode":true,"timeout":60,
	"notifications":[{"kind":"webhook","url":"https://hooks.test/***","key":"***","to":"t","on_failure":true}],
	"survey":` + surveyJSON + `,
	"credential_ids":["crd_1"],"selectable_credential_ids":["crd_2"],"queue":"far","labels":{"team":"web"},"change":"CHG-1","dry_run":true,
	"allow_overrides":["limit"],"allowed_vars":["ansible_user"],"org_id":"org_1","max_concurrent":3,"when_busy":"skip","locks":["db"],"exclusive_hosts":true}`

func wanted() catalog.Template {
	return catalog.Template{Record: object.Record{Name: "deploy", Org: "org_1"}, TemplateSpec: catalog.TemplateSpec{
		Tool: "ansible", Playbook: "site.yml", Command: "c", Shards: 4, InventoryID: "inv_1", Inventory: "hosts",
		ProjectID: "prj_1",
		ExtraVars: runs.Vars{
			"n": json.RawMessage("9007199254740993"), "f": json.RawMessage("1.50"), "db_password": json.RawMessage(`"hunter2"`),
			"of": json.RawMessage(`[{"api_key":"hunter2"}]`),
		},
		Controls: runs.Controls{Limit: "web", Tags: []string{"a"}, SkipTags: []string{"b"}, Forks: 9, Verbosity: 3,
			DiffMode: true},
		TimeoutSeconds: 60, Notifications: []runs.Notification{{Kind: "webhook", URL: "https://hooks.test/***", Key: "***",
			To: "t", OnFailure: true}},
		Survey: json.RawMessage(surveyJSON), CredentialIDs: []string{"crd_1"}, SelectableCredentialIDs: []string{"crd_2"},
		Queue:  "far",
		Labels: map[string]string{"team": "web"}, Change: "CHG-1", DryRun: true, AllowOverrides: []string{"limit"},
		AllowedVars: []string{"ansible_user"}, MaxConcurrent: 3, WhenBusy: runs.BusySkip, Locks: []string{"db"},
		ExclusiveHosts: true,
	}}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	f := setup(t)
	wantBody := strings.NewReplacer(`"hunter2"`, `"[redacted]"`, `{"name":"deploy"`,
		`{"id":"known",`+stamps+`,"name":"deploy"`).Replace(wholeTemplate)
	a := f.Call("POST", "/v1/templates", "operator", wholeTemplate).Is(201, wantBody)
	f.wasAsked(wanted())
	if !strings.Contains(a.Body, "9007199254740993") || !strings.Contains(a.Body, "1.50") ||
		!strings.Contains(a.Body, `a<b`) {
		t.Errorf("something of the variables or the survey is lost: %s", a.Body)
	}
	f.Call("PUT", "/v1/templates/known", "operator", wholeTemplate).Is(200, templateJSON)
	f.wasAsked("known", int64(0), wanted())
	// The port replaces masks by stored values.
	f.Call("PUT", "/v1/templates/known", "operator", `{"name":"a","extra_vars":{"db_password":"[redacted]"}}`).
		Is(200, templateJSON)
	f.wasAsked("known", int64(0), catalog.Template{Record: object.Record{Name: "a"}, TemplateSpec: catalog.TemplateSpec{
		ExtraVars: runs.Vars{"db_password": json.RawMessage(`"[redacted]"`)}, MaxConcurrent: 1,
	}})
	for body, want := range map[string]catalog.TemplateSpec{
		`"verbosity":9`: {Controls: runs.Controls{Verbosity: 4}}, `"verbosity":4`: {Controls: runs.Controls{Verbosity: 4}},
		`"shards":1`: {}, `"shards":2`: {Shards: 2},
		`"survey":null`: {}, `"survey":[]`: {Survey: json.RawMessage(`[]`)}, `"steps":[]`: {}, `"tool":null`: {},
		`"tags":[]`: {Controls: runs.Controls{Tags: []string{}}}, `"max_concurrent":2,"when_busy":"replace"`: {
			MaxConcurrent: 2, WhenBusy: runs.BusyReplace},
		`"locks":["a","b"],"exclusive_hosts":true`: {Locks: []string{"a", "b"}, ExclusiveHosts: true},
	} {
		if want.MaxConcurrent == 0 {
			want.MaxConcurrent = 1 // where the request does not say it
		}
		f.Call("POST", "/v1/templates", "operator", `{"name":"a",`+body+`}`)
		f.wasAsked(catalog.Template{Record: object.Record{Name: "a"}, TemplateSpec: want})
	}
	f.Call("POST", "/v1/templates", "operator", `{"name":"a","max_concurrent":0}`)
	f.wasAsked(catalog.Template{Record: object.Record{Name: "a"}})
	locks := `["` + strings.Repeat(`a","`, runs.MaxLocks) + `a"]`
	for body, where := range map[string]string{
		`"max_concurrent":-1`: "max_concurrent", `"max_concurrent":10001`: "max_concurrent",
		`"when_busy":"wait"`: "when_busy", `"when_busy":""`: "when_busy", `"locks":"a"`: "locks",
		`"locks":` + locks: "locks", `"exclusive_hosts":"yes"`: "exclusive_hosts",
	} {
		got := f.Call("POST", "/v1/templates", "operator", `{"name":"a",`+body+`}`).Problem(400, "invalid")
		if !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	half := strings.Repeat("a", 4<<20-100)
	if depthtest.Long { // short runs test an inventory of that size
		if a := f.Call("POST", "/v1/templates", "operator",
			`{"name":"a","command":"`+half+`","extra_vars":{"a":"`+half+`"}}`); a.Status != 201 {
			t.Errorf("nearly 8 MiB: %d %.200s", a.Status, a.Body)
		}
	}
	f.Call("PUT", "/v1/templates/known", "operator", `{"name":"a","command":"`+half+half+half[:200]+`"}`).
		Problem(413, "too_large")
}

func TestWorkflows(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const steps = `[{"name":"a","tool":"bash","playbook":"p","command":"c","depends_on":["b"],"retries":2,"continue_on_failure":true,
		"extra_vars":{"token":"hunter2","n":9007199254740993},"limit":"l","tags":["t"],"skip_tags":["s"],"timeout":5,"credential_ids":["crd_1"],
		"inventory_id":"inv_1","queue":"q"},{"name":"b"}]`
	f.Call("POST", "/v1/templates", "operator", `{"name":"flow","steps":`+steps+`}`).
		Is(201, `{"id":"known","name":"flow","max_concurrent":1,"when_busy":"queue","steps":`+
			strings.ReplaceAll(steps, "hunter2", "[redacted]")+`,`+stamps+`}`)
	f.wasAsked(catalog.Template{Record: object.Record{Name: "flow"},
		TemplateSpec: catalog.TemplateSpec{MaxConcurrent: 1, Steps: []runs.StepSpec{{
			Name: "a", Tool: "bash", Playbook: "p", Command: "c", DependsOn: []string{"b"}, Retries: 2, ContinueOnFailure: true,
			ExtraVars: runs.Vars{"token": json.RawMessage(`"hunter2"`), "n": json.RawMessage("9007199254740993")}, Limit: "l",
			Tags:     []string{"t"},
			SkipTags: []string{"s"}, TimeoutSeconds: 5, CredentialIDs: []string{"crd_1"}, InventoryID: "inv_1", Queue: "q",
		}, {Name: "b"}}}})
	for step, where := range map[string]string{
		`{}`: "steps[1].name", `{"name":"b","templated":["x"]}`: "steps[1].templated", `{"name":7}`: "steps[1].name",
		`[]`:                     "steps[1]",
		`{"name":"b","forks":1}`: "steps[1].forks", `{"name":"b","depends_on":"a"}`: "steps[1].depends_on",
		`{"name":"b","depends_on":[1]}`: "steps[1].depends_on[0]", `{"name":"b","name":"b"}`: "steps[1].name",
		`{"name":"b","retries":1e30}`: "steps[1].retries",
	} {
		got := f.Call("POST", "/v1/templates", "operator", `{"name":"flow","steps":[{"name":"a"},`+step+`]}`).
			Problem(400, "invalid")
		if !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", step, got)
		}
	}
	f.fake.answer(runs.BadGraph.New("steps a and b wait for each other"))
	f.Call("POST", "/v1/templates", "operator", `{"name":"flow","steps":[]}`).Problem(400, "invalid_graph")
}

func TestSurveys(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for survey, where := range map[string]string{
		`{}`: "survey", `"x"`: "survey", `[7]`: "survey[0]", `[{"type":"int"}]`: "survey[0].var",
		`[{"var":"a"}]`:               "survey[0].type",
		`[{"var":"a","type":"date"}]`: "survey[0].type", `[{"var":"a","type":"int","mim":1}]`: "survey[0].mim",
		`[{"var":"a","type":"int","min":"1"}]`:        "survey[0].min",
		`[{"var":"a","type":"int","required":"yes"}]`: "survey[0].required",
		`[{"var":"a","type":"choice","choices":[1]}]`: "survey[0].choices[0]",
		`[{"var":"a","type":"int","var":"b"}]`:        "survey[0].var",
	} {
		if got := f.Call("POST", "/v1/templates", "operator", `{"name":"a","survey":`+survey+`}`).
			Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", survey, got)
		}
	}
	f.fake.answer(fault.BadField("survey[0].max", "is below min"))
	got := f.Call("POST", "/v1/templates", "operator", `{"name":"a","survey":[{"var":"a","type":"int","min":2,"max":1}]}`).
		Problem(400, "invalid")
	if !slices.Equal(got, []string{"survey[0].max"}) {
		t.Errorf("%v", got)
	}
}

const launched = `{"id":"run_1","kind":"single","status":"pending","tool":"bash","extra_vars":{"db_password":"[redacted]","n":9007199254740993},
	"created_at":"2026-01-05T08:30:00.123456Z","duration_ms":0,"warnings":[],"source":"template","source_id":"known",
	"actor":{"type":"user","id":"usr_viewer","name":"viewer"},"cancel_requested":false,"hosts":{},"hosts_touched":0,"event_count":0,"log_bytes":0,
	"audit_receipt":"41:0100000000000000000000000000000000000000000000000000000000000000"}`

func TestLaunch(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Call("POST", "/v1/templates/known/launch", "viewer",
		`{"answers":{"s":"x","n":9007199254740993,"b":true,"z":null},"extra_vars":{"f":1.50},
		"credential_ids":["crd_2"],"limit":"web","inventory_id":"inv_1","tags":["a"],"skip_tags":[],"dry_run":false,"forks":0,"verbosity":9,"diff_mode":true,
		"labels":{"a":"b"},"change":""}`).Is(201, launched).Has("Location", "/v1/runs/run_1").Has("ETag", `"1"`).
		Has("Idempotent-Replay", "")
	limit, inventory, tags, skip, no, yes, zero, four, empty := "web", "inv_1", []string{"a"}, []string{}, false, true,
		0, 4, ""
	f.wasAsked("known", int64(0), catalog.Launch{
		Answers:   map[string]any{"s": "x", "n": json.Number("9007199254740993"), "b": true, "z": nil},
		ExtraVars: runs.Vars{"f": json.RawMessage("1.50")}, CredentialIDs: []string{"crd_2"}, Limit: &limit,
		InventoryID: &inventory, Tags: &tags,
		SkipTags: &skip, DryRun: &no, Forks: &zero, Verbosity: &four, DiffMode: &yes, Labels: map[string]string{"a": "b"},
		Change: &empty,
	})
	for _, body := range []string{"", "{}", `{"answers":null,"limit":null,"tags":null,"verbosity":null,"labels":null}`} {
		f.Call("POST", "/v1/templates/known/launch", "viewer", body).Is(201, launched)
		f.wasAsked("known", int64(0), catalog.Launch{})
	}
	f.Call("POST", "/v1/templates/other/launch", "viewer", "").Problem(404, "template_not_found")
	f.fake.answer(runs.TemplateBusy.New("run_1 of the template is not finished"))
	f.Call("POST", "/v1/templates/known/launch", "viewer", "").Problem(409, "template_busy")
	f.fake.answer(nil)
	for _, c := range []struct {
		err    error
		status int
		reason string
	}{
		{runs.UseRequired.New("using this takes the right to use the template"), 403, runs.UseRequired.Name},
		{fault.BadField("answers.version", "is required"), 400, "invalid"},
		{runs.KeyReused.New("the key was used for another request"), 409, runs.KeyReused.Name},
		{errors.New("the database is gone"), 500, "internal"},
	} {
		f.fake.answer(c.err)
		f.Call("POST", "/v1/templates/known/launch", "viewer", `{"answers":{}}`).Has("Location", "").
			Problem(c.status, c.reason)
	}
}

func TestLaunchTwice(t *testing.T) {
	t.Parallel()
	f := setup(t)
	digest := func(path, body, key string) [32]byte {
		t.Helper()
		f.Call("POST", path, "viewer", body, "Idempotency-Key", key)
		l, ok := f.fake.last()[2].(catalog.Launch)
		if !ok || l.Idempotency == nil || l.Idempotency.Key != key || l.Idempotency.Scope != "launch-template" {
			t.Fatalf("asked %+v", f.fake.last())
		}
		return l.Idempotency.Digest
	}
	const path = "/v1/templates/known/launch"
	first := digest(path, `{"limit":"a"}`, "k1")
	f.fake.replayed = true
	f.Call("POST", path, "viewer", "{ \"limit\" : \"a\" }\n", "Idempotency-Key", "k1").Is(201, launched).
		Has("Idempotent-Replay", "true").Has("Location", "/v1/runs/run_1")
	if again := digest(path, "{ \"limit\" : \"a\" }\n", "k1"); again != first {
		t.Error("white space makes another request")
	}
	seen := [][32]byte{first}
	for _, c := range [][2]string{{path, `{"limit":"b"}`}, {path, `{}`}, {path, ""},
		{"/v1/templates/other/launch", `{"limit":"a"}`}, {"/v1/templates/other/launch", ""}} {
		d := digest(c[0], c[1], "k1")
		if slices.Contains(seen, d) {
			t.Errorf("%v is taken for another request", c)
		}
		seen = append(seen, d)
	}
	got := f.Call("POST", path, "viewer", "{}", "Idempotency-Key", strings.Repeat("k", 256)).Problem(400, "invalid")
	if !slices.Equal(got, []string{"Idempotency-Key"}) {
		t.Errorf("%v", got)
	}
	digest(path, "{}", strings.Repeat("k", 255))
}
