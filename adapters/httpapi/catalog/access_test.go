package catalog_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	catalogapi "github.com/writ-automation/writ/adapters/httpapi/catalog"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

func pathOf(op *huma.Operation) string {
	path := strings.NewReplacer("{id}", "known", "{version}", "2").Replace(op.Path)
	switch op.OperationID {
	case "get-project-file":
		path += "?path=a"
	case "list-project-commits":
		path += "?from=a"
	}
	return path
}

// least returns the least role and the audit action of every route.
func least() map[string][2]string {
	return map[string][2]string{
		"create-project": {"operator", "project.create"}, "list-projects": {"viewer"}, "get-project": {"viewer"},
		"update-project": {"operator", "project.update"}, "delete-project": {"operator", "project.delete"},
		"list-project-files": {"viewer"}, "get-project-file": {"viewer"}, "list-project-commits": {"viewer"},
		"sync-project":     {"operator", "project.sync"},
		"create-inventory": {"operator", "inventory.create"}, "list-inventories": {"viewer"}, "get-inventory": {"viewer"},
		"update-inventory": {"operator", "inventory.update"}, "delete-inventory": {"operator", "inventory.delete"},
		"list-inventory-hosts": {"viewer"}, "resolve-inventory": {"viewer"},
		"list-inventory-versions": {"viewer"}, "get-inventory-version": {"viewer"},
		"compare-inventory-versions": {"viewer"},
		"create-inventory-source":    {"operator", "source.create"}, "list-inventory-sources": {"viewer"},
		"get-inventory-source":    {"viewer"},
		"update-inventory-source": {"operator", "source.update"}, "delete-inventory-source": {"operator", "source.delete"},
		"refresh-inventory-source": {"operator", "source.refresh"},
		"create-template":          {"operator", "template.create"}, "list-templates": {"viewer"}, "get-template": {"viewer"},
		"update-template": {"operator", "template.update"}, "delete-template": {"operator", "template.delete"},
		"launch-template": {"viewer", "run.submit"}, "compare-template": {"operator"},
		"compare-inventory-source": {"operator"},
	}
}

// TestEveryRouteByRole sends the example of every operation with every role.
func TestEveryRouteByRole(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.kind = catalog.PluginSource // the kind of the example
	table, seen := least(), 0
	for _, op := range f.Operations() {
		row, listed := table[op.OperationID]
		if got, _ := op.Extensions["x-audit"].(string); !listed || got != row[1] {
			t.Errorf("%s: listed %t, action %q, want %q", op.OperationID, listed, got, row[1])
		}
		seen++
		text := httpapitest.Example(t, op)
		for _, stranger := range []string{"", "nobody"} {
			f.Call(op.Method, pathOf(op), stranger, text).Problem(401, "bad_token")
		}
		for _, as := range []identity.Role{identity.Viewer, identity.Operator, identity.Admin} {
			a := f.Call(op.Method, pathOf(op), string(as), text)
			h := a.Header
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" ||
				h.Get("Content-Security-Policy") == "" {
				t.Errorf("%s as %s: %v", op.OperationID, as, h)
			}
			if as.Rank() >= identity.Role(row[0]).Rank() {
				if want := status(op); a.Status != want {
					t.Errorf("%s as %s: %d, want %d: %s", op.OperationID, as, a.Status, want, a.Body)
				}
				continue
			}
			before := len(f.Recorder.Entries())
			f.Call(op.Method, pathOf(op), string(as), `{"nope":1}`).Problem(403, "forbidden")
			want := []audit.Entry{}
			if row[1] != "" {
				want = append(want, audit.Entry{
					Action: audit.Action(row[1]), Outcome: audit.Denied,
					Detail: map[string]any{"reason": "forbidden", "operation": op.OperationID},
				})
			}
			if d := cmp.Diff(want, f.Recorder.Entries()[before:]); d != "" {
				t.Errorf("%s: %s", op.OperationID, d)
			}
		}
	}
	if seen != len(table) {
		t.Errorf("%d operations, %d rows", seen, len(table))
	}
}

