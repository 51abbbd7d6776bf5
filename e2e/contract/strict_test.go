package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// schema is a part of the API document that describes a value.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"` // a text, or a list with "null"
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Enum       []any             `json:"enum"`
	More       json.RawMessage   `json:"additionalProperties"`
}

// is reports whether values of the schema may have a type.
func (s schema) is(name string) bool {
	list, _ := s.Type.([]any)
	return s.Type == name || slices.Contains(list, any(name))
}

// bodies are the schemas of the JSON bodies of all operations.
func bodies(t *testing.T, c harness.Client) (byID map[string]schema, shared map[string]schema) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			ID   string `json:"operationId"`
			Body struct {
				Content map[string]struct{ Schema schema }
			} `json:"requestBody"`
		}
		Components struct{ Schemas map[string]schema }
	}
	c.As("").Do(http.MethodGet, "/openapi.json", nil).JSON(t, &doc)
	byID = map[string]schema{}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			if body, ok := op.Body.Content["application/json"]; ok {
				byID[op.ID] = body.Schema
			}
		}
	}
	return byID, doc.Components.Schemas
}

// filler makes a value of a schema in which every object and list has its members, and lists the objects.
type filler struct {
	shared map[string]schema
	closed map[string]map[string]any // objects by their place
	names  map[string]map[string]schema
	open   []string // places of objects whose members the document does not name
}

func (f *filler) fill(s schema, at string) any {
	if s.Ref != "" {
		s = f.shared[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.is("object"):
		out := map[string]any{}
		if string(s.More) != "false" {
			f.open = append(f.open, at)
			return out
		}
		f.closed[at], f.names[at] = out, s.Properties
		for name, p := range s.Properties {
			out[name] = f.fill(p, strings.TrimPrefix(at+"."+name, "."))
		}
		return out
	case s.is("array"):
		return []any{f.fill(*s.Items, at+"[0]")}
	case s.is("integer"), s.is("number"):
		return 1
	case s.is("boolean"):
		return true
	}
	return "x"
}

// owned are members that the server alone sets.
func owned() []string {
	return []string{"id", "uid", "revision", "created_at", "created_by", "updated_at", "status", "worker", "actor",
		"epoch", "seq",
		"source_id", "parent_id", "commit", "attempt", "lease_expires_at", "decision", "held_by", "audit_receipt",
		"last_run_id",
		"has_secret", "signing_secret", "Name", "__proto__", ""}
}

// taken are members of that sort which a body does take: those of a worker's report, and those that a PUT takes because
// GET returned them.
func taken(op operation, at, name string) bool {
	return op.Access == "worker" && slices.Contains([]string{"worker", "status", "commit", "seq"}, name) ||
		op.Method == http.MethodPut && at == "" && slices.Contains([]string{"id", "created_at", "created_by", "updated_at",
			"revision",
			"last_run_id", "has_secret", "commit"}, name)
}

// TestUnknownMembers puts unknown members, and members that only the server sets, into every object of every body of
// the document. Each is refused and named. The objects whose members a user chooses are listed here.
// Keeps T57.
func TestUnknownMembers(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken}})
	byID, shared := bodies(t, s.Client)
	open := map[string]bool{}
	for _, op := range operations(t, s.Client) {
		body, ok := byID[op.ID]
		if !ok || op.ID == "deliver-hook" || op.ID == "import-export" { // other products decide what is in these
			continue
		}
		f := filler{shared, map[string]map[string]any{}, map[string]map[string]schema{}, nil}
		value := f.fill(body, "")
		for _, at := range f.open {
			open[at[strings.LastIndexByte(at, '.')+1:]] = true
		}
		c := s.Client
		if op.Access == "worker" {
			c = s.As(harness.WorkerToken)
		}
		for at, object := range f.closed {
			for _, name := range owned() {
				if _, known := f.names[at][name]; known {
					if !taken(op, at, name) {
						t.Errorf("%s takes %s in %q", op.ID, name, at)
					}
					continue
				}
				object[name] = "x"
				a := c.Do(op.Method, absent(op.Path), value)
				delete(object, name)
				place := strings.TrimPrefix(at+"."+name, ".")
				if a.Status != http.StatusBadRequest || !located(a, place) {
					t.Errorf("%s with %s: %d %.300s", op.ID, place, a.Status, a.Body)
				}
			}
		}
	}
	want := []string{"", "answers", "config", "env", "extra_vars", "fields", "files", "labels", "outputs", "secret",
		"settings"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(open))); diff != "" {
		t.Errorf("the objects with members of any name (-listed +document):\n%s", diff)
	}
}

