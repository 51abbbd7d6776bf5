package httpapi_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func TestSubmit(t *testing.T) {
	t.Parallel()
	f := setup(t)
	a := f.call("POST", "/v1/runs", "operator",
		`{"tool":"bash","command":"echo","extra_vars":{"n":9007199254740993,"f":1.50},
		"labels":{"a":"b"},"timeout":7,"verbosity":9}`, "Idempotency-Key", "k1")
	m := a.json(t, http.StatusCreated)
	if got := a.header.Get("Location"); got != "/v1/runs/"+knownRun {
		t.Errorf("Location %q", got)
	}
	if a.header.Get("ETag") != `"7"` || a.header.Get("Idempotent-Replay") != "" {
		t.Errorf("headers %v", a.header)
	}
	s := f.fake.submitted
	if string(s.ExtraVars["n"]) != "9007199254740993" || string(s.ExtraVars["f"]) != "1.50" {
		t.Errorf("variables lost digits: %s", s.ExtraVars)
	}
	if s.TimeoutSeconds != 7 || s.Verbosity != 4 || s.Labels["a"] != "b" || s.Idempotency == nil ||
		s.Idempotency.Key != "k1" {
		t.Errorf("submission %+v", s)
	}
	if f.fake.actor.ID != "usr_operator" || f.fake.actor.IP != "127.0.0.1" {
		t.Errorf("actor %+v", f.fake.actor)
	}
	vars, _ := m["extra_vars"].(map[string]any)
	if vars["big"] != json.Number("9007199254740993") || vars["db_password"] != "[redacted]" {
		t.Errorf("vars %v", vars)
	}
	if strings.Contains(string(a.body), "T0PSECRET") || strings.Contains(string(a.body), "K3Y") ||
		strings.Contains(string(a.body), "hunter2") {
		t.Errorf("a secret is shown: %s", a.body)
	}
	first := s.Idempotency.Digest
	f.fake.replayed = true
	b := f.call("POST", "/v1/runs", "operator",
		"{ \"tool\":\"bash\",\"command\":\"echo\",\"extra_vars\":{\"n\":9007199254740993,\"f\":1.50},\n"+
			`"labels":{"a":"b"},"timeout":7,"verbosity":9}`, "Idempotency-Key", "k1")
	b.json(t, http.StatusCreated)
	if b.header.Get("Idempotent-Replay") != "true" || f.fake.submitted.Idempotency.Digest != first {
		t.Errorf("replay %v", b.header)
	}
	f.call("POST", "/v1/runs", "operator", `{"tool":"bash"}`, "Idempotency-Key", strings.Repeat("k", 256)).problem(t, 400)
	f.call("POST", "/v1/runs", "operator", "").problem(t, 400)
}

