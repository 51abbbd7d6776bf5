package scheduling_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	schedulingapi "github.com/writ-automation/writ/adapters/httpapi/scheduling"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/tx"
)

func pathOf(op *huma.Operation) string {
	path := strings.NewReplacer("{id}", "known", "{token}", "known").Replace(op.Path)
	if op.OperationID == "preview-schedule" {
		path += "?cron=@daily"
	}
	return path
}

// table returns the least role of each operation, empty for everyone, and its audit action.
func table() map[string]struct {
	role   identity.Role
	action audit.Action
} {
	return map[string]struct {
		role   identity.Role
		action audit.Action
	}{
		"create-schedule": {"operator", audit.ScheduleCreate}, "list-schedules": {"viewer", ""},
		"preview-schedule": {"viewer", ""},
		"get-schedule":     {"viewer", ""}, "update-schedule": {"operator", audit.ScheduleUpdate},
		"delete-schedule":  {"operator", audit.ScheduleDelete},
		"compare-schedule": {"operator", ""},
		"create-trigger":   {"operator", audit.TriggerCreate}, "list-triggers": {"viewer", ""}, "get-trigger": {"viewer", ""},
		"update-trigger": {"operator", audit.TriggerUpdate}, "delete-trigger": {"operator", audit.TriggerDelete},
		"list-trigger-deliveries": {"viewer", ""},
		"rotate-trigger-secret":   {"operator", audit.TriggerRotate}, "deliver-hook": {"", audit.RunSubmit},
	}
}

func TestEveryRouteByRole(t *testing.T) {
	t.Parallel()
	f := setup(t)
	seen := 0
	for _, op := range f.Operations() {
		row, listed := table()[op.OperationID]
		if !listed {
			t.Errorf("%s is in no row of the table", op.OperationID)
		}
		seen++
		if got, _ := op.Extensions["x-audit"].(string); got != string(row.action) ||
			op.Extensions["x-mutates"] != (row.action != "") {
			t.Errorf("%s: %q, mutates %v", op.OperationID, got, op.Extensions["x-mutates"])
		}
		body := httpapitest.Example(t, op)
		if row.role == "" {
			if a := f.Call(op.Method, pathOf(op), "", body); a.Status >= 300 {
				t.Errorf("%s: %d %s", op.OperationID, a.Status, a.Body)
			}
			continue
		}
		f.Call(op.Method, pathOf(op), "nobody", body).Problem(401, "bad_token")
		for _, as := range []identity.Role{identity.Viewer, identity.Operator, identity.Admin} {
			if as.Rank() < row.role.Rank() {
				f.Call(op.Method, pathOf(op), string(as), `{"nope":1}`).Problem(403, "forbidden")
			} else if a := f.Call(op.Method, pathOf(op), string(as), body); a.Status >= 300 {
				t.Errorf("%s as %s: %d %s", op.OperationID, as, a.Status, a.Body)
			}
		}
	}
	if seen != len(table()) {
		t.Errorf("%d operations, %d rows", seen, len(table()))
	}
}

// TestRefusalsAreRecorded: each refused change of an authenticated caller has an entry, and nothing else has.
func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, op := range f.Operations() {
		row := table()[op.OperationID]
		if row.role == "" {
			continue
		}
		before := len(f.Recorder.Entries())
		f.Call(op.Method, pathOf(op), "", `{}`).Problem(401, "bad_token")
		f.Call(op.Method, pathOf(op), "viewer", `{"nope":1}`)
		want := []audit.Entry{}
		if row.action != "" {
			want = append(want, audit.Entry{
				Action: row.action, Outcome: audit.Denied,
				Detail: map[string]any{"reason": "forbidden", "operation": op.OperationID},
			})
		}
		if d := cmp.Diff(want, f.Recorder.Entries()[before:]); d != "" {
			t.Errorf("%s: %s", op.OperationID, d)
		}
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config) { c.PublicURL = "https://writ.test" })
	for _, op := range f.Operations() {
		for _, token := range []string{"", "admin"} {
			h := f.Call(op.Method, pathOf(op), token, httpapitest.Example(t, op)).Header
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
				h.Get("X-Request-Id") == "" ||
				!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") ||
				h.Get("Strict-Transport-Security") == "" ||
				h.Get("Cache-Control") != "no-store" || h.Get("X-Frame-Options") != "DENY" {
				t.Errorf("%s as %q: %v", op.OperationID, token, h)
			}
		}
	}
}

func TestReadOnlyInstall(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config) { c.ReadOnly = true })
	for _, op := range f.Operations() {
		if table()[op.OperationID].action == "" {
			f.Call(op.Method, pathOf(op), "viewer", "")
			continue
		}
		f.Call(op.Method, pathOf(op), "admin", httpapitest.Example(t, op)).Problem(403, "read_only")
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for reason, err := range map[string]error{
		"internal":    http.ErrBodyNotAllowed,
		"unavailable": fault.Wrap(fault.Unavailable, http.ErrServerClosed, "try again"),
		"not_found":   scheduling.ScheduleNotFound.New("gone"),
	} {
		f.fake.answer(err)
		for _, op := range f.Operations() {
			a := f.Call(op.Method, pathOf(op), "admin", httpapitest.Example(t, op))
			if want := map[string]int{"internal": 500, "unavailable": 503, "not_found": 404}[reason]; a.Status != want {
				t.Errorf("%s: %d, want %d: %s", op.OperationID, a.Status, want, a.Body)
			}
		}
	}
}

// TestParametersAreDescribed: the document lists the path parameters, also of untyped routes.
func TestParametersAreDescribed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, op := range f.Operations() {
		for _, name := range []string{"id", "token"} {
			has := false
			for _, p := range op.Parameters {
				has = has || p.In == "path" && p.Name == name && p.Required
			}
			if has != strings.Contains(op.Path, "{"+name+"}") {
				t.Errorf("%s: %s described: %t", op.OperationID, name, has)
			}
		}
		if op.OperationID == "deliver-hook" && (len(op.RequestBody.Content) != 2 || op.RequestBody.Content[form] == nil ||
			len(op.Security) > 0) {
			t.Errorf("the hook takes %v", op.RequestBody.Content)
		}
	}
}

// TestModuleWires builds the routes through fx.
func TestModuleWires(t *testing.T) {
	t.Parallel()
	p := params(newFakeModule())
	var h http.Handler
	app := fx.New(
		fx.NopLogger, httpapi.Module, schedulingapi.Module,
		fx.Supply(httpapi.Config{Version: "1"}, slog.New(slog.DiscardHandler)),
		fx.Provide(
			func() (identity.Authenticator, identity.Authorizer, ids.Generator) {
				return httpapitest.Guard{}, httpapitest.Guard{}, httpapitest.IDs{}
			},
			func() (tx.Unit, audit.Recorder) { return httpapitest.Unit{}, &httpapitest.Recorder{} },
			func() (scheduling.Schedules, scheduling.Planner, scheduling.Triggers, scheduling.Hooks) {
				return p.Schedules, p.Planner, p.Triggers, p.Hooks
			},
		),
		fx.Populate(&h),
	)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/v1/schedules": 401, "/v1/triggers": 401, "/hooks/x": 405} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if rec.Code != want {
			t.Errorf("%s: %d, want %d", path, rec.Code, want)
		}
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
