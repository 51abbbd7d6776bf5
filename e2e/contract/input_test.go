package contract

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/runs"
)

// badInput is a request with one invalid field.
type badInput struct{ path, body, at, reason string }

func badSubmissions() []badInput {
	long, locks := strings.Repeat("k", 256), strings.Repeat(`"a",`, runs.MaxLocks)+`"a"`
	var out []badInput
	for body, at := range map[string]string{
		``: "body", `null`: "body", `[]`: "body", `"x"`: "body", `{"tool":"bash"} {}`: "body",
		`{}`: "playbook", `{"playbook":" "}`: "playbook", `{"playbook":"-x"}`: "playbook", `{"playbook":"a\nb"}`: "playbook",
		`{"tool":"bash"}`: "command", `{"tool":"python"}`: "command", `{"tool":"go"}`: "command",
		`{"tool":"powershell"}`:                                    "command",
		`{"tool":"bash","command":"a\u0000"}`:                      "command",
		`{"tool":"bash","tool":"bash"}`:                            "tool",
		`{"tool":7}`:                                               "tool",
		`{"Tool":"bash"}`:                                          "Tool",
		`{"playbook":"p","shards":1.5}`:                            "shards",
		`{"playbook":"p","shards":-2}`:                             "shards",
		`{"tool":"bash","command":"x","shards":2}`:                 "shards",
		`{"playbook":"p","limit":"-l"}`:                            "limit",
		`{"playbook":"p","limit":"@hosts"}`:                        "limit",
		`{"playbook":"p","limit":"a\nb"}`:                          "limit",
		`{"playbook":"p","tags":["ok","-t"]}`:                      "tags[1]",
		`{"playbook":"p","skip_tags":["a\u0000"]}`:                 "skip_tags[0]",
		`{"playbook":"p","forks":-1}`:                              "forks",
		`{"playbook":"p","verbosity":-1}`:                          "verbosity",
		`{"playbook":"p","diff_mode":"yes"}`:                       "diff_mode",
		`{"playbook":"p","timeout":-1}`:                            "timeout",
		`{"playbook":"p","timeout":1.5}`:                           "timeout",
		`{"playbook":"p","priority":11}`:                           "priority",
		`{"playbook":"p","priority":-11}`:                          "priority",
		`{"playbook":"p","queue":"a b"}`:                           "queue",
		`{"playbook":"p","labels":{"a":1}}`:                        "labels.a",
		`{"playbook":"p","labels":{"A":"x"}}`:                      "labels",
		`{"playbook":"p","labels":{"a":"` + long + `"}}`:           "labels.a",
		`{"playbook":"p","name":"` + long + `"}`:                   "name",
		`{"playbook":"p","change":"` + long + `"}`:                 "change",
		`{"playbook":"p","env":{"A":1}}`:                           "env.A",
		`{"playbook":"p","env":{"1A":"x"}}`:                        "env",
		`{"playbook":"p","env":{"WRIT_RUN_ID":"x"}}`:               "env.WRIT_RUN_ID",
		`{"playbook":"p","extra_vars":[]}`:                         "extra_vars",
		`{"playbook":"p","extra_vars":{"a":["x",{"b":"\u0000"}]}}`: "extra_vars.a[1].b",
		`{"playbook":"p","extra_vars":{"__ansible_vault":"x"}}`:    "extra_vars.__ansible_vault",
		`{"playbook":"p","fail_on":["no_hosts","hosts"]}`:          "fail_on[1]",
		`{"playbook":"p","fail_on":["warnings","warnings"]}`:       "fail_on[1]",
		`{"playbook":"p","fail_on":"no_hosts"}`:                    "fail_on",
		`{"playbook":"p","locks":"db"}`:                            "locks",
		`{"playbook":"p","locks":[1]}`:                             "locks[0]",
		`{"playbook":"p","locks":["a b"]}`:                         "locks[0]",
		`{"playbook":"p","locks":["schedule:sch_1"]}`:              "locks[0]",
		`{"playbook":"p","locks":[` + locks + `]}`:                 "locks",
		`{"playbook":"p","exclusive_hosts":"yes"}`:                 "exclusive_hosts",
		`{"playbook":"p","when_busy":"skip"}`:                      "when_busy",
		`{"playbook":"p","max_concurrent":1}`:                      "max_concurrent",
		`{"playbook":"p","limit_hosts":["a"]}`:                     "limit_hosts",
		`{"playbook":"p","source":"template"}`:                     "source",
		`{"playbook":"p","inventory":"-i"}`:                        "inventory",
		`{"playbook":"p","notifications":[{"kind":"pigeon"}]}`:     "notifications[0].kind",
		`{"playbook":"p","notifications":[{"url":"https://a"}]}`:   "notifications[0].kind",
		`{"playbook":"p","notifications":[{"kind":"slack"}]}`:      "notifications[0].url",
		`{"playbook":"p","notifications":[{"kind":"email","to":"a@b.example"},` +
			`{"kind":"grafana","url":"https://a"}]}`: "notifications[1].key",
		`{"playbook":"p","extra_vars":{"a":[{"__ansible_unsafe":"x"}]}}`:               "extra_vars.a",
		`{"playbook":"p","notifications":[{"kind":"pagerduty"}]}`:                      "notifications[0].key",
		`{"playbook":"p","notifications":[{"kind":"twilio"}]}`:                         "notifications[0].to",
		`{"playbook":"p","notifications":[{"kind":"webhook","url":"gopher://a"}]}`:     "notifications[0].url",
		`{"playbook":"p","notifications":[{"kind":"slack","url":"https://a","no":1}]}`: "notifications[0].no",
	} {
		out = append(out, badInput{"/v1/runs", body, at, "invalid"})
	}
	return append(out, badInput{"/v1/runs", `{"tool":"cobol","command":"x"}`, "tool", "unknown_tool"})
}