func TestRecord(t *testing.T) {
	t.Parallel()
	f := setup(t)
	a := f.call("GET", "/v1/runs/"+knownRun, "viewer", "")
	m := a.json(t, 200)
	want := map[string]any{
		"id": knownRun, "kind": "single", "status": "succeeded", "tool": "bash", "command": "echo hi",
		"env":         map[string]any{"A": "b"},
		"extra_vars":  map[string]any{"big": json.Number("9007199254740993"), "db_password": "[redacted]"},
		"outputs":     map[string]any{"url": "http://x"},
		"created_at":  "2026-01-05T08:30:00.123456Z",
		"started_at":  "2026-01-05T08:30:01Z",
		"ended_at":    "2026-01-05T08:30:03.5Z",
		"duration_ms": json.Number("2500"), "exit_code": json.Number("0"), "warnings": []any{}, "source": "api",
		"actor":            map[string]any{"type": "user", "id": "usr_admin", "name": "admin"},
		"cancel_requested": false, "hosts": map[string]any{"ok": json.Number("2")}, "hosts_touched": json.Number("2"),
		"event_count": json.Number("0"), "log_bytes": json.Number("0"), "audit_receipt": "41:01" + strings.Repeat("0", 62),
		"notifications": []any{map[string]any{"kind": "webhook", "url": "https://hooks.test/***", "key": "***"}},
	}
	if d := cmp.Diff(want, m); d != "" {
		t.Errorf("record (-want +got):\n%s", d)
	}
	dry := run()
	dry.Spec.DryRun, dry.Spec.FailOn = true, []string{"warnings"}
	for status, checked := range map[runs.Status]bool{runs.Succeeded: true, runs.Failed: false, runs.Running: false} {
		dry.Status = status
		b := httpapi.RunRow(dry, dry.EndedAt)
		if b.Checked != checked || b.Status != string(status) || !slices.Equal(b.FailOn, dry.Spec.FailOn) {
			t.Errorf("%s: %+v", status, b)
		}
	}
	if got := f.call("GET", "/v1/runs/"+knownRun, "viewer", "", "If-None-Match", `W/"7"`); got.status != 304 ||
		len(got.body) > 0 {
		t.Errorf("not modified: %d %s", got.status, got.body)
	}
	p := f.call("GET", "/v1/runs/run_other", "viewer", "").problem(t, 404)
	if p.Reason != "run_not_found" {
		t.Errorf("reason %q", p.Reason)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.call("GET",
		"/v1/runs?limit=5000&offset=3&status=failed&status=running,pending&order=oldest&tool=bash&after=2026-01-01T00:00:00Z"+
			"&before=2026-02-01T00:00:00%2B02:00&task=ping&q=web+source:api+label:team%3Da+%22two+words%22", "viewer", "").
		json(t, 200)
	row := m["runs"].([]any)[0].(map[string]any)
	for _, k := range []string{"extra_vars", "outputs", "env", "steps"} {
		if _, ok := row[k]; ok {
			t.Errorf("a row carries %s", k)
		}
	}
	delete(m, "runs")
	want := map[string]any{"count": json.Number("1"), "total": json.Number("3"), "has_more": true,
		"next_offset": json.Number("4"), "next_cursor": "abc", "limit": json.Number("1000")}
	if d := cmp.Diff(want, m); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
	filter := runs.Filter{
		Statuses: []runs.Status{runs.Failed, runs.Running, runs.Pending}, Tool: "bash", Task: "ping", Oldest: true,
		After: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Before: time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC),
		Terms: []string{"web", "two", "words"}, Sources: []runs.Source{runs.FromAPI}, Labels: map[string]string{"team": "a"},
		Limit: 1000, Offset: 3,
	}
	if d := cmp.Diff(filter, f.fake.filter); d != "" {
		t.Errorf("filter (-want +got):\n%s", d)
	}
	f.call("GET", "/v1/runs?limit=99999999999999999999", "viewer", "").json(t, 200)
	for _, bad := range []string{
		"limit=abc", "limit=-1", "limit=1.5", "offset=x", "status=bogus", "status=failed,", "order=id;drop", "tool=a%20b",
		"after=yesterday",
		"before=1", "q=status:nope", "q=source:nope", "q=label:x", "q=tool:", "q=%22open", "q=%00", "limt=5",
		"q=queue:a+queue:b", "q=%ff", "q=%zz",
	} {
		p := f.call("GET", "/v1/runs?"+bad, "viewer", "").problem(t, 400)
		name, _, _ := strings.Cut(bad, "=")
		if len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].Location, name) && p.Errors[0].Location != "query" {
			t.Errorf("%s: the fault names no parameter: %+v", bad, p)
		}
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for path, status := range map[string]int{
		"cancel": 200, "approve": 200, "reject": 200, "retry": 201, "relaunch-failed": 201, "rerun": 201, "preview": 201,
		"stream-ticket": 200,
	} {
		url := "/v1/runs/" + knownRun + "/" + path
		a := f.call("POST", url, "admin", "")
		a.json(t, status)
		if (status == 201) != (a.header.Get("Location") == "/v1/runs/"+knownRun) {
			t.Errorf("%s: Location %q", path, a.header.Get("Location"))
		}
		f.call("POST", url, "admin", "{}").json(t, status)
		f.call("POST", url, "admin", `{"nope":1}`).problem(t, 400)
		f.call("POST", url+"?x=1", "admin", "").problem(t, 400)
		f.call("POST", "/v1/runs/run_other/"+path, "admin", "").problem(t, 404)
		if p := f.call("GET", url, "admin", ""); p.problem(t, 405).Reason != "method_not_allowed" ||
			p.header.Get("Allow") != "POST" {
			t.Errorf("%s: %v", path, p.header)
		}
	}
	f.call("POST", "/v1/runs/"+knownRun+"/reject", "admin", `{"reason":"no"}`).json(t, 200)
	if f.fake.reason != "no" {
		t.Errorf("reason %q", f.fake.reason)
	}
	f.fake.err = runs.RunNotHeld.New("the run is not held").With("status", "running")
	a := f.call("POST", "/v1/runs/"+knownRun+"/approve", "admin", "")
	if a.problem(t, 409).Reason != "run_not_held" || !strings.Contains(string(a.body), `"status":409`) {
		t.Errorf("a detail replaced a named member: %s", a.body)
	}
}

