package contract

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// right is the permission that an operation requires on the objects of the run that it uses or creates, besides the
// role.
type right int

const (
	noRight right = iota
	readRight
	useRight
	approver   // who may read it and is an admin, since no policy names a team
	teamMember // or an admin
	orgMember  // or an admin
)

// row describes one operation: the least role that may call it, a valid body and query, the status for a missing
// object, and, for the personas, the required right and the status for a persona that has it.
type row struct {
	least        identity.Role // empty: everybody
	worker       bool          // only the worker token
	query        string
	body         any
	media        string // of the body; empty means JSON
	status       int
	missing      string // the reason of a 404; empty means run_not_found
	right        right
	existing     int // status for an existing object, if it differs
	existingBody any // body for an existing object, if it differs
}

func (r row) header() []string {
	if r.media == "" {
		return nil
	}
	return []string{"Content-Type", r.media}
}

// rows has every operation by its id. A new operation needs a row.
func rows() map[string]row {
	all := map[string]row{
		"check-liveness": {status: 200}, "check-readiness": {status: 200}, "read-metrics": {status: 200},
		"read-openapi-json": {status: 200}, "read-openapi-yaml": {status: 200},
		"sign-in":       {status: 400, body: harness.Body{"username": "nobody"}},
		"check-token":   {status: 200, body: harness.Body{"token": "x"}},
		"exchange-code": {status: 404, body: harness.Body{"code": "x", "verifier": "y"}, missing: "sign_in_disabled"},
		"begin-oidc":    {status: 404}, "complete-oidc": {status: 404},
		"begin-saml": {status: 404}, "read-saml-metadata": {status: 404},
		"complete-saml": {status: 404, body: "SAMLResponse=x&RelayState=y", media: "application/x-www-form-urlencoded"},

		"read-me":          {least: identity.Viewer, status: 200},
		"change-password":  {least: identity.Viewer, body: harness.Body{"new": "a long enough secret"}, status: 200},
		"read-preferences": {least: identity.Viewer, status: 200},
		"save-preferences": {least: identity.Viewer, body: harness.Body{"theme": "dark"}, status: 200},
		"sign-out":         {least: identity.Viewer, status: 204},
		"mint-token":       {least: identity.Viewer, body: harness.Body{"name": "ci"}, status: 201},
		"list-workers":     {least: identity.Viewer, status: 200},
		"list-queues":      {least: identity.Viewer, status: 200},
		"get-queue":        {least: identity.Viewer, status: 404, missing: "queue_not_found"},
		"update-queue":     {least: identity.Admin, body: harness.Body{"max_concurrent": -1}, status: 400},

		"read-seal":             {status: 200},
		"verify-audit-chain":    {least: identity.Viewer, status: 200},
		"download-audit-bundle": {least: identity.Viewer, status: 200},
		"list-audit-entries":    {least: identity.Admin, status: 200},
		"read-change-register":  {least: identity.Admin, status: 403},

		"list-extensions":    {least: identity.Admin, status: 200},
		"list-dead-letters":  {least: identity.Admin, status: 200},
		"retry-dead-letter":  {least: identity.Admin, status: 404, missing: "dead_letter_not_found"},
		"delete-dead-letter": {least: identity.Admin, status: 404, missing: "dead_letter_not_found"},
	}
	maps.Copy(all, runRows())
	maps.Copy(all, accountRows())
	maps.Copy(all, catalogRows())
	maps.Copy(all, secretRows())
	maps.Copy(all, relayRows())
	maps.Copy(all, changeRows())
	maps.Copy(all, policyRows())
	maps.Copy(all, factRows())
	maps.Copy(all, fleetRows())
	maps.Copy(all, driftRows())
	maps.Copy(all, aiRows())
	return all
}

// fleetRows are the operations on hosts and tasks: every account reads what came of the runs that it may read.
func fleetRows() map[string]row {
	return map[string]row{
		"list-hosts": {least: identity.Viewer, status: 200}, "list-tasks": {least: identity.Viewer, status: 200},
		"get-host":       {least: identity.Viewer, status: 404, missing: "host_not_found"},
		"list-host-runs": {least: identity.Viewer, status: 404, missing: "host_not_found"},
	}
}

