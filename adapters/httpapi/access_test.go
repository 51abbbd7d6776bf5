package httpapi_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
)

// operations lists "METHOD path access" of everything in the document.
func operations(f *fixture) []*huma.Operation {
	var out []*huma.Operation
	f.router.Operations(func(op *huma.Operation) { out = append(out, op) })
	return out
}

func TestEveryRouteByRole(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.events = nil
	seen := 0
	for _, op := range operations(f) {
		access, _ := op.Extensions["x-access"].(string)
		if access == "" {
			t.Errorf("%s has no declaration", op.OperationID)
		}
		if op.OperationID == "follow-run" {
			continue // TestStream
		}
		seen++
		path := strings.ReplaceAll(op.Path, "{id}", knownRun)
		for i, role := range []string{"", "nobody", "viewer", "operator", "admin"} {
			a := f.call(op.Method, path, role, "")
			switch {
			case access == "public":
				if a.status >= 300 {
					t.Errorf("%s %s as %q: %d", op.Method, op.Path, role, a.status)
				}
			case i < 2:
				a.problem(t, 401)
				if a.header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s: no challenge", op.Path)
				}
			case i-1 < least(access):
				if p := a.problem(t, 403); p.Reason != "forbidden" {
					t.Errorf("%s %s as %s: %+v", op.Method, op.Path, role, p)
				}
			case a.status == 401 || a.status == 403 || a.status >= 500:
				t.Errorf("%s %s as %s: %d %s", op.Method, op.Path, role, a.status, a.body)
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d operations", seen)
	}
}

func TestCheckOrder(t *testing.T) {
	t.Parallel()
	f := setup(t)
	bad := `{"nope":1}`
	f.call("POST", "/v1/runs?x=1", "", bad).problem(t, 401)
	f.call("POST", "/v1/runs?x=1", "viewer", bad).problem(t, 403)
	f.call("POST", "/v1/runs?x=1", "operator", bad).problem(t, 400)
	f.call("POST", "/v1/runs/run_other/approve", "operator", bad).problem(t, 403)
	f.call("POST", "/v1/runs/run_other/approve", "admin", bad).problem(t, 400)
	f.call("POST", "/v1/runs/run_other/approve", "admin", "").problem(t, 404)
	f.call("GET", "/v1/runs", "", "", "Authorization", "Basic YTpi").problem(t, 401)
	if a := f.call("GET", "/v1/runs", "broken", ""); strings.Contains(string(a.body), "SQL") ||
		a.problem(t, 500).RequestID == "" {
		t.Errorf("%s", a.body)
	}
}

// TestWorkerTokenIsNoAccounts: the token of the relay is valid for no other operation.
func TestWorkerTokenIsNoAccounts(t *testing.T) {
	t.Parallel()
	const token = "w0rkerT0ken"
	f := setup(t, func(p *httpapi.Params) { p.Config.WorkerToken = token })
	for _, op := range operations(f) {
		if op.Extensions["x-access"] == "public" {
			continue
		}
		path := strings.ReplaceAll(op.Path, "{id}", knownRun)
		for _, a := range []answer{f.call(op.Method, path, token, ""),
			f.call(op.Method, path, "", "", "Cookie", "writ_session="+token)} {
			if p := a.problem(t, 401); p.Reason != "bad_token" {
				t.Errorf("%s: %+v", op.OperationID, p)
			}
		}
	}
	if strings.Contains(f.log.String(), token) {
		t.Error("the worker token is in the log")
	}
}

func TestParametersWithTwoValues(t *testing.T) {
	t.Parallel()
	f := setup(t)
	if p := f.call("GET", "/v1/runs?limit=1&limit=2", "viewer", "").problem(t, 400); len(p.Errors) != 1 ||
		p.Errors[0].Location != "limit" {
		t.Errorf("%+v", p)
	}
	if a := f.call("GET", "/v1/runs?status=failed&status=pending", "viewer", ""); a.status != 200 {
		t.Errorf("a list's two values: %d %s", a.status, a.body)
	}
}

func TestHeadersOnEveryAnswer(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) { p.Config.PublicURL = "https://writ.test" })
	paths := []string{"/", "/ui", "/docs", "/docs/init.js", "/docs/nope", "/nothing",
		"/v1/runs/x/cancel", "/v1//runs"}
	for _, op := range operations(f) {
		if op.Method == http.MethodGet && op.OperationID != "follow-run" {
			paths = append(paths, strings.ReplaceAll(op.Path, "{id}", knownRun))
		}
	}
	for _, path := range paths {
		for _, token := range []string{"", "admin"} {
			a := f.call("GET", path, token, "")
			h := a.header
			csp := h.Get("Content-Security-Policy")
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
				h.Get("X-Request-Id") == "" ||
				!strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") ||
				h.Get("Strict-Transport-Security") == "" {
				t.Errorf("%s: %v", path, h)
			}
		}
	}
	if plain := setup(t).call("GET", "/healthz", "", ""); plain.header.Get("Strict-Transport-Security") != "" {
		t.Error("HSTS without TLS")
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	f := setup(t)
	if got := f.call("GET", "/healthz", "", "", "X-Request-Id", "abc 1").header.Get("X-Request-Id"); got != "abc 1" {
		t.Errorf("id %q", got)
	}
	if got := f.call("GET", "/healthz", "", "", "X-Request-Id", strings.Repeat("x", 129)).
		header.Get("X-Request-Id"); !strings.HasPrefix(got, "req_") {
		t.Errorf("id %q", got)
	}
	if got := f.call("GET", "/healthz", "", "", "X-Request-Id", "caf\xe9").
		header.Get("X-Request-Id"); !strings.HasPrefix(got, "req_") {
		t.Errorf("id %q", got)
	}
	f.call("GET", "/v1/runs/"+knownRun+"?secretparam=s3cr3t", "admin", "", "Cookie", "c00kie=1")
	log := f.log.String()
	for _, secret := range []string{"s3cr3t", "Bearer", "c00kie"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	const request = `"level":"DEBUG","msg":"request","request_id":"abc 1","method":"GET","route":"/healthz","status":200,`
	if strings.Count(log, request) != 1 || !strings.Contains(log, `"route":"/v1/runs/{id}"`) {
		t.Errorf("log: %s", log)
	}
	f.seen.mu.Lock()
	defer f.seen.mu.Unlock()
	if len(f.seen.seen) != 4 || f.seen.seen[3] != (observed{"/v1/runs/{id}", "GET", 400}) {
		t.Errorf("observed %v", f.seen.seen)
	}
}

func TestUnknownPathAndMethod(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.call("GET", "/v1/nothing", "", "").problem(t, 404)
	a := f.call("DELETE", "/v1/runs", "admin", "")
	if a.problem(t, 405); a.header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("Allow %q", a.header.Get("Allow"))
	}
	if a := f.call("HEAD", "/v1/runs/"+knownRun, "viewer", ""); a.status != 200 || len(a.body) > 0 {
		t.Errorf("HEAD: %d", a.status)
	}
	if a := f.call("GET", "/", "", ""); a.status != 302 || a.header.Get("Location") != "/ui/" {
		t.Errorf("root: %d %v", a.status, a.header)
	}
}