func TestPipeline(t *testing.T) {
	t.Parallel()
	f := setup(t)
	m := f.call("POST", "/v1/pipelines", "operator",
		`{"name":"p","steps":[{"name":"a","tool":"bash","command":"x","depends_on":["b"],"extra_vars":{"n":1.0}}]}`).
		json(t, 201)
	if d := cmp.Diff([]any{map[string]any{"name": "a", "status": "pending"}}, m["steps"]); d != "" {
		t.Error(d)
	}
	s := f.fake.pipeline.Steps
	if len(s) != 1 || s[0].DependsOn[0] != "b" || string(s[0].ExtraVars["n"]) != "1.0" {
		t.Errorf("steps %+v", s)
	}
	for body, where := range map[string]string{
		`{"steps":[{"name":"a"},{"nmae":"b"}]}`:            "steps[1].name",
		`{"steps":[{"name":"a"},{"name":"b","Tool":"x"}]}`: "steps[1].Tool",
		`{"steps":[{"name":"a"},{"name":7}]}`:              "steps[1].name",
		`{"steps":[{"name":"a"},{"name":"b","name":"c"}]}`: "steps[1].name",
		`{"steps":[{"name":"a"},{"name":"b\u0000"}]}`:      "steps[1].name",
		`{"name":"x"}`: "steps",
	} {
		p := f.call("POST", "/v1/pipelines", "operator", body).problem(t, 400)
		if len(p.Errors) == 0 || p.Errors[0].Location != where {
			t.Errorf("%s: %+v, want %s", body, p.Errors, where)
		}
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	f := setup(t)
	base := "/v1/runs/" + knownRun + "/"
	for path, key := range map[string]string{
		"shards": "shards", "steps": "steps", "hosts": "hosts", "tasks": "tasks", "compare?with=prev": "duration",
		"events":                            "events",
		"matrix?count=9&from=1&after_rev=2": "cells", "failures": "groups", "why": "reasons",
		"logs/find?q=a&regex=1&limit=5000": "hits",
	} {
		m := f.call("GET", base+path, "viewer", "").json(t, 200)
		if m[key] == nil {
			t.Errorf("%s: no %s in %v", path, key, m)
		}
		f.call("GET", "/v1/runs/run_other/"+path, "viewer", "").problem(t, 404)
	}
	if f.fake.compared != "prev" || f.fake.query != (runs.LogQuery{Text: "a", Regex: true, Limit: 1000}) ||
		f.fake.matrix != (runs.MatrixQuery{From: 1, Count: 9, AfterRev: 2}) {
		t.Errorf("asked %q %+v %+v", f.fake.compared, f.fake.query, f.fake.matrix)
	}
	if m := f.call("GET", base+"shards", "viewer", "").json(t, 200); m["count"] != json.Number("1") {
		t.Errorf("shards hold other children: %v", m)
	}
	for _, bad := range []string{"compare", "events?limit=x", "events?download=2", "logs?tail=-1", "logs/find",
		"logs/find?q=a&case=x", "matrix?from=a"} {
		f.call("GET", base+bad, "viewer", "").problem(t, 400)
	}
	f.fake.err = runs.NoBaseline.New("nothing came before")
	if p := f.call("GET", base+"compare?with=prev", "viewer", "").problem(t, 404); p.Reason != "no_baseline" {
		t.Errorf("%+v", p)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for kind, status := range map[fault.Kind]int{
		fault.Unauthenticated: 401, fault.Forbidden: 403, fault.Unlicensed: 403, fault.Invalid: 400, fault.NotFound: 404,
		fault.Conflict: 409, fault.Stale: 412, fault.TooLarge: 413, fault.RateLimited: 429, fault.Unavailable: 503,
		fault.Internal: 500,
	} {
		f.fake.err = &fault.Error{Kind: kind, Message: "what people read", Cause: errors.New("HIDDEN"),
			RetryAfter: 1500 * time.Millisecond}
		a := f.call("GET", "/v1/runs/"+knownRun, "viewer", "")
		p := a.problem(t, status)
		if strings.Contains(string(a.body), "HIDDEN") {
			t.Errorf("%s shows its cause", kind)
		}
		if kind == fault.Internal {
			if p.RequestID == "" || strings.Contains(string(a.body), "what people read") {
				t.Errorf("internal: %s", a.body)
			}
		} else if p.Reason != kind.String() || p.Error != "what people read" {
			t.Errorf("%s: %+v", kind, p)
		}
		if (status == 429 || status == 503) && a.header.Get("Retry-After") != "2" {
			t.Errorf("%s: Retry-After %q", kind, a.header.Get("Retry-After"))
		}
		if status == 401 && a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("no challenge: %v", a.header)
		}
	}
	f.fake.err = errors.New("no fault at all")
	if a := f.call("GET", "/v1/runs/"+knownRun, "viewer", ""); strings.Contains(string(a.body), "no fault") {
		t.Errorf("internal text is shown: %s", a.body)
	}
	if !strings.Contains(f.log.String(), "HIDDEN") || !strings.Contains(f.log.String(), "no fault at all") {
		t.Error("causes are not in the log")
	}
	f.fake.err = runs.RunNotHeld.New("no").With("broke_at", 3)
	if m := f.call("GET", "/v1/runs/"+knownRun, "viewer", "").json(t, 409); m["broke_at"] != json.Number("3") {
		t.Errorf("detail is not flat: %v", m)
	}
	at := time.Date(2026, 1, 5, 8, 30, 0, 0, time.UTC)
	f.fake.err = runs.WithReasons(runs.RunNotHeld.New("no").With("changed", []string{"a"}),
		runs.Reason{Object: knownRun, Next: "look again"}, runs.Reason{Code: "other", Text: "more", Since: at})
	m := f.call("POST", "/v1/runs/"+knownRun+"/approve", "admin", "").json(t, 409)
	want := []any{
		map[string]any{"code": "run_not_held", "text": "no", "object": knownRun, "next": "look again"},
		map[string]any{"code": "other", "text": "more", "since": at.Format(time.RFC3339Nano)},
	}
	if d := cmp.Diff(want, m["reasons"]); d != "" || len(m["changed"].([]any)) != 1 {
		t.Errorf("%s: %v", d, m)
	}
}