func badPipelines() []badInput {
	step := func(more string) string { return `{"steps":[{"name":"a","tool":"bash","command":"x"},{` + more + `}]}` }
	in := func(body, at, reason string) badInput { return badInput{"/v1/pipelines", body, at, reason} }
	return []badInput{
		in(`{}`, "steps", "invalid"), in(`{"steps":[]}`, "steps", "invalid"), in(`{"steps":{}}`, "steps", "invalid"),
		in(step(`"tool":"bash","command":"x"`), "steps[1].name", "invalid"),
		in(step(`"name":"b","tool":"bash"`), "steps[1].command", "invalid"),
		in(step(`"name":"b"`), "steps[1].playbook", "invalid"),
		in(step(`"name":"b","tool":"bash","command":"x","shards":2`), "steps[1].shards", "invalid"),
		in(step(`"name":"b","tool":"cobol","command":"x"`), "steps[1].tool", "unknown_tool"),
		in(step(`"name":"a","tool":"bash","command":"x"`), "steps[1].name", "invalid_graph"),
		in(step(`"name":"b","tool":"bash","command":"x","depends_on":["z"]`), "steps[1].depends_on[0]", "invalid_graph"),
		in(step(`"name":"b","tool":"bash","command":"x","depends_on":["b"]`), "steps[1].depends_on", "invalid_graph"),
		in(step(`"name":"b","tool":"bash","command":"x","retries":-1`), "steps[1].retries", "invalid"),
		in(step(`"name":"b","tool":"bash","command":"x","timeout":"1"`), "steps[1].timeout", "invalid"),
		in(step(`"name":"b","playbook":"p","limit":"-x"`), "steps[1].limit", "invalid"),
		in(step(`"name":"b","playbook":"p","tags":["-x"]`), "steps[1].tags[0]", "invalid"),
		in(step(`"name":"b","tool":"bash","command":"x","queue":"a b"`), "steps[1].queue", "invalid"),
		in(step(`"name":"b","playbook":"p","locks":["db"]`), "steps[1].locks", "invalid"),
		in(step(`"name":"b","playbook":"p","exclusive_hosts":true`), "steps[1].exclusive_hosts", "invalid"),
		in(`{"steps":[{"name":"a","tool":"bash","command":"x"}],"locks":7}`, "locks", "invalid"),
		in(step(`"name":"b","playbook":"p","fail_on":["all"]`), "steps[1].fail_on[0]", "invalid"),
		in(step(`"name":"b","playbook":"p","fail_on":["no_hosts","no_hosts"]`), "steps[1].fail_on[1]", "invalid"),
		in(`{"steps":[{"name":"a","tool":"bash","command":"x"}],"priority":1}`, "priority", "invalid"),
		in(`{"steps":[{"name":"a","tool":"bash","command":"x"}],"fail_on":["",""]}`, "fail_on[0]", "invalid"),
	}
}

// TestBadBodies checks that errors name the invalid field and that no run is created.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	held := s.Submit(harness.Body{"tool": "bash", "command": "true", "require_approval": true})
	all := append(badSubmissions(), badPipelines()...)
	for _, verb := range []string{"approve", "reject"} {
		path := "/v1/runs/" + held.ID + "/" + verb
		all = append(all, badInput{path, `{"reason":7}`, "reason", "invalid"},
			badInput{path, `{"why":"x"}`, "why", "invalid"},
			badInput{path, `{"reason":"\u0000"}`, "reason", "invalid"})
	}
	for _, verb := range []string{"cancel", "retry", "rerun", "relaunch-failed", "preview", "stream-ticket"} {
		all = append(all, badInput{"/v1/runs/" + held.ID + "/" + verb, `{"x":1}`, "body", "invalid"})
	}
	for _, b := range all {
		what := b.path + " " + b.body
		p := refused(t, what, s.Do(http.MethodPost, b.path, b.body), 400)
		if !strings.HasPrefix(p.at(), b.at) || p.Reason != b.reason {
			t.Errorf("%s: %q at %q, want %q at %q", what, p.Reason, p.at(), b.reason, b.at)
		}
	}
	for at, body := range map[string]string{
		"inventory_id":          `{"playbook":"p","inventory_id":"inv_00000000000000000000000000"}`,
		"project_id":            `{"playbook":"p","project_id":"prj_x"}`,
		"credential_ids[1]":     `{"playbook":"p","credential_ids":["",""]}`,
		"steps[0].inventory_id": `{"steps":[{"name":"a","playbook":"p","inventory_id":"x"}]}`,
	} {
		path, want := "/v1/runs", 404
		if strings.HasPrefix(at, "steps") {
			path = "/v1/pipelines"
		}
		if at == "credential_ids[1]" {
			want, at = 400, "credential_ids[0]"
		}
		if p := refused(t, body, s.Do(http.MethodPost, path, body), want); p.at() != at {
			t.Errorf("%s: at %q", body, p.at())
		}
	}
	if list, total := s.Runs(""); total != 1 || list[0].Status != "pending_approval" {
		t.Errorf("%d runs after nothing but bad requests, the held one is %s", total, list[0].Status)
	}
}