func runRows() map[string]row {
	script := bash("true")
	steps := func(queue string) harness.Body {
		return harness.Body{"steps": []harness.Body{{"name": "a", "tool": "bash", "command": "true", "queue": queue}}}
	}
	reads := func(query string) row {
		return row{least: identity.Viewer, query: query, status: 404, right: readRight, existing: 200}
	}
	controls := func(existing int) row {
		return row{least: identity.Operator, status: 404, right: useRight, existing: existing}
	}
	decides := row{least: identity.Viewer, body: harness.Body{"reason": "x"}, status: 404, right: approver,
		existing: 409}
	all := map[string]row{
		"list-runs":          {least: identity.Viewer, status: 200},
		"count-facets":       {least: identity.Viewer, query: "?q=tool:bash", status: 200},
		"get-run":            reads(""),
		"compare-runs":       reads("?with=prev"),
		"list-events":        reads(""),
		"list-failures":      reads(""),
		"list-run-hosts":     reads(""),
		"read-log":           reads(""),
		"find-in-log":        reads("?q=a"),
		"get-run-matrix":     reads(""),
		"get-run-plan":       {least: identity.Viewer, status: 404, right: readRight, existing: 404},
		"list-shards":        reads(""),
		"list-steps":         reads(""),
		"list-run-tasks":     reads(""),
		"explain-state":      reads(""),
		"get-run-receipt":    reads("?sparse"),
		"get-run-evidence":   reads("?format=json"),
		"follow-run":         reads(""),
		"mint-stream-ticket": reads(""),
		"mint-live-ticket":   {least: identity.Viewer, status: 200},
		"follow-live":        {least: identity.Viewer, status: 200},

		"list-run-notifications": reads(""),

		"submit-run": {least: identity.Operator, body: script, status: 201, right: useRight,
			existingBody: harness.Body{"tool": "bash", "command": "true", "queue": vault}},
		"submit-pipeline": {least: identity.Operator, body: steps("default"), status: 201, right: useRight,
			existingBody: steps(vault)},
		"cancel-run": controls(200), "retry-run": controls(409), "relaunch-failed": controls(409), "rerun-run": controls(201),
		"move-run": {least: identity.Operator, body: harness.Body{"queue": "default"}, status: 404, right: useRight,
			existing: 200},
		"approve-run": decides, "reject-run": decides,
		"preview-run": {least: identity.Operator, status: 404, right: approver, existing: 409}, // or who asked for it
	}
	prev := all["compare-runs"]
	prev.existing = 404 // the world's run has no earlier one
	all["compare-runs"] = prev
	return all
}

