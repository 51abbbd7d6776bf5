package identity_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	identityapi "github.com/writ-automation/writ/adapters/httpapi/identity"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

func pathOf(op *huma.Operation) string {
	return strings.NewReplacer("{id}", "known", "{userID}", userID).Replace(op.Path)
}

// least returns the least role for each operation, empty for everyone.
func least() map[string]string {
	return map[string]string{
		"sign-in": "", "check-token": "", "begin-oidc": "", "complete-oidc": "", "begin-saml": "", "complete-saml": "",
		"read-saml-metadata": "", "exchange-code": "",
		"read-me": "viewer", "read-preferences": "viewer", "save-preferences": "viewer",
		"read-team-preferences": "viewer", "save-team-preferences": "viewer",
		"change-password": "viewer", "sign-out": "viewer", "mint-token": "viewer",
		"list-teams": "viewer", "get-team": "viewer", "list-team-members": "viewer",
		"list-orgs": "viewer", "get-org": "viewer", "list-org-members": "viewer",
		"list-tokens": "admin", "get-token": "admin", "revoke-token": "admin",
		"create-user": "admin", "list-users": "admin", "get-user": "admin", "update-user": "admin", "delete-user": "admin",
		"create-team": "admin", "delete-team": "admin", "add-team-member": "admin", "remove-team-member": "admin",
		"create-org": "admin", "delete-org": "admin", "put-org-member": "admin", "remove-org-member": "admin",
		"create-grant": "admin", "list-grants": "admin", "get-grant": "admin", "delete-grant": "admin",
	}
}

func TestEveryRouteByRole(t *testing.T) {
	t.Parallel()
	f := setup(t)
	table, seen := least(), 0
	for _, op := range f.Operations() {
		role, listed := table[op.OperationID]
		if !listed {
			t.Errorf("%s is in no row of the table", op.OperationID)
		}
		seen++
		body, media := httpapitest.Example(t, op), httpapitest.Media(op)
		if role == "" {
			if a := f.Call(op.Method, pathOf(op), "", body, "Content-Type", media); a.Status == 403 || a.Status >= 500 {
				t.Errorf("%s: %d %s", op.OperationID, a.Status, a.Body)
			}
			continue
		}
		for _, stranger := range []string{"", "nobody"} {
			f.Call(op.Method, pathOf(op), stranger, body).Problem(401, "bad_token")
		}
		for _, as := range []identity.Role{identity.Viewer, identity.Operator, identity.Admin} {
			if as.Rank() < identity.Role(role).Rank() {
				f.Call(op.Method, pathOf(op), string(as), `{"nope":1}`).Problem(403, "forbidden")
			} else if a := f.Call(op.Method, pathOf(op), string(as), body); a.Status >= 300 {
				t.Errorf("%s as %s: %d %s", op.OperationID, as, a.Status, a.Body)
			}
		}
	}
	if seen != len(table) {
		t.Errorf("%d operations, %d rows", seen, len(table))
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.PublicURL = "https://writ.test" })
	for _, op := range f.Operations() {
		body, media := httpapitest.Example(t, op), httpapitest.Media(op)
		for _, token := range []string{"", "viewer", "admin"} {
			h := f.Call(op.Method, pathOf(op), token, body, "Content-Type", media, "Accept", "text/html").Header
			csp := h.Get("Content-Security-Policy")
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
				h.Get("X-Request-Id") == "" ||
				!strings.HasPrefix(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") ||
				strings.Contains(csp, "unsafe") ||
				h.Get("Strict-Transport-Security") == "" || h.Get("Cache-Control") != "no-store" ||
				h.Get("X-Frame-Options") != "DENY" {
				t.Errorf("%s as %q: %v", op.OperationID, token, h)
			}
		}
	}
}

func TestReadOnlyInstall(t *testing.T) {
	t.Parallel()
	f := setup(t, func(c *httpapi.Config, _ *identityapi.Params) { c.ReadOnly = true })
	still := map[string]bool{"sign-in": true, "sign-out": true, "check-token": true, "complete-saml": true,
		"exchange-code": true}
	for _, op := range f.Operations() {
		mutates := op.Method != http.MethodGet && !still[op.OperationID]
		if op.Extensions["x-mutates"] != mutates {
			t.Errorf("%s: x-mutates %v", op.OperationID, op.Extensions["x-mutates"])
		}
		if !mutates {
			continue
		}
		f.Call(op.Method, pathOf(op), "admin", `{"nope":1}`).Problem(403, "read_only")
		f.Call(op.Method, pathOf(op), "", "").Problem(401, "bad_token")
		if least()[op.OperationID] == "admin" {
			f.Call(op.Method, pathOf(op), "operator", "").Problem(403, "forbidden")
		}
	}
	f.Call("POST", "/v1/auth/login", "", `{"username":"alex","password":"`+good+`"}`).Is(200, sessionJSON)
	f.Call("POST", "/v1/auth/logout", "viewer", "").Is(204, "")
	f.Call("POST", "/v1/auth/check", "", `{"token":"x"}`).Is(200, `{"valid":false}`)
	f.acs("code=good", "Accept", "application/json").Is(200, sessionJSON)
	f.Call("GET", "/auth/oidc/login", "", "").Has("Location", "https://id.test/authorize?state=s")
}