// TestBadQueries checks that errors name the parameter, whether the run exists or not.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	run := "/v1/runs/" + s.Await(s.Submit(bash("true")).ID).ID
	for path, at := range map[string]string{
		"/v1/runs?limit=x": "limit", "/v1/runs?limit=-1": "limit", "/v1/runs?limit=1.0": "limit",
		"/v1/runs?limit=%2B1": "limit",
		"/v1/runs?offset=x":   "offset", "/v1/runs?cursor=x": "cursor", "/v1/runs?cursor=e30": "cursor",
		"/v1/runs?q=!&cursor=x": "cursor", "/v1/runs?limit=1&limit=2": "limit",
		"/v1/runs?status=done": "status", "/v1/runs?status=failed,": "status", "/v1/runs?status=skipped": "status",
		"/v1/runs?order=down": "order", "/v1/runs?after=yesterday": "after", "/v1/runs?before=2026-01-01": "before",
		"/v1/runs?tool=a%20b": "tool", "/v1/runs?q=%22open": "q", "/v1/runs?q=status:done": "q.status",
		"/v1/runs?q=source:moon": "q.source", "/v1/runs?q=label:x": "q.label", "/v1/runs?q=label:a=1+label:a=2": "q.label",
		"/v1/runs?q=tool:": "q.tool", "/v1/runs?q=host:a+host:b": "q.host", "/v1/runs?q=%00": "query",
		"/v1/runs?Limit=1":      "Limit",
		run + "/events?limit=x": "limit", run + "/events?after=-1": "after", run + "/events?download=2": "download",
		run + "/logs?tail=x": "tail", run + "/logs?download=x": "download",
		run + "/logs/find": "q", run + "/logs/find?q=(&regex=1": "q", run + "/logs/find?q=a&case=x": "case",
		run + "/logs/find?q=a&limit=x": "limit",
		run + "/matrix?from=x":         "from", run + "/matrix?count=-1": "count", run + "/matrix?after_rev=x": "after_rev",
		run + "/compare": "with", run + "/stream?after=x": "after", run + "/stream?log_offset=x": "log_offset",
		run + "/why?x=1": "x", run + "/hosts?limit=1": "limit", run + "?x=1": "x",
	} {
		if p := refused(t, path, s.Do(http.MethodGet, path, nil), 400); p.at() != at {
			t.Errorf("%s: at %q, want %q", path, p.at(), at)
		}
	}
}

// TestBodyLimits covers size, media type and encoding.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	fits := `{"tool":"bash","command":"` + strings.Repeat("#", 1<<20-100) + `","queue":"parked"}`
	if a := s.Do(http.MethodPost, "/v1/runs", fits); a.Status != 201 {
		t.Errorf("just below the cap: %d %.200s", a.Status, a.Body)
	}
	if p := refused(t, "over the cap", s.Do(http.MethodPost, "/v1/runs", strings.Repeat(" ", 200)+fits),
		413); p.Reason != "too_large" {
		t.Errorf("reason %q", p.Reason)
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"} {
		refused(t, media, s.Do(http.MethodPost, "/v1/runs", `{"tool":"bash","command":"true"}`, "Content-Type", media), 415)
	}
	refused(t, "gzip", s.Do(http.MethodPost, "/v1/runs", "{}", "Content-Encoding", "gzip"), 415)
}

// TestDocumentIsTheGoldenOne compares the server's API document with the golden file.
func TestDocumentIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	kept, err := os.ReadFile(filepath.Join("..", "golden", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	read := func(raw []byte) map[string]any {
		var doc map[string]any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		doc["info"].(map[string]any)["version"] = ""
		return doc
	}
	served := s.As("").Do(http.MethodGet, "/openapi.json", nil)
	if diff := cmp.Diff(read(kept), read(served.Body)); diff != "" ||
		served.Header.Get("Content-Type") != "application/openapi+json" {
		t.Errorf("the served document differs from the golden one (-golden +served), which adapters/httpapi writes:\n%s",
			diff)
	}
}