func status(op *huma.Operation) int {
	verb, _, _ := strings.Cut(op.OperationID, "-")
	switch verb {
	case "create", "launch":
		return 201
	case "delete":
		return 204
	}
	return 200
}

func TestReadOnlyInstall(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config, _ *catalogapi.Params) { c.ReadOnly = true })
	for _, op := range f.Operations() {
		mutates := op.Method != http.MethodGet && op.OperationID != "resolve-inventory" &&
			!strings.HasPrefix(op.OperationID, "compare-")
		if op.Extensions["x-mutates"] != mutates {
			t.Errorf("%s: x-mutates %v", op.OperationID, op.Extensions["x-mutates"])
		}
		if mutates {
			f.Call(op.Method, pathOf(op), "admin", `{"nope":1}`).Problem(403, "read_only")
		} else if a := f.Call(op.Method, pathOf(op), "operator", httpapitest.Example(t, op)); a.Status != 200 {
			t.Errorf("%s: %d %s", op.OperationID, a.Status, a.Body)
		}
	}
}

// TestDocument checks the OpenAPI document for the parts that its readers need.
func TestDocument(t *testing.T) {
	t.Parallel()
	f := setup(t)
	text, _, err := f.Router.Document()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]struct {
					Type, Description string
					ReadOnly          bool
					Items             map[string]any
				}
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc.Components.Schemas
	survey := schemas["CatalogTemplateFields"].Properties["survey"]
	if survey.Type != "array" || survey.Items["$ref"] != "#/components/schemas/CatalogSurveyFieldBody" ||
		survey.Description == "" {
		t.Errorf("survey: %+v", survey)
	}
	if d := cmp.Diff([]string{"var", "type"}, schemas["CatalogSurveyFieldBody"].Required); d != "" {
		t.Errorf("survey field: %s", d)
	}
	if c := schemas["CatalogSourceFields"].Properties["config"]; c.Type != "object" || c.Description == "" {
		t.Errorf("config: %+v", c)
	}
	for name, required := range map[string][]string{
		"CatalogProjectFields": {"name", "repo_url"}, "CatalogTemplateFields": {"name"},
		"CatalogSourceFields":     {"name", "kind", "inventory_id"},
		"CatalogNewInventoryBody": {"content", "name"}, "CatalogChangedInventoryBody": {"name"}, "CatalogLaunchBody": nil,
	} {
		got := map[string]bool{}
		for _, r := range schemas[name].Required {
			if !schemas[name].Properties[r].ReadOnly { // read-only members are only required in responses
				got[r] = true
			}
		}
		want := map[string]bool{}
		for _, r := range required {
			want[r] = true
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s requires: %s", name, d)
		}
	}
	if _, ok := schemas["RunsRunBody"]; !ok {
		t.Error("a launch does not answer with the record of a run")
	}
}

// TestModuleWires builds the routes through fx.
func TestModuleWires(t *testing.T) {
	t.Parallel()
	p := params(&fakeModule{})
	var h http.Handler
	app := fx.New(
		fx.NopLogger, httpapi.Module, catalogapi.Module,
		fx.Supply(httpapi.Config{Version: "1"}, slog.New(slog.DiscardHandler)),
		fx.Provide(
			func() (identity.Authenticator, identity.Authorizer, ids.Generator) {
				return httpapitest.Guard{}, httpapitest.Guard{}, httpapitest.IDs{}
			},
			func() (tx.Unit, audit.Recorder, audit.Trail, clock.Clock) {
				return httpapitest.Unit{}, &httpapitest.Recorder{}, p.Trail, p.Clock
			},
			func() (catalog.Projects, catalog.ProjectCommits, catalog.Inventories, catalog.InventoryVersions, catalog.Sources,
				catalog.Templates, catalog.Launcher) {
				return p.Projects, p.Commits, p.Inventories, p.Versions, p.Sources, p.Templates, p.Launcher
			},
		),
		fx.Populate(&h),
	)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/projects", "/v1/inventories", "/v1/inventory-sources", "/v1/templates"} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		r.Header.Set("Authorization", "Bearer viewer")
		if h.ServeHTTP(rec, r); rec.Code != 200 {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