func TestOpenMode(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) { p.Config.Open = true })
	f.call("GET", "/v1/runs", "", "").json(t, 200)
	f.call("POST", "/v1/runs", "", `{"tool":"bash"}`).json(t, 201)
	for _, host := range []string{"localhost:8080", "127.0.0.1", "127.9.9.9:1", "[::1]:80", "LOCALHOST"} {
		f.call("GET", "/v1/runs", "", "", "Host", host).json(t, 200)
	}
	for _, host := range []string{"evil.test", "127.0.0.1.evil.test", "10.0.0.1:8080", "localhost.evil.test"} {
		if p := f.call("GET", "/v1/runs", "", "", "Host", host).problem(t, 403); p.Reason != "host_not_allowed" {
			t.Errorf("%s: %+v", host, p)
		}
	}
	for _, h := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.test"}, {"Origin", "null"}} {
		if p := f.call("POST", "/v1/runs", "", `{"tool":"bash"}`, h[0], h[1]).problem(t, 403); p.Reason != "cross_origin" {
			t.Errorf("%v: %+v", h, p)
		}
	}
	f.call("POST", "/v1/runs", "", `{"tool":"bash"}`, "Sec-Fetch-Site", "same-origin").json(t, 201)
}

// TestOpenModeBehindAProxy: a proxy that replaces the Host header would open the install to all clients of the proxy.
func TestOpenModeBehindAProxy(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) { p.Config.Open = true })
	g := setup(t, func(p *httpapi.Params) {
		p.Config.Open, p.Config.TrustedProxies = true, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	for _, h := range [][2]string{
		{"X-Forwarded-For", "203.0.113.9"}, {"X-Forwarded-For", "127.0.0.1"}, {"X-Forwarded-For", ""},
		{"X-Forwarded-Host", "writ.test"},
		{"X-Forwarded-Proto", "https"}, {"Forwarded", "for=203.0.113.9"}, {"x-forwarded-for", "203.0.113.9"},
	} {
		for _, path := range []string{"/v1/runs", "/healthz", "/v1/nothing"} {
			if p := f.call("GET", path, "", "", h[0], h[1]).problem(t, 403); p.Reason != "host_not_allowed" {
				t.Errorf("%s, %v: %+v", path, h, p)
			}
		}
		g.call("GET", "/v1/runs", "", "", h[0], h[1]).json(t, 200)
	}
	f.call("GET", "/v1/runs", "", "", "User-Agent", "curl/8", "Accept", "*/*").json(t, 200)
}

func TestForwardedAddress(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.call("GET", "/v1/runs/"+knownRun, "viewer", "", "X-Forwarded-For", "6.6.6.6")
	if f.fake.actor.IP != "127.0.0.1" {
		t.Errorf("a stranger names its own address: %s", f.fake.actor.IP)
	}
	g := setup(t, func(p *httpapi.Params) {
		p.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	})
	g.call("GET", "/v1/runs/"+knownRun, "viewer", "", "X-Forwarded-For", "6.6.6.6, 203.0.113.9, 10.1.1.1")
	if g.fake.actor.IP != "203.0.113.9" {
		t.Errorf("address %s", g.fake.actor.IP)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	boom := httpapi.Routes{Name: "boom", Register: func(r *httpapi.Router) {
		r.Raw(httpapi.Route{
			Method: "GET", Path: "/boom", ID: "make-boom", Tag: "system", Summary: "s", Description: "d",
			Access: httpapi.Public(), Status: 200, Example: "x",
			Errors: []int{500},
		}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the inside") }))
	}}
	f := setup(t, func(p *httpapi.Params) { p.Routes = append(p.Routes, boom) })
	a := f.call("GET", "/boom", "", "")
	p := a.problem(t, 500)
	if p.RequestID == "" || p.RequestID != a.header.Get("X-Request-Id") || strings.Contains(string(a.body), "inside") {
		t.Errorf("%s", a.body)
	}
	if log := f.log.String(); !strings.Contains(log, "the inside") || !strings.Contains(log, "access_test.go") {
		t.Errorf("no stack in %s", log)
	}
}

func TestIncompleteRoutesStopTheStart(t *testing.T) {
	t.Parallel()
	whole := httpapi.Route{
		Method: "GET", Path: "/x", ID: "read-x", Tag: "system", Summary: "s", Description: "d", Access: httpapi.Public(),
		Status: 200, Example: "x", Errors: []int{404},
	}
	for what, spoil := range map[string]func(*httpapi.Route){
		"path": func(r *httpapi.Route) { r.Path = "" }, "operation id": func(r *httpapi.Route) { r.ID = "Read" },
		"summary": func(r *httpapi.Route) { r.Summary = "" }, "description": func(r *httpapi.Route) {
			r.Description = ""
		}, "tag": func(r *httpapi.Route) { r.Tag = "" },
		"who may call": func(r *httpapi.Route) { r.Access = httpapi.Access{} }, "status": func(r *httpapi.Route) {
			r.Status = 0
		},
		"audit action":                    func(r *httpapi.Route) { r.Method = "POST" },
		"audit action that is registered": func(r *httpapi.Route) { r.Method, r.Action = "POST", "run.explode" },
		"change":                          func(r *httpapi.Route) { r.Action = audit.RunCancel },
		"change that its audit action": func(r *httpapi.Route) {
			r.Method, r.Action, r.Harmless = "POST", audit.RunCancel, true
		},
		"trail to record its refusals": func(r *httpapi.Route) { r.Method, r.Action = "POST", audit.RunCancel },
		"error codes":                  func(r *httpapi.Route) { r.Errors = nil }, "example": func(r *httpapi.Route) {
			r.Example = nil
		},
	} {
		route := whole
		spoil(&route)
		_, err := httpapi.New(httpapi.Params{Routes: []httpapi.Routes{{Name: "x", Register: func(r *httpapi.Router) {
			r.Raw(route, http.NotFoundHandler())
		}}}})
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, spoil := range map[string]func(*httpapi.Route){
		"by anybody": func(r *httpapi.Route) { r.Access = httpapi.Public() }, "by a role": func(r *httpapi.Route) {
			r.Access = httpapi.Needs("run", "read")
		},
		"that reads": func(r *httpapi.Route) { r.Method = "GET" }, "that is harmless": func(r *httpapi.Route) {
			r.Harmless = true
		},
		"of a session": func(r *httpapi.Route) { r.Session = true }, "with an action": func(r *httpapi.Route) {
			r.Action = audit.RunCancel
		},
		"": func(*httpapi.Route) {},
	} {
		route := whole
		route.Method, route.Access, route.Report = "POST", httpapi.Worker(), true
		spoil(&route)
		_, err := httpapi.New(httpapi.Params{Routes: []httpapi.Routes{{Name: "x", Register: func(r *httpapi.Router) {
			r.Raw(route, http.NotFoundHandler())
		}}}})
		if (err == nil) != (what == "") || err != nil && !strings.Contains(err.Error(), "worker whose report it could be") {
			t.Errorf("a report %s: %v", what, err)
		}
	}
	_, err := httpapi.New(httpapi.Params{Routes: []httpapi.Routes{{Name: "x", Register: func(r *httpapi.Router) {
		r.Raw(whole, http.NotFoundHandler())
		again := whole
		again.Path = "/y"
		r.Raw(again, http.NotFoundHandler())
	}}}})
	if err == nil {
		t.Error("an operation id was taken twice")
	}
	for _, bad := range []httpapi.Config{{PublicURL: "ftp://x"}, {WorkerToken: "t0ken\n"}, {WorkerToken: " "}} {
		if _, err := httpapi.New(httpapi.Params{Config: bad}); err == nil || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

var _ ids.Generator = (*counter)(nil)