// accountRows are the operations on accounts, tokens, those of workers too, teams, organizations and grants. All are
// for admins except the names of teams and organizations.
func accountRows() map[string]row {
	const user, team, org = "user_not_found", "team_not_found", "org_not_found"
	admin := func(status int, missing string, body any) row {
		return row{least: identity.Admin, body: body, status: status, missing: missing}
	}
	stranger := harness.Body{"user_id": "usr_00000000000000000000000000"}
	return map[string]row{
		"list-users": admin(200, "", nil), "create-user": admin(400, "", harness.Body{"username": "", "role": "viewer"}),
		"get-user": admin(404, user, nil), "update-user": admin(404, user, harness.Body{"role": "viewer"}),
		"delete-user": admin(404, user, nil),
		"list-tokens": admin(200, "", nil), "get-token": admin(404, "token_not_found", nil),
		"revoke-token":       admin(404, "token_not_found", nil),
		"list-worker-tokens": admin(200, "", nil), "get-worker-token": admin(404, "worker_token_not_found", nil),
		"revoke-worker-token": admin(404, "worker_token_not_found", nil),
		"mint-worker-token":   admin(400, "", harness.Body{"name": "a/b"}),
		"list-grants":         admin(200, "", nil), "get-grant": admin(404, "grant_not_found", nil),
		"delete-grant": admin(404, "grant_not_found", nil),
		"create-grant": admin(404, user, harness.Body{"subject": "user:usr_00000000000000000000000000", "object": "queue:x",
			"level": "read"}),

		"list-teams":        {least: identity.Viewer, status: 200},
		"get-team":          {least: identity.Viewer, status: 404, missing: team, existing: 200},
		"list-team-members": {least: identity.Viewer, status: 404, missing: team, right: teamMember, existing: 200},
		"read-team-preferences": {
			least: identity.Viewer, status: 404, missing: team, right: teamMember, existing: 200,
		},
		"save-team-preferences": {
			least: identity.Viewer, body: harness.Body{"a": 1}, status: 404, missing: team, right: teamMember, existing: 200,
		},
		"create-team": admin(400, "", harness.Body{"name": ""}), "delete-team": admin(404, team, nil),
		"add-team-member":    {least: identity.Admin, body: stranger, status: 404, missing: "*"},
		"remove-team-member": {least: identity.Admin, status: 404, missing: "*"},

		"list-orgs":        {least: identity.Viewer, status: 200},
		"get-org":          {least: identity.Viewer, status: 404, missing: org, existing: 200},
		"list-org-members": {least: identity.Viewer, status: 404, missing: org, right: orgMember, existing: 200},
		"create-org":       admin(400, "", harness.Body{"name": ""}), "delete-org": admin(404, org, nil),
		"put-org-member": {least: identity.Admin,
			body: harness.Body{"user_id": "usr_00000000000000000000000000", "role": "member"}, status: 404, missing: "*"},
		"remove-org-member": {least: identity.Admin, status: 404, missing: "*"},
	}
}

// perServer is how many operations are called on one server, which refuses an account at most 60 changes in a minute.
const perServer = 80

// TestEveryOperationByRole calls every operation of the document as every caller, in the order of the checks: the
// caller is known, the role suffices, the request is valid, the object exists.
// Keeps T10.
func TestEveryOperationByRole(t *testing.T) {
	t.Parallel()
	withWorkers := harness.Options{Env: []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken}}
	s := harness.Start(t, withWorkers)
	by := tokens(t, s)
	ladder := []identity.Role{identity.Viewer, identity.Operator, identity.Admin}
	table := rows()
	for i, op := range operations(t, s.Client) {
		if i > 0 && i%perServer == 0 {
			s = harness.Start(t, withWorkers)
			by = tokens(t, s)
		}
		r, known := table[op.ID]
		if !known {
			t.Errorf("%s %s (%s) has no row in the table of roles", op.Method, op.Path, op.ID)
			continue
		}
		delete(table, op.ID)
		path := absent(op.Path)
		if (op.Access == "public") != (r.least == "" && !r.worker) || (op.Access == "worker") != r.worker {
			t.Errorf("%s: the document says %s", op.ID, op.Access)
		}
		if r.worker {
			byWorkers(t, s, op, r, by)
			continue
		}
		if r.least == "" {
			if a := s.As("").Do(op.Method, path, r.body, r.header()...); a.Status != r.status {
				t.Errorf("%s: %d %.200s", op.ID, a.Status, a.Body)
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
			if p := refused(t, as+" with an unknown parameter", c.Do(op.Method, bad, r.body),
				400); p.at() != "no_such_parameter" {
				t.Errorf("%s: the field at fault is %q", as, p.at())
			}
			if op.ID == "sign-out" { // it would revoke this token
				c = s.As(another(t, s, by[role]))
			}
			a := c.Do(op.Method, path+r.query, r.body)
			if a.Status != r.status {
				t.Errorf("%s: %d, want %d: %s", as, a.Status, r.status, a.Body)
			}
			if r.status == 404 && r.missing != "*" {
				if p := refused(t, as, a, 404); p.Reason != cmp.Or(r.missing, "run_not_found") {
					t.Errorf("%s: reason %q", as, p.Reason)
				}
			}
		}
	}
	for id := range table {
		t.Errorf("the table of roles has a row for %s, which does not exist", id)
	}
}

// TestAuthorizationHeader sends malformed and valid bearer tokens.
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
