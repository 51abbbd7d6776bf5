package secrets_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	secretsapi "github.com/writ-automation/writ/adapters/httpapi/secrets"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

func pathOf(op *huma.Operation) string { return strings.ReplaceAll(op.Path, "{id}", "known") }

// least returns the least role of each operation and its audit action.
func least() map[string][2]string {
	return map[string][2]string{
		"create-credential": {"operator", "credential.create"}, "list-credentials": {"viewer"}, "get-credential": {"viewer"},
		"update-credential": {"operator", "credential.update"}, "delete-credential": {"operator", "credential.delete"},
		"create-credential-type": {"admin", "credtype.create"}, "list-credential-types": {"admin"},
		"get-credential-type":    {"admin"},
		"update-credential-type": {"admin", "credtype.update"}, "delete-credential-type": {"admin", "credtype.delete"},
	}
}

func status(op *huma.Operation) int {
	switch op.Method {
	case http.MethodPost:
		return 201
	case http.MethodDelete:
		return 204
	default:
		return 200
	}
}

// TestEveryRouteByRole sends the example of every operation with every role.
func TestEveryRouteByRole(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.kind = secrets.Registry // as in the example
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
			before := len(f.Recorder.Entries())
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
			a.Problem(403, "forbidden")
			// The right is checked before the body is read.
			f.Call(op.Method, pathOf(op), string(as), `{"nope":1}`).Problem(403, "forbidden")
			if row[1] == "" {
				continue
			}
			want := audit.Entry{
				Action: audit.Action(row[1]), Outcome: audit.Denied,
				Detail: map[string]any{"reason": "forbidden", "operation": op.OperationID},
			}
			got := f.Recorder.Entries()[before:]
			if len(got) == 0 || cmp.Diff(want, got[0]) != "" {
				t.Errorf("%s: %+v", op.OperationID, got)
			}
		}
	}
	if seen != len(table) {
		t.Errorf("%d operations, %d rows", seen, len(table))
	}
}

func TestReadOnlyInstall(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config) { c.ReadOnly = true })
	for _, op := range f.Operations() {
		mutates := op.Method != http.MethodGet
		if op.Extensions["x-mutates"] != mutates {
			t.Errorf("%s: x-mutates %v", op.OperationID, op.Extensions["x-mutates"])
		}
		if mutates {
			f.Call(op.Method, pathOf(op), "admin", `{"nope":1}`).Problem(403, "read_only")
		} else if a := f.Call(op.Method, pathOf(op), "admin", ""); a.Status != 200 {
			t.Errorf("%s: %d %s", op.OperationID, a.Status, a.Body)
		}
	}
}

// TestDocument checks the parts of the OpenAPI document that its readers need, and that no answer can contain a
// secret.
func TestDocument(t *testing.T) {
	t.Parallel()
	f := setup(t)
	text, _, err := f.Router.Document()
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Required   []string
		Properties map[string]struct {
			Type, Description string
			Enum              []string
		}
	}
	var doc struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc.Components.Schemas
	kinds := []string{}
	for _, k := range append(secrets.Kinds(), secrets.Custom) {
		kinds = append(kinds, string(k))
	}
	if d := cmp.Diff(kinds, schemas["SecretsCredentialInputBody"].Properties["kind"].Enum); d != "" {
		t.Errorf("kinds: %s", d)
	}
	if p := schemas["SecretsCredentialInputBody"].Properties["secret"]; p.Type != "object" || p.Description == "" {
		t.Errorf("secret: %+v", p)
	}
	for _, name := range []string{"SecretsCredentialBody", "SecretsSavedCredentialBody"} {
		s, ok := schemas[name]
		if _, visible := s.Properties["secret"]; !ok || visible || s.Properties["has_secret"].Type != "boolean" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for name, required := range map[string][]string{
		"SecretsCredentialInputBody": {"name"}, "SecretsTypeFields": {"fields", "name"}, "SecretsFieldBody": {"name", "type"},
	} {
		if got := slices.Sorted(slices.Values(schemas[name].Required)); !slices.Equal(got, required) {
			t.Errorf("%s requires %v", name, got)
		}
	}
}

// TestModuleWires builds the routes through fx.
func TestModuleWires(t *testing.T) {
	t.Parallel()
	p := params(&fakeModule{})
	var h http.Handler
	app := fx.New(
		fx.NopLogger, httpapi.Module, secretsapi.Module,
		fx.Supply(httpapi.Config{Version: "1"}, slog.New(slog.DiscardHandler)),
		fx.Provide(
			func() (identity.Authenticator, identity.Authorizer, ids.Generator) {
				return httpapitest.Guard{}, httpapitest.Guard{}, httpapitest.IDs{}
			},
			func() (tx.Unit, audit.Recorder, clock.Clock) {
				return httpapitest.Unit{}, &httpapitest.Recorder{}, wall{}
			},
			func() (secrets.Credentials, secrets.Types) { return p.Credentials, p.Types },
		),
		fx.Populate(&h),
	)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/credentials", "/v1/credential-types"} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		r.Header.Set("Authorization", "Bearer admin")
		if h.ServeHTTP(rec, r); rec.Code != 200 {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
