package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-automation/writ/ports/identity"
)

// maxTools keeps the list short that every conversation carries.
const maxTools = 16

func TestListOfTools(t *testing.T) {
	t.Parallel()
	list, err := connect(t, (&fakeAPI{}).call).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(list)
	if err != nil || len(raw) > 16<<10 || len(list.Tools) > maxTools || list.NextCursor != "" {
		t.Errorf("%d tools, %d bytes, %v", len(list.Tools), len(raw), err)
	}
	for _, tool := range list.Tools {
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil || !strings.Contains(string(schema), `"additionalProperties":false`) {
			t.Errorf("%s takes any argument: %s, %v", tool.Name, schema, err)
		}
		if a := tool.Annotations; tool.Description == "" || a == nil || a.ReadOnlyHint != (tool.Name != "launch_template") {
			t.Errorf("%s: no description, or the annotations are %+v", tool.Name, a)
		}
	}
}

func TestToolsCallOperations(t *testing.T) {
	t.Parallel()
	api := &fakeAPI{}
	s := connect(t, api.call)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"whoami", nil, "/v1/auth/me"},
		{"list_runs", nil, "/v1/runs?limit=20"},
		{"list_runs", map[string]any{"query": "status:failed a&b", "limit": 9999, "cursor": "c", "after": "2026-01-01"},
			"/v1/runs?after=2026-01-01&cursor=c&limit=100&q=status%3Afailed+a%26b"},
		{"get_run", map[string]any{"run": "run_1"}, "/v1/runs/run_1"},
		{"explain_run", map[string]any{"run": "run_1"}, "/v1/runs/run_1/why"},
		{"list_run_failures", map[string]any{"run": "run_1"}, "/v1/runs/run_1/failures"},
		{"read_run_log", map[string]any{"run": "run_1"}, "/v1/runs/run_1/logs?tail=32768"},
		{"read_run_log", map[string]any{"run": "run_1", "line": 5}, "/v1/runs/run_1/logs?line=5&lines=200"},
		{"find_in_run_log", map[string]any{"run": "run_1", "text": "a+", "regex": true},
			"/v1/runs/run_1/logs/find?limit=20&q=a%2B&regex=1"},
		{"list_hosts", map[string]any{"query": "web", "limit": -1, "window": 5}, "/v1/fleet?limit=20&q=web&window=5"},
		{"get_host", map[string]any{"host": "a/b"}, "/v1/hosts/a%2Fb"},
		{"get_host", map[string]any{"host": "../auth/me?x=1#"}, "/v1/hosts/..%2Fauth%2Fme%3Fx=1%23"},
		{"get_host_facts", map[string]any{"host": "web1"}, "/v1/hosts/web1/facts"},
		{"list_drift", map[string]any{"host": "web1", "offset": 20}, "/v1/drift?host=web1&limit=20&offset=20"},
		{"list_templates", map[string]any{"name": "site"}, "/v1/templates?limit=20&name=site"},
		{"get_template", map[string]any{"template": "tpl_1"}, "/v1/templates/tpl_1"},
	} {
		text, failed := use(t, s, c.tool, c.args)
		if got := api.paths(); !slices.Equal(got, []string{"GET " + c.want}) {
			t.Errorf("%s %v: %q, want %s", c.tool, c.args, got, c.want)
		}
		if !failed || text != "the server refused (404 not_found): there is no such thing" {
			t.Errorf("%s: %q", c.tool, text)
		}
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	api := &fakeAPI{}
	s := connect(t, api.call)
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{"get_run", nil}, {"get_run", map[string]any{"run": 5}}, {"get_run", map[string]any{"run": ""}},
		{"get_run", map[string]any{"run": ".."}}, {"get_run", map[string]any{"run": "run_1", "other": 1}},
		{"list_runs", map[string]any{"limit": "many"}}, {"read_run_log", map[string]any{"run": "."}},
		{"launch_template", map[string]any{"template": "t", "dry_run": "no"}},
		{"launch_template", map[string]any{"template": "t", "answers": []any{1}}},
		{"no_such_tool", nil},
	} {
		if text, failed := use(t, s, c.tool, c.args); !failed || text == "" {
			t.Errorf("%s %v: %q", c.tool, c.args, text)
		}
	}
	if got := api.paths(); len(got) > 0 {
		t.Errorf("requests were sent: %q", got)
	}
	if err := s.Ping(t.Context(), nil); err != nil {
		t.Errorf("the server has ended: %v", err)
	}
}

// TestOnlyTools calls methods of the protocol that the server does not have.
func TestOnlyTools(t *testing.T) {
	t.Parallel()
	s := connect(t, (&fakeAPI{}).call)
	if _, err := s.ListPrompts(t.Context(), nil); err == nil {
		t.Error("prompts are listed")
	}
	if _, err := s.ListResources(t.Context(), nil); err == nil {
		t.Error("resources are listed")
	}
	if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "file:///etc/passwd"}); err == nil {
		t.Error("a resource is read")
	}
}

func TestFailuresOfTheAPI(t *testing.T) {
	t.Parallel()
	answers := func(a Answer, err error) API { return func(context.Context, Call) (Answer, error) { return a, err } }
	for want, api := range map[string]API{
		"no answer within 1m0s": answers(Answer{}, context.DeadlineExceeded),
		"no answer: gone":       answers(Answer{}, errors.New("gone")),
		"the tool failed":       func(context.Context, Call) (Answer, error) { panic("oh") },
		"no JSON":               answers(ok("<html>"), nil),
		"Bad Gateway":           answers(Answer{Status: http.StatusBadGateway}, nil),
		"more bytes left out":   answers(problem(http.StatusConflict, "x", strings.Repeat("x", maxResult)), nil),
	} {
		text, failed := use(t, connect(t, api), "whoami", nil)
		if !failed || !strings.Contains(text, want) || len(text) > 5<<10 {
			t.Errorf("%q instead of %q", text[:min(len(text), 100)], want)
		}
	}
}

func TestNamesOfAgents(t *testing.T) {
	t.Parallel()
	api := &fakeAPI{answers: map[string]Answer{"GET /v1/auth/me": ok(`{}`)}}
	object(t, connect(t, api.call), "whoami", nil)
	if got := api.last(t).Header.Get(identity.AgentHeader); got != "test_agent/7" {
		t.Errorf("the agent is %q", got)
	}
	for want, info := range map[string]*sdk.Implementation{
		"unknown":                         nil,
		"unknown/1":                       {Version: "1"},
		"a__X-Admin__yes/1_2":             {Name: "a\r\nX-Admin: yes", Version: "1 2"},
		strings.Repeat("y", 64):           {Name: strings.Repeat("y", 1000)},
		"_/" + strings.Repeat("0.", 16):   {Name: "é", Version: strings.Repeat("0.", 100)},
		"coder-cli_x/1.0.0-beta+20261127": {Name: "coder-cli_x", Version: "1.0.0-beta+20261127"},
	} {
		if got := agentName(info); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