// Keeps T26.
func TestFormsAreNoJSON(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, op := range f.Operations() {
		if op.Method == http.MethodGet || op.RequestBody == nil || op.OperationID == "complete-saml" {
			continue
		}
		body := httpapitest.Example(t, op)
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
			f.Call(op.Method, pathOf(op), "admin", body, "Content-Type", media).Problem(415, "unsupported_media_type")
		}
		if least()[op.OperationID] == "" {
			continue
		}
		f.Call(op.Method, pathOf(op), "", body, "Content-Type", "text/plain", "Cookie", cookie+"=admin", "Sec-Fetch-Site",
			"cross-site").
			Problem(403, "cross_origin")
	}
}

// TestModuleWires builds the routes through fx, with and without providers.
func TestModuleWires(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{true, false} {
		s := &fakeModule{}
		p := params(s, &federation{})
		var h http.Handler
		outside := fx.Options()
		if with {
			outside = fx.Provide(
				fx.Annotate(func() identity.Provider { return p.Providers.OIDC }, fx.ResultTags(`name:"oidc"`)),
				fx.Annotate(func() identity.Provider { return p.Providers.SAML }, fx.ResultTags(`name:"saml"`)),
				func() (identity.Federation, identity.SignInLimiter, identity.ProgramSignIn) {
					return p.Providers.Federation, p.Providers.Beginnings, p.Providers.Programs
				},
			)
		}
		app := fx.New(
			fx.NopLogger, httpapi.Module, identityapi.Module, outside,
			fx.Supply(httpapi.Config{Version: "1"}, slog.New(slog.DiscardHandler)),
			fx.Provide(
				func() (identity.Authenticator, identity.Authorizer, ids.Generator) {
					return httpapitest.Guard{}, httpapitest.Guard{}, httpapitest.IDs{}
				},
				func() (tx.Unit, audit.Recorder) { return httpapitest.Unit{}, &httpapitest.Recorder{} },
				func() (identity.SignIn, identity.Self, identity.Tokens, identity.Accounts) {
					return p.SignIn, p.Self, p.Tokens, p.Accounts
				},
				func() (identity.Teams, identity.Orgs, identity.Grants, identity.OwnPreferences, identity.TeamPreferences) {
					return p.Teams, p.Orgs, p.Grants, p.Preferences, p.Shared
				},
			),
			fx.Populate(&h),
		)
		if err := app.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{"/v1/users": 401,
			"/auth/saml/metadata": map[bool]int{true: 200, false: 404}[with]} {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			if rec.Code != want {
				t.Errorf("%s with providers %t: %d, want %d", path, with, rec.Code, want)
			}
		}
		if err := app.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestModuleWiresWhole: the start fails for a provider without one of the roles beside it.
func TestModuleWiresWhole(t *testing.T) {
	t.Parallel()
	p := params(&fakeModule{}, &federation{})
	for what, beside := range map[string]any{
		"no federation": func() (identity.SignInLimiter, identity.ProgramSignIn) {
			return p.Providers.Beginnings, p.Providers.Programs
		},
		"no beginnings": func() (identity.Federation, identity.ProgramSignIn) {
			return p.Providers.Federation, p.Providers.Programs
		},
		"no programs": func() (identity.Federation, identity.SignInLimiter) {
			return p.Providers.Federation, p.Providers.Beginnings
		},
	} {
		for _, name := range []string{`name:"oidc"`, `name:"saml"`} {
			var routes []httpapi.Routes
			app := fx.New(
				fx.NopLogger, identityapi.Module,
				fx.Provide(
					fx.Annotate(func() identity.Provider { return p.Providers.OIDC }, fx.ResultTags(name)), beside,
					func() (identity.SignIn, identity.Self, identity.Tokens, identity.Accounts) {
						return p.SignIn, p.Self, p.Tokens, p.Accounts
					},
					func() (identity.Teams, identity.Orgs, identity.Grants, identity.OwnPreferences, identity.TeamPreferences) {
						return p.Teams, p.Orgs, p.Grants, p.Preferences, p.Shared
					},
				),
				fx.Populate(fx.Annotate(&routes, fx.ParamTags(httpapi.Group))),
			)
			if err := app.Err(); err == nil || !strings.Contains(err.Error(),
				"a provider takes an identity.Federation, an identity.SignInLimiter and an identity.ProgramSignIn") {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
	}
}
