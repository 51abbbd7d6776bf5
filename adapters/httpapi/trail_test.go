package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// makes is a route that records an entry and then answers with end.
func makes(f *fixture, id, path string, end http.HandlerFunc, change ...func(*httpapi.Route)) httpapi.Routes {
	return httpapi.Routes{Name: id, Register: func(r *httpapi.Router) {
		route := httpapi.Route{
			Method: "POST", Path: path, ID: id, Tag: "system", Summary: "s", Description: "d",
			Access: httpapi.Needs("run", "submit"), Status: 200, Example: "x",
			Errors: []int{404}, Action: audit.UserUpdate,
		}
		for _, c := range change {
			c(&route)
		}
		r.Raw(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			err := httpapitest.Unit{}.Do(r.Context(), func(ctx context.Context) error {
				return errors.Join(f.chain.Record(ctx, audit.Entry{Action: audit.UserUpdate}),
					f.chain.Record(ctx, audit.Entry{Action: audit.UserPassword}))
			})
			if err != nil {
				httpapi.WriteError(w, r, err)
				return
			}
			end(w, r)
		}))
	}}
}

func TestReceiptOnEverySuccess(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9]+:ab[0-9a-f]{62}$`)
	for name, c := range map[string]struct {
		status int
		end    http.HandlerFunc
	}{
		"200":     {200, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }},
		"nothing": {200, func(http.ResponseWriter, *http.Request) {}},
		"201":     {201, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }},
		"204":     {204, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }},
		"303":     {303, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(303) }},
		"early": {200, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(200)
		}},
		"stream": {200, func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, "x")
		}},
		"404": {404, func(w http.ResponseWriter, r *http.Request) { httpapi.WriteError(w, r, runs.RunNotFound.New("no")) }},
		"403": {403, func(w http.ResponseWriter, r *http.Request) { httpapi.WriteError(w, r, httpapi.ReadOnly.New("no")) }},
		"500": {500, func(http.ResponseWriter, *http.Request) { panic("x") }},
	} {
		var f fixture
		f.chain = &chain{}
		g := setup(t, func(p *httpapi.Params) { p.Routes = append(p.Routes, makes(&f, "make-it", "/it", c.end)) })
		a := g.call("POST", "/it", "operator", "")
		got := a.header.Values("Audit-Receipt")
		switch {
		case a.status != c.status:
			t.Errorf("%s: %d %s", name, a.status, a.body)
		case c.status < 400 && (len(got) != 1 || !form.MatchString(got[0]) || !strings.HasPrefix(got[0], "1:")):
			t.Errorf("%s: receipt %q", name, got)
		case c.status >= 400 && len(got) > 0:
			t.Errorf("%s has a receipt: %q", name, got)
		}
	}
	if got := setup(t).call("GET", "/healthz", "", "").header.Values("Audit-Receipt"); len(got) > 0 {
		t.Errorf("a reading has a receipt: %q", got)
	}
}

// TestWhoActsByWhat: the context of an entry names the actor and the request.
func TestWhoActsByWhat(t *testing.T) {
	t.Parallel()
	var f fixture
	f.chain = &chain{}
	done := func(http.ResponseWriter, *http.Request) {}
	g := setup(t, func(p *httpapi.Params) {
		p.Routes = append(p.Routes, makes(&f, "make-it", "/it/{id}", done),
			makes(&f, "fire-hook", "/hooks/{token}", done, func(r *httpapi.Route) {
				r.SecretPath, r.Access = true, httpapi.Public()
			}))
	})
	g.call("POST", "/it/a%2Fb?q=s3cret", "operator", "", "X-Request-Id", "req-1", "User-Agent", "curl/8")
	g.call("POST", "/hooks/s3cret", "", "", "X-Request-Id", "req-2", "User-Agent", "git")
	got := f.chain.all()
	if len(got) != 4 {
		t.Fatalf("%d entries", len(got))
	}
	if d := cmp.Diff(actor.Request{ID: "req-1", Method: "POST", Path: "/it/a/b", Agent: "curl/8"},
		got[0].Request); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(actor.Actor{Type: actor.User, ID: "usr_operator", Name: "operator", IP: "127.0.0.1",
		Token: "tok_operator"}, got[0].Actor); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(actor.Request{ID: "req-2", Method: "POST", Path: "/hooks/{token}", Agent: "git"},
		got[2].Request); d != "" {
		t.Error(d)
	}
	if got[2].Actor.Type != actor.Anonymous {
		t.Errorf("%+v", got[2].Actor)
	}
}

func denied(action audit.Action, object audit.Object, reason, operation string) []audit.Entry {
	return []audit.Entry{{Action: action, Object: object, Outcome: audit.Denied,
		Detail: map[string]any{"reason": reason, "operation": operation}}}
}

func (c *chain) bare() []audit.Entry {
	var out []audit.Entry
	for _, r := range c.all() {
		out = append(out, r.Entry)
	}
	return out
}

// TestRefusalsAreRecordedOnce: every 403 of a change for a known caller has one entry, whatever its cause.
func TestRefusalsAreRecordedOnce(t *testing.T) {
	t.Parallel()
	object := audit.Object{Kind: "run", ID: knownRun}
	limited := fault.Code{Name: "distinct_approver", Kind: fault.Forbidden}
	for name, c := range map[string]struct {
		token, path, reason string
		header              []string
		change              func(*httpapi.Params)
		err                 error
		want                []audit.Entry
	}{
		"role": {token: "viewer", path: knownRun, reason: "forbidden",
			want: denied(audit.RunApprove, object, "forbidden", "approve-run")},
		"other id": {token: "viewer", path: "run_X", reason: "forbidden",
			want: denied(audit.RunApprove, audit.Object{}, "forbidden", "approve-run")},
		"a path": {
			token: "viewer", path: "..%2Fjoe%40example.org", reason: "forbidden",
			want: denied(audit.RunApprove, audit.Object{}, "forbidden", "approve-run"),
		},
		"other kind": {
			token: "viewer", path: "usr_01k0a8bq3vtx5zk9w2m4n6p8rs", reason: "forbidden",
			want: denied(audit.RunApprove, audit.Object{Kind: "user", ID: "usr_01k0a8bq3vtx5zk9w2m4n6p8rs"}, "forbidden",
				"approve-run"),
		},
		"policy": {
			token: "admin", path: knownRun, reason: "distinct_approver", err: limited.New("not by who asked"),
			want: denied(audit.RunApprove, object, "distinct_approver", "approve-run"),
		},
		"licence": {
			token: "admin", path: knownRun, reason: "license_required", err: &fault.Error{Kind: fault.Unlicensed, Message: "no"},
			want: denied(audit.RunApprove, object, "license_required", "approve-run"),
		},
		"read-only": {
			token: "admin", path: knownRun, reason: "read_only", change: func(p *httpapi.Params) { p.Config.ReadOnly = true },
			want: denied(audit.RunApprove, object, "read_only", "approve-run"),
		},
		"another page": {
			path: knownRun, reason: "cross_origin",
			header: []string{"Cookie", "writ_session=admin", "Sec-Fetch-Site", "cross-site"},
			want:   denied(audit.RunApprove, object, "cross_origin", "approve-run"),
		},
	} {
		change := []func(*httpapi.Params){}
		if c.change != nil {
			change = append(change, c.change)
		}
		f := setup(t, change...)
		f.fake.err = c.err
		a := f.call("POST", "/v1/runs/"+c.path+"/approve", c.token, "", c.header...)
		if p := a.problem(t, 403); p.Reason != c.reason || len(a.header.Values("Audit-Receipt")) > 0 {
			t.Errorf("%s: %+v %v", name, p, a.header)
		}
		if d := cmp.Diff(c.want, f.chain.bare()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if got := f.chain.all()[0]; got.Actor.Type != actor.User || got.Actor.ID == "" || got.Actor.IP == "" ||
			got.Request.Method != "POST" || got.Request.ID == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhatIsNoRefusalOfAChange(t *testing.T) {
	t.Parallel()
	f := setup(t)
	path := "/v1/runs/" + knownRun
	f.call("POST", path+"/approve", "", "").problem(t, 401)
	f.call("POST", path+"/approve", "nobody", "").problem(t, 401)
	f.call("GET", "/v1/audit", "viewer", "").problem(t, 403)
	f.call("HEAD", "/v1/audit", "viewer", "")
	f.call("POST", path+"/approve", "admin", `{"nope":1}`).problem(t, 400)
	f.call("POST", "/v1/runs/x/approve", "admin", "").problem(t, 404)
	f.fake.err = httpapi.ReadOnly.New("no")
	f.call("GET", path, "viewer", "").problem(t, 403)
	f.call("POST", path+"/stream-ticket", "viewer", "").problem(t, 403)
	if got := f.chain.all(); len(got) > 0 {
		t.Errorf("recorded: %+v", got)
	}
}

// TestUnrecordedRefusal: a refusal that cannot be recorded is answered with 503.
func TestUnrecordedRefusal(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.chain.fail(errors.New("SQL text that must stay hidden"))
	for _, token := range []string{"viewer", "admin"} {
		f.fake.err = httpapi.ReadOnly.New("no")
		a := f.call("POST", "/v1/runs/"+knownRun+"/approve", token, "")
		if p := a.problem(t, 503); p.Reason != audit.Unrecorded.Name || strings.Contains(string(a.body), "SQL") ||
			a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %+v", token, p)
		}
	}
	if log := f.log.String(); !strings.Contains(log, "SQL text") || !strings.Contains(log, audit.Unrecorded.Name) {
		t.Errorf("log: %s", log)
	}
}

// TestRefusalsInALoop: a caller with too many refusals gets 429, and its refusals are no longer recorded.
func TestRefusalsInALoop(t *testing.T) {
	t.Parallel()
	f := setup(t)
	path := "/v1/runs/" + knownRun + "/approve"
	for range 60 {
		f.call("POST", path, "viewer", "").problem(t, 403)
	}
	for range 40 {
		a := f.call("POST", path, "viewer", "")
		if p := a.problem(t, 429); p.Reason != "too_many_refusals" || a.header.Get("Retry-After") == "" {
			t.Fatalf("%+v %v", p, a.header)
		}
	}
	f.fake.err = httpapi.ReadOnly.New("no")
	f.call("POST", path, "admin", "").problem(t, 403)
	if got := f.chain.all(); len(got) != 61 {
		t.Errorf("%d entries", len(got))
	}
	f.fake.err = nil
	if a := f.call("POST", path, "admin", ""); a.status != 200 {
		t.Errorf("what is allowed is %d", a.status)
	}
}

// TestRecordedRefusalsInALoop: refusals that a module records count like those that this adapter records, together.
func TestRecordedRefusalsInALoop(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.refuse = func(ctx context.Context) error {
		refusal := fault.Code{Name: "policy_denied", Kind: fault.Forbidden}.New("no")
		refusal.Recorded = true
		return audit.Refuse(ctx, httpapitest.Unit{}, f.chain, audit.Entry{Action: audit.RunSubmit}, refusal)
	}
	submit := func() answer { return f.call("POST", "/v1/runs", "admin", `{"tool":"bash","command":"true"}`) }
	for range 59 {
		if p := submit().problem(t, 403); p.Reason != "policy_denied" {
			t.Fatalf("%+v", p)
		}
	}
	f.fake.err = httpapi.ReadOnly.New("no")
	f.call("POST", "/v1/runs/"+knownRun+"/approve", "admin", "").problem(t, 403)
	for range 40 {
		if a := submit(); a.problem(t, 429).Reason != "too_many_refusals" || a.header.Get("Retry-After") == "" {
			t.Fatalf("%v", a.header)
		}
	}
	if got := f.chain.all(); len(got) != 60 {
		t.Errorf("%d entries", len(got))
	}
}

// TestRefusalOfWhoHungUp: hanging up at once does not keep a refusal out of the trail.
func TestRefusalOfWhoHungUp(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, "POST", "/v1/runs/"+knownRun+"/approve", nil)
	req.Header.Set("Authorization", "Bearer viewer")
	rec := httptest.NewRecorder()
	f.srv.Config.Handler.ServeHTTP(rec, req)
	if got := f.chain.all(); rec.Code != 403 || len(got) != 1 || got[0].Ended {
		t.Errorf("%d %+v", rec.Code, got)
	}
}

func TestAuditReceiptOfARun(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const want = "41:0100000000000000000000000000000000000000000000000000000000000000"
	path := "/v1/runs/" + knownRun
	for _, c := range [][2]string{
		{"GET", path}, {"POST", path + "/cancel"}, {"POST", path + "/approve"}, {"POST", path + "/reject"},
		{"POST", path + "/rerun"},
		{"POST", path + "/retry"}, {"POST", path + "/relaunch-failed"},
	} {
		a := f.call(c[0], c[1], "admin", "")
		if m := a.json(t, a.status); a.status >= 300 || m["audit_receipt"] != want {
			t.Errorf("%s: %d %v", c[1], a.status, m["audit_receipt"])
		}
	}
	if m := f.call("POST", "/v1/runs", "admin", `{"tool":"bash","command":"true"}`).
		json(t, 201); m["audit_receipt"] != want {
		t.Errorf("submit: %v", m["audit_receipt"])
	}
	for _, p := range []string{"/v1/runs", path + "/shards", path + "/compare?with=prev"} {
		if a := f.call("GET", p, "admin", ""); strings.Contains(string(a.body), "audit_receipt") {
			t.Errorf("%s: %s", p, a.body)
		}
	}
	f.fake.parent = "run_01k0a7zz3vtx5zk9w2m4n6p8rs"
	if m := f.call("GET", path, "admin", "").json(t, 200); m["audit_receipt"] != nil {
		t.Errorf("of a parent without one: %v", m["audit_receipt"])
	}
	if last := f.chain.asked[len(f.chain.asked)-1]; last != f.fake.parent {
		t.Errorf("asked for %s", last)
	}
	f.fake.parent, f.chain.lost = "", fault.Wrap(fault.Unavailable, io.ErrUnexpectedEOF, "the store does not answer")
	f.call("GET", path, "admin", "").problem(t, 503)
	// The change stays.
	if m := f.call("POST", path+"/cancel", "admin", "").json(t, 200); m["audit_receipt"] != nil {
		t.Errorf("%v", m["audit_receipt"])
	}
}
