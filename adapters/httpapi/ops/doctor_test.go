package ops_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/casbin"
	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/ops"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/system"
)

// accounts has tokens that are named like roles, and no grants.
type accounts struct{}

func (accounts) Authenticate(_ context.Context, token string) (identity.Principal, error) {
	if r := identity.Role(token); r.Valid() {
		return identity.Principal{User: identity.User{ID: "usr_" + token, Role: r}, TokenID: "tok_" + token}, nil
	}
	return identity.Principal{}, identity.BadToken.New("the token is unknown")
}

func (a accounts) Account(ctx context.Context, id, _ string) (identity.Principal, error) {
	return a.Authenticate(ctx, strings.TrimPrefix(id, "usr_"))
}

func (accounts) LoadRights(context.Context) (identity.Rights, error) { return identity.Rights{}, nil }
func (accounts) ForgetChanges(context.Context, int) error            { return nil }
func (accounts) RightsSince(context.Context, int64) (identity.Rights, bool, error) {
	return identity.Rights{}, true, nil
}

type plain struct{}

func (plain) New(p ids.Prefix) string { return string(p) + strings.Repeat("0", 26) }

type doctor struct {
	report system.Report
	err    error
	asked  int
}

func (d *doctor) Examine(context.Context) (system.Report, error) {
	d.asked++
	return d.report, d.err
}

// ask requests an examination under the real access rules.
func ask(t *testing.T, d *doctor, method, token string) (int, string) {
	t.Helper()
	routes, err := ops.New(ops.Params{Doctor: d, Metrics: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	decides, err := casbin.New(casbin.Config{}, accounts{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := httpapi.New(httpapi.Params{
		Authenticator: accounts{}, Authorizer: decides, Log: slog.New(slog.DiscardHandler), IDs: plain{},
		Routes: []httpapi.Routes{routes},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Router.Close()
	req := httptest.NewRequestWithContext(t.Context(), method, "/v1/doctor", http.NoBody)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	res.Handler.ServeHTTP(w, req)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		report system.Report
		want   string
	}{
		{system.Report{OK: true}, `{"ok":true,"findings":[],"checked":{}}`},
		{system.Report{
			Findings: []system.Finding{
				{
					Severity: system.Error, Check: "catalog_references",
					Object:  system.Subject{Kind: "template", ID: "tpl_1", Name: "Deploy"},
					Problem: "it names nothing", Fix: "let it name something", Link: "/v1/templates/tpl_1",
				},
				{Severity: system.Warning, Check: "clock", Problem: "it is <late>", Fix: "set it"},
			},
			Checked: map[string]int{"clock": 1, "catalog_references": 42},
		}, `{"ok":false,"findings":[` +
			`{"severity":"error","check":"catalog_references","object":{"kind":"template","id":"tpl_1","name":"Deploy"},` +
			`"problem":"it names nothing","fix":"let it name something","link":"/v1/templates/tpl_1"},` +
			`{"severity":"warning","check":"clock","object":{"kind":"","id":"","name":""},"problem":"it is <late>","fix":"set it","link":""}],` +
			`"checked":{"catalog_references":42,"clock":1}}`},
	} {
		d := &doctor{report: test.report}
		code, body := ask(t, d, http.MethodGet, "admin")
		if diff := cmp.Diff(test.want+"\n", body); code != http.StatusOK || diff != "" {
			t.Errorf("%d %s", code, diff)
		}
	}
}

func TestDoctorIsForAdmins(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]int{"": 401, "nobody": 401, "viewer": 403, "operator": 403} {
		d := &doctor{report: system.Report{OK: true}}
		if code, body := ask(t, d, http.MethodGet, token); code != want || d.asked != 0 ||
			!strings.Contains(body, `"reason":`) {
			t.Errorf("%q: %d %s, asked %d times", token, code, body, d.asked)
		}
	}
	if code, _ := ask(t, &doctor{}, http.MethodPost, "admin"); code != http.StatusMethodNotAllowed {
		t.Errorf("a POST is %d", code)
	}
}

func TestDoctorThatCannotExamine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want int
	}{
		{&fault.Error{Kind: fault.Unavailable, Message: "the server ends"}, http.StatusServiceUnavailable},
		{errors.New("hidden"), http.StatusInternalServerError},
	} {
		if code, body := ask(t, &doctor{err: test.err}, http.MethodGet, "admin"); code != test.want ||
			strings.Contains(body, "hidden") {
			t.Errorf("%d %s", code, body)
		}
	}
}
