package mcp

import (
	"context"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The numbers of rows of a list.
const (
	defaultRows = 20
	maxRows     = 100
)

// tools lists all tools. Agents read the list in every conversation, so it is short.
func tools() []func(*sdk.Server, Config) {
	return []func(*sdk.Server, Config){
		read("whoami", "Show the account and the scopes with which this agent acts.",
			func(struct{}) (string, error) { return "/v1/auth/me", nil }),
		read("list_runs", "List runs, newest first.", listRuns),
		read("get_run", "Get the record of a run.",
			func(in runInput) (string, error) { return path("/v1/runs", in.Run, "") }),
		read("explain_run", "Say why a run waits, is held, failed to start or ended as it did.",
			func(in runInput) (string, error) { return path("/v1/runs", in.Run, "/why") }),
		read("list_run_failures", "List what failed in a run: tasks and messages, alike ones folded, with their hosts.",
			func(in runInput) (string, error) { return path("/v1/runs", in.Run, "/failures") }),
		add(reading("read_run_log", "Read a part of the output of a run: its end, or lines from a number on."), readLog),
		read("find_in_run_log", "Find lines in the output of a run.", findInLog),
		read("list_hosts", "List hosts with the results of their recent runs, those that fail most first.", listHosts),
		read("get_host", "Get a host: its recent runs, flips and failures.",
			func(in hostInput) (string, error) { return path("/v1/hosts", in.Host, "") }),
		read("get_host_facts", "Get the newest facts of a host, such as its system and its disks.",
			func(in hostInput) (string, error) { return path("/v1/hosts", in.Host, "/facts") }),
		read("list_drift", "List what differs on hosts from what playbooks say, as dry runs found it.", listDrift),
		read("list_templates", "List templates, which are what can be launched.", listTemplates),
		read("get_template", "Get a template: what it runs, the questions of its survey, and what a launch may override.",
			func(in templateInput) (string, error) { return path("/v1/templates", in.Template, "") }),
		add(launchTool(), launch),
	}
}

// reading describes a tool that changes nothing.
func reading(name, description string) sdk.Tool {
	return sdk.Tool{
		Name: name, Description: description,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
	}
}

// read is a tool that answers with the document at a path of the API.
func read[In any](name, description string, path func(In) (string, error)) func(*sdk.Server, Config) {
	return add(reading(name, description), func(ctx context.Context, api API, in In) (any, error) {
		p, err := path(in)
		if err != nil {
			return nil, err
		}
		return document(ctx, api, Call{Method: http.MethodGet, Path: p})
	})
}

type runInput struct {
	Run string `json:"run" jsonschema:"id of the run"`
}

type hostInput struct {
	Host string `json:"host" jsonschema:"name of the host"`
}

type templateInput struct {
	Template string `json:"template" jsonschema:"id of the template"`
}

type rowsInput struct {
	Limit  int `json:"limit,omitempty" jsonschema:"number of rows: 20 unless given, at most 100"`
	Offset int `json:"offset,omitempty" jsonschema:"number of rows to skip"`
}

func (in rowsInput) query() query {
	return query{}.count("limit", in.Limit, defaultRows, maxRows).count("offset", in.Offset, 0, 1<<30)
}

type runsInput struct {
	Query  string `json:"query,omitempty" jsonschema:"words, and terms such as status:failed, template:NAME, host:NAME, label:k=v"`
	After  string `json:"after,omitempty" jsonschema:"created at or after this time, RFC 3339"`
	Before string `json:"before,omitempty" jsonschema:"created before this time, RFC 3339"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of rows: 20 unless given, at most 100"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

func listRuns(in runsInput) (string, error) {
	return query{}.text("q", in.Query).text("after", in.After).text("before", in.Before).text("cursor", in.Cursor).
		count("limit", in.Limit, defaultRows, maxRows).after("/v1/runs"), nil
}

type hostsInput struct {
	Query  string `json:"query,omitempty" jsonschema:"a part of the name"`
	Window int    `json:"window,omitempty" jsonschema:"number of newest runs of each host that count: 10 unless given"`
	rowsInput
}

func listHosts(in hostsInput) (string, error) {
	return in.query().text("q", in.Query).count("window", in.Window, 0, 100).after("/v1/fleet"), nil
}

type driftInput struct {
	Host string `json:"host,omitempty" jsonschema:"only this host"`
	rowsInput
}

func listDrift(in driftInput) (string, error) {
	return in.query().text("host", in.Host).after("/v1/drift"), nil
}

type templatesInput struct {
	Name string `json:"name,omitempty" jsonschema:"only the template with exactly this name"`
	rowsInput
}

func listTemplates(in templatesInput) (string, error) {
	return in.query().text("name", in.Name).after("/v1/templates"), nil
}
