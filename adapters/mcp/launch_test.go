package mcp

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/identity"
)

// launchAPI has a template tpl_1 that allows dry runs, tpl_2 that allows none, tpl_3 whose runs all are dry runs, and
// tpl_4 with a project and a step that launches tpl_1, which was changed two hours ago. Dry runs of tpl_5, and of tpl_6
// in a step, execute scripts. tpl_7 has a step of a template that the agent may not read. The inventory inv_3 of tpl_8,
// and of a step of tpl_0, was changed a minute ago.
func launchAPI() *fakeAPI {
	ago := func(d time.Duration) string { return `"` + time.Now().Add(-d).UTC().Format(time.RFC3339Nano) + `"` }
	at := func(begun, ended time.Duration, rest string) string {
		return `{"limit":"web","inventory_id":"inv_1","created_at":` + ago(begun) + `,"ended_at":` + ago(ended) + `,` +
			rest + `}`
	}
	run := func(rest string) Answer { return ok(at(10*time.Minute, 9*time.Minute, rest)) }
	const done = `"dry_run":true,"checked":true,"status":"succeeded","source":"template",`
	const vars = `"extra_vars":{"port":80,"db_password":"[redacted]","version":"1"}`
	template := func(id string, changed time.Duration, rest string) Answer {
		return ok(`{"id":"` + id + `","updated_at":` + ago(changed) + `,` + rest + `}`)
	}
	inventory := func(changed time.Duration) Answer { return ok(`{"updated_at":` + ago(changed) + `}`) }
	const made = `{"id":"run_9"}`
	return &fakeAPI{answers: map[string]Answer{
		"GET /v1/templates/tpl_1": template("tpl_1", 2*time.Hour, `"limit":"web","inventory_id":"inv_1","allow_overrides":["dry_run"],`+
			`"extra_vars":{"port":80,"db_password":"[redacted]"},"survey":[{"var":"version","default":"1"},{"var":"note"}]`),
		"GET /v1/templates/tpl_2": template("tpl_2", 0, `"allow_overrides":["limit"]`),
		"GET /v1/templates/tpl_3": template("tpl_3", 0, `"dry_run":true`),
		"GET /v1/templates/tpl_4": template("tpl_4", 3*time.Hour, `"limit":"web","inventory_id":"inv_1","allow_overrides":["dry_run"],`+
			`"project_id":"prj_1","steps":[{"name":"a"},{"template_id":"tpl_1"}]`),
		"GET /v1/templates/tpl_5": template("tpl_5", 2*time.Hour, `"limit":"web","inventory_id":"inv_1","dry_run_executes":true,`+
			`"allow_overrides":["dry_run"]`),
		"GET /v1/templates/tpl_6": template("tpl_6", 0, `"dry_run":true,"steps":[{"name":"a"},{"template_id":"tpl_5"}]`),
		"GET /v1/templates/tpl_7": template("tpl_7", 0, `"dry_run":true,"steps":[{"template_id":"tpl_9"}]`),
		"GET /v1/templates/tpl_8": template("tpl_8", 2*time.Hour, `"limit":"web","inventory_id":"inv_3",`+
			`"allow_overrides":["dry_run"]`),
		"GET /v1/templates/tpl_0": template("tpl_0", 2*time.Hour, `"limit":"web","inventory_id":"inv_1","allow_overrides":["dry_run"],`+
			`"steps":[{"inventory_id":"inv_3"}]`),
		"GET /v1/inventories/inv_1": inventory(2 * time.Hour), "GET /v1/inventories/inv_3": inventory(time.Minute),
		"GET /v1/projects/prj_1":          ok(`{"id":"prj_1","commit":"c2"}`),
		"POST /v1/templates/tpl_1/launch": ok(made), "POST /v1/templates/tpl_2/launch": ok(made),
		"POST /v1/templates/tpl_3/launch": ok(made), "POST /v1/templates/tpl_4/launch": ok(made),
		"POST /v1/templates/tpl_5/launch": ok(made), "POST /v1/templates/tpl_6/launch": ok(made),
		"POST /v1/templates/tpl_7/launch": ok(made),
		"GET /v1/runs/run_dry":            run(done + `"template_id":"tpl_1",` + vars),
		"GET /v1/runs/run_chosen": run(done + `"template_id":"tpl_1",` +
			`"extra_vars":{"port":80,"db_password":"[redacted]","version":"2","token":"[redacted]","list":[1,{"a":null}]}`),
		"GET /v1/runs/run_going":  run(`"template_id":"tpl_1","dry_run":true,"status":"running","source":"template"`),
		"GET /v1/runs/run_other":  run(done + `"template_id":"tpl_7"`),
		"GET /v1/runs/run_real":   run(`"template_id":"tpl_1","status":"succeeded","source":"template"`),
		"GET /v1/runs/run_again":  run(`"template_id":"tpl_1","dry_run":true,"checked":true,"source":"rerun",` + vars),
		"GET /v1/runs/run_old":    ok(at(65*time.Minute, 61*time.Minute, done+`"template_id":"tpl_1",`+vars)),
		"GET /v1/runs/run_long":   ok(at(110*time.Minute, 50*time.Minute, done+`"template_id":"tpl_1",`+vars)),
		"GET /v1/runs/run_before": ok(at(121*time.Minute, 50*time.Minute, done+`"template_id":"tpl_1",`+vars)),
		"GET /v1/runs/run_c1":     run(done + `"template_id":"tpl_4","commit":"c1"`),
		"GET /v1/runs/run_c2":     run(done + `"template_id":"tpl_4","commit":"c2"`),
		"GET /v1/runs/run_inv":    run(`"inventory_id":"inv_3",` + done + `"template_id":"tpl_8"`),
		"GET /v1/runs/run_step":   run(done + `"template_id":"tpl_0"`),
		"GET /v1/runs/run_script": run(done + `"template_id":"tpl_5"`),
		"GET /v1/runs/run_c0":     ok(at(121*time.Minute, 50*time.Minute, done+`"template_id":"tpl_4","commit":"c2"`)),
	}}
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	confirmed := object{"dry_run": false, "confirm": true, "dry_run_id": "run_dry"}
	with := func(name string, value any) object {
		out := maps.Clone(confirmed)
		out[name] = value
		return out
	}
	for name, c := range map[string]struct {
		template string
		args     object
		body     object // nil if nothing is launched
		why      string
	}{
		"dry unless asked":      {"tpl_1", nil, object{"dry_run": true}, ""},
		"confirm alone is dry":  {"tpl_1", object{"confirm": true}, object{"dry_run": true}, ""},
		"always dry":            {"tpl_3", nil, object{}, ""},
		"scripts":               {"tpl_5", nil, nil, "executes scripts"},
		"scripts confirmed":     {"tpl_5", object{"confirm": true}, object{"dry_run": true}, ""},
		"scripts for real":      {"tpl_5", with("dry_run_id", "run_script"), object{}, ""},
		"scripts, untried":      {"tpl_5", object{"dry_run": false, "confirm": true}, nil, "needs dry_run_id"},
		"scripts in a step":     {"tpl_6", nil, nil, "executes scripts"},
		"the step confirmed":    {"tpl_6", object{"confirm": true}, object{}, ""},
		"a step unread":         {"tpl_7", nil, nil, "the template tpl_9 of a step"},
		"dry run of a workflow": {"tpl_4", nil, object{"dry_run": true}, ""},
		"no dry run":            {"tpl_2", nil, nil, "add dry_run to the allow_overrides"},
		"unconfirmed":           {"tpl_1", object{"dry_run": false, "dry_run_id": "run_dry"}, nil, "confirm"},
		"without a dry run":     {"tpl_1", object{"dry_run": false, "confirm": true}, nil, "dry_run_id"},
		"dry run of another":    {"tpl_1", with("dry_run_id", "run_other"), nil, "no dry run of this template"},
		"after a real run":      {"tpl_1", with("dry_run_id", "run_real"), nil, "no dry run of this template"},
		"dry run has not ended": {"tpl_1", with("dry_run_id", "run_going"), nil, "running"},
		"unknown dry run":       {"tpl_1", with("dry_run_id", "run_no"), nil, "404"},
		"other hosts":           {"tpl_1", with("limit", "all"), nil, "another limit"},
		"other inventory":       {"tpl_1", with("inventory_id", "inv_2"), nil, "another limit"},
		"other answer":          {"tpl_1", with("answers", object{"version": "2"}), nil, `value of the variable "version"`},
		"further answer":        {"tpl_1", with("answers", object{"note": "x"}), nil, `variable "note"`},
		"further variable":      {"tpl_1", with("extra_vars", object{"size": 1}), nil, `variable "size"`},
		"other variable":        {"tpl_1", with("extra_vars", object{"port": 81}), nil, `variable "port"`},
		"without the answer":    {"tpl_1", with("dry_run_id", "run_chosen"), nil, `variable "list"`},
		"same variables": {"tpl_1", with("extra_vars", object{"port": 80, "db_password": "x"}),
			object{"extra_vars": object{"port": 80.0, "db_password": "x"}}, ""},
		"same answers": {"tpl_1", object{
			"dry_run": false, "confirm": true, "dry_run_id": "run_chosen",
			"answers":    object{"version": "2", "note": nil},
			"extra_vars": object{"token": "t", "list": []any{1, object{"a": nil}}},
		}, object{
			"answers":    object{"version": "2"},
			"extra_vars": object{"token": "t", "list": []any{1.0, object{"a": nil}}},
		}, ""},
		"unknown template":    {"tpl_9", confirmed, nil, "404"},
		"real":                {"tpl_1", confirmed, object{}, ""},
		"real, same hosts":    {"tpl_1", with("limit", "web"), object{"limit": "web"}, ""},
		"real, none possible": {"tpl_2", object{"dry_run": false, "confirm": true}, nil, "let a person launch it"},
		"dry run elsewhere":   {"tpl_2", confirmed, nil, "let a person launch it"},
		"rerun of a dry run":  {"tpl_1", with("dry_run_id", "run_again"), nil, "its source is rerun"},
		"old dry run":         {"tpl_1", with("dry_run_id", "run_old"), nil, "ended more than 1h0m0s ago"},
		"long dry run":        {"tpl_1", with("dry_run_id", "run_long"), object{}, ""},
		"changed template":    {"tpl_1", with("dry_run_id", "run_before"), nil, "the template was changed"},
		"changed step":        {"tpl_4", with("dry_run_id", "run_c0"), nil, "the template was changed"},
		"changed inventory":   {"tpl_8", with("dry_run_id", "run_inv"), nil, "the inventory inv_3 was changed"},
		"inventory of a step": {"tpl_0", with("dry_run_id", "run_step"), nil, "the inventory inv_3 was changed"},
		"other commit":        {"tpl_4", with("dry_run_id", "run_c1"), nil, "another commit"},
		"same commit":         {"tpl_4", with("dry_run_id", "run_c2"), object{}, ""},
		"all values": {"tpl_1",
			object{"answers": object{"a": 1.5}, "extra_vars": object{"b": "c"}, "change": "CHG-1", "idempotency_key": "k"},
			object{"dry_run": true, "answers": object{"a": 1.5}, "extra_vars": object{"b": "c"}, "change": "CHG-1"}, ""},
	} {
		api := launchAPI()
		args := object{"template": c.template}
		maps.Copy(args, c.args)
		text, failed := use(t, connect(t, api.call), "launch_template", args)
		if failed != (c.body == nil) || !strings.Contains(text, c.why) {
			t.Errorf("%s: failed %t: %s", name, failed, text)
			continue
		}
		if c.body == nil {
			if slices.ContainsFunc(api.paths(), func(p string) bool { return strings.HasPrefix(p, http.MethodPost) }) {
				t.Errorf("%s: launched", name)
			}
			continue
		}
		got := object{}
		if err := json.Unmarshal(api.last(t).Body, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.body, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		key, _ := c.args["idempotency_key"].(string)
		if sent := api.last(t).Header.Get("Idempotency-Key"); sent != key {
			t.Errorf("%s: key %q", name, sent)
		}
	}
}

func TestLaunchWithoutScope(t *testing.T) {
	t.Parallel()
	api := launchAPI()
	const launch = "POST /v1/templates/tpl_1/launch"
	api.answers[launch] = problem(http.StatusForbidden, identity.NotAllowed.Name, "the scopes do not")
	text, failed := use(t, connect(t, api.call), "launch_template", map[string]any{"template": "tpl_1"})
	if !failed || !strings.Contains(text, "the scopes do not") || !strings.Contains(text, "scope launch") {
		t.Error(text)
	}
	api.answers[launch] = problem(http.StatusForbidden, "policy_denied", "the policy denies")
	text, failed = use(t, connect(t, api.call), "launch_template", map[string]any{"template": "tpl_1"})
	if !failed || text != "the server refused (403 policy_denied): the policy denies" {
		t.Error(text)
	}
}

// TestAgeOfADryRun: the clock of the server counts, not that of the machine on which the command is.
func TestAgeOfADryRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		run   string
		clock time.Duration // of the server, before that of the machine
		old   bool
	}{{"run_dry", -55 * time.Minute, true}, {"run_old", 30 * time.Minute, false}} {
		api := launchAPI()
		a := api.answers["GET /v1/runs/"+c.run]
		a.Header.Set("Date", time.Now().Add(-c.clock).UTC().Format(http.TimeFormat))
		text, failed := use(t, connect(t, api.call), "launch_template", map[string]any{
			"template": "tpl_1", "dry_run": false, "confirm": true, "dry_run_id": c.run,
		})
		if failed != c.old || c.old && !strings.Contains(text, "ended more than") {
			t.Errorf("%s: %s", c.run, text)
		}
	}
}
