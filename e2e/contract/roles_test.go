package contract

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// row is one operation: the least role that may call it, a request of it that its body and query pass, and the status
// of that for a run that does not exist.
type row struct {
	least  identity.Role // empty: everybody
	query  string
	body   any
	status int
}

// rows has every operation by its id. A new operation needs a row.
func rows() map[string]row {
	script := bash("true")
	steps := harness.Body{"steps": []harness.Body{{"name": "a", "tool": "bash", "command": "true"}}}
	return map[string]row{
		"check-liveness": {status: 200}, "check-readiness": {status: 200}, "read-metrics": {status: 200},
		"read-openapi-json": {status: 200}, "read-openapi-yaml": {status: 200},

		"list-runs":          {least: identity.Viewer, status: 200},
		"get-run":            {least: identity.Viewer, status: 404},
		"compare-runs":       {least: identity.Viewer, query: "?with=prev", status: 404},
		"list-events":        {least: identity.Viewer, status: 404},
		"list-failures":      {least: identity.Viewer, status: 404},
		"list-run-hosts":     {least: identity.Viewer, status: 404},
		"read-log":           {least: identity.Viewer, status: 404},
		"find-in-log":        {least: identity.Viewer, query: "?q=a", status: 404},
		"get-run-matrix":     {least: identity.Viewer, status: 404},
		"list-shards":        {least: identity.Viewer, status: 404},
		"list-steps":         {least: identity.Viewer, status: 404},
		"list-run-tasks":     {least: identity.Viewer, status: 404},
		"explain-state":      {least: identity.Viewer, status: 404},
		"follow-run":         {least: identity.Viewer, status: 404},
		"mint-stream-ticket": {least: identity.Viewer, status: 404},

		"submit-run":      {least: identity.Operator, body: script, status: 201},
		"submit-pipeline": {least: identity.Operator, body: steps, status: 201},
		"cancel-run":      {least: identity.Operator, status: 404},
		"retry-run":       {least: identity.Operator, status: 404},
		"relaunch-failed": {least: identity.Operator, status: 404},
		"rerun-run":       {least: identity.Operator, status: 404},

		"approve-run": {least: identity.Admin, body: harness.Body{"reason": "x"}, status: 404},
		"reject-run":  {least: identity.Admin, body: harness.Body{"reason": "x"}, status: 404},
	}
}

// TestEveryOperationByRole calls every operation of the document as everybody, in the order of the checks: who is
// calling, whether the role suffices, whether the request makes sense, whether the object exists.
func TestEveryOperationByRole(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	by := tokens(t, s)
	ladder := []identity.Role{identity.Viewer, identity.Operator, identity.Admin}
	table := rows()
	for _, op := range operations(t, s.Client) {
		r, known := table[op.ID]
		if !known {
			t.Errorf("%s %s (%s) has no row in the table of roles", op.Method, op.Path, op.ID)
			continue
		}
		delete(table, op.ID)
		path := strings.ReplaceAll(op.Path, "{id}", nobody)
		if (op.Access == "public") != (r.least == "") {
			t.Errorf("%s: the document says %s", op.ID, op.Access)
		}
		if r.least == "" {
			if a := s.As("").Do(op.Method, path, nil); a.Status != r.status {
				t.Errorf("%s: %d", op.ID, a.Status)
			}
			continue
		}
		bad := path + "?no_such_parameter=1"
		refused(t, op.ID+" by nobody", s.As("").Do(op.Method, bad, `{"x":`), 401)
		refused(t, op.ID+" with a wrong token", s.As(s.Token[:len(s.Token)-1]+"!").Do(op.Method, bad, nil), 401)
		for i, role := range ladder {
			c, as := s.As(by[role]), op.ID+" as "+string(role)
			if i < slices.Index(ladder, r.least) {
				if p := refused(t, as, c.Do(op.Method, bad, `{"x":`), 403); p.Reason != "forbidden" {
					t.Errorf("%s: reason %q", as, p.Reason)
				}
				continue
			}
			if p := refused(t, as+" with an unknown parameter", c.Do(op.Method, bad, r.body), 400); p.at() != "no_such_parameter" {
				t.Errorf("%s: the field at fault is %q", as, p.at())
			}
			a := c.Do(op.Method, path+r.query, r.body)
			if a.Status != r.status {
				t.Errorf("%s: %d, want %d: %s", as, a.Status, r.status, a.Body)
			}
			if r.status == 404 {
				if p := refused(t, as, a, 404); p.Reason != "run_not_found" {
					t.Errorf("%s: reason %q", as, p.Reason)
				}
			}
		}
	}
	for id := range table {
		t.Errorf("the table of roles has a row for %s, which does not exist", id)
	}
}

// TestAuthorizationHeader sends what is no bearer token, and one that is.
func TestAuthorizationHeader(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for _, h := range []string{"Basic YTpi", "Bearer", "Bearer ", s.Token, "Bearer " + s.Token + " x", "Bearer writ_x_y"} {
		refused(t, h, s.As("").Do(http.MethodGet, "/v1/runs", nil, "Authorization", h), 401)
	}
	if a := s.As("").Do(http.MethodGet, "/v1/runs", nil, "Authorization", "bearer "+s.Token); a.Status != 200 {
		t.Errorf("the scheme in small letters: %d", a.Status)
	}
	if a := s.As("").Do(http.MethodGet, "/v1/runs?ticket="+s.Token, nil); a.Status != 401 {
		t.Errorf("a token in the query: %d", a.Status)
	}
}