func located(a harness.Answer, place string) bool {
	var p problem
	return json.Unmarshal(a.Body, &p) == nil && slices.ContainsFunc(p.Errors, func(e struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	}) bool {
		return e.Location == place
	})
}

// TestUnknownMembersByKind does the same for objects whose members depend on a kind, a type or a survey.
// Keeps T57.
func TestUnknownMembersByKind(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--secret-env", "APP_*"}})
	kind := created(t, s.Client, "/v1/credential-types", harness.Body{"name": "custom",
		"fields": []harness.Body{{"name": "a", "type": "text"}}})
	inventory := created(t, s.Client, "/v1/inventories", harness.Body{"name": "i", "content": "[web]\na\n",
		"format": "ini"})
	template := created(t, s.Client, "/v1/templates", harness.Body{"name": "t", "tool": "bash", "command": "true",
		"queue":  "parked",
		"survey": []harness.Body{{"var": "size", "type": "text"}}})
	x := harness.Body{"uid": "x"}
	credential := func(more harness.Body) harness.Body { return merged(harness.Body{"name": "c"}, more) }
	source := func(kind string) harness.Body {
		return harness.Body{"name": "s", "kind": kind, "inventory_id": inventory, "config": x}
	}
	type attempt struct {
		path string
		body harness.Body
		at   string
	}
	all := []attempt{
		{"/v1/credentials", credential(harness.Body{"type_id": kind, "fields": x}), "fields.uid"},
		{"/v1/inventory-sources", source("http"), "config.uid"}, {"/v1/inventory-sources", source("script"), "config.uid"},
		{"/v1/inventory-sources", source("project"), "config.uid"},
		{"/v1/templates/" + template + "/launch", harness.Body{"answers": x}, "answers.uid"},
		{"/v1/templates/" + template + "/launch", harness.Body{"extra_vars": x}, "extra_vars"},
		{"/v1/schedules", harness.Body{"name": "s", "cron": "@daily", "template_id": template, "answers": x}, "answers.uid"},
	}
	for _, kind := range []string{"ssh_key", "ssh_password", "vault_password", "become_password", "become", "network",
		"token",
		"registry", "aws", "azure", "gcp", "vmware", "openstack"} {
		all = append(all, attempt{"/v1/credentials", credential(harness.Body{"kind": kind, "secret": x}), "secret.uid"},
			attempt{"/v1/credentials", credential(harness.Body{"kind": kind, "settings": x}), "settings.uid"})
	}
	for _, engine := range []string{"vault", "vault_dynamic", "aws_secretsmanager", "gcp_secretmanager", "azure_keyvault",
		"env", "file"} {
		all = append(all, attempt{"/v1/credentials", credential(harness.Body{"kind": "token",
			"source": harness.Body{"engine": engine, "config": x}}), "source.config.uid"})
	}
	for _, a := range all {
		what := fmt.Sprint(a.path, " ", a.body)
		if answer := s.Do(http.MethodPost, a.path, a.body); answer.Status != http.StatusBadRequest || !located(answer, a.at) {
			t.Errorf("%s: %d %.300s", what, answer.Status, answer.Body)
		}
	}
}

func merged(a, b harness.Body) harness.Body {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
