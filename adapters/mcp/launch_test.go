package mcp

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/identity"
)

// launchAPI has a template tpl_1 that allows dry runs, tpl_2 that allows none and tpl_3 whose runs all are dry runs.
func launchAPI() *fakeAPI {
	run := func(template, rest string) Answer {
		return ok(`{"template_id":"` + template + `","limit":"web","inventory_id":"inv_1",` + rest + `}`)
	}
	const made = `{"id":"run_9"}`
	return &fakeAPI{answers: map[string]Answer{
		"GET /v1/templates/tpl_1": ok(`{"id":"tpl_1","limit":"web","inventory_id":"inv_1","allow_overrides":["dry_run"],` +
			`"extra_vars":{"port":80,"db_password":"[redacted]"},"survey":[{"var":"version","default":"1"},{"var":"note"}]}`),
		"GET /v1/templates/tpl_2":         ok(`{"id":"tpl_2","allow_overrides":["limit"]}`),
		"GET /v1/templates/tpl_3":         ok(`{"id":"tpl_3","dry_run":true}`),
		"POST /v1/templates/tpl_1/launch": ok(made), "POST /v1/templates/tpl_2/launch": ok(made),
		"POST /v1/templates/tpl_3/launch": ok(made),
		"GET /v1/runs/run_dry": run("tpl_1", `"dry_run":true,"checked":true,"status":"succeeded",`+
			`"extra_vars":{"port":80,"db_password":"[redacted]","version":"1"}`),
		"GET /v1/runs/run_chosen": run("tpl_1", `"dry_run":true,"checked":true,"status":"succeeded",`+
			`"extra_vars":{"port":80,"db_password":"[redacted]","version":"2","token":"[redacted]","list":[1,{"a":null}]}`),
		"GET /v1/runs/run_going": run("tpl_1", `"dry_run":true,"status":"running"`),
		"GET /v1/runs/run_other": run("tpl_7", `"dry_run":true,"checked":true,"status":"succeeded"`),
		"GET /v1/runs/run_real":  run("tpl_1", `"status":"succeeded"`),
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
		"no dry run":            {"tpl_2", nil, nil, "allows no dry run"},
		"unconfirmed":           {"tpl_1", object{"dry_run": false, "dry_run_id": "run_dry"}, nil, "confirm"},
		"without a dry run":     {"tpl_1", object{"dry_run": false, "confirm": true}, nil, "dry_run_id"},
		"dry run of another":    {"tpl_1", with("dry_run_id", "run_other"), nil, "no dry run of this template"},
		"after a real run":      {"tpl_1", with("dry_run_id", "run_real"), nil, "no dry run of this template"},
		"dry run has not ended": {"tpl_1", with("dry_run_id", "run_going"), nil, "running"},
		"unknown dry run":       {"tpl_1", with("dry_run_id", "run_no"), nil, "404"},
		"other hosts":           {"tpl_1", with("limit", "all"), nil, "another limit"},
		"other inventory":       {"tpl_1", with("inventory_id", "inv_2"), nil, "another limit"},
		"other answer":          {"tpl_1", with("answers", object{"version": "2"}), nil, `another value of the variable "version"`},
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
		"real, none possible": {"tpl_2", object{"dry_run": false, "confirm": true}, object{}, ""},
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
