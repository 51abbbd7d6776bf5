package httpapi_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
)

const (
	plainName  = "writ_session"
	secureName = "__Host-writ_session"
)

// jarRoutes set and drop cookies, and return the presented token.
func jarRoutes() httpapi.Routes {
	return httpapi.Routes{Name: "jar", Register: func(r *httpapi.Router) {
		route := func(path, id string, h func(ctx context.Context, w http.ResponseWriter, r *http.Request)) {
			for _, method := range []string{"GET", "POST"} {
				r.Raw(httpapi.Route{
					Method: method, Path: path, ID: strings.ToLower(method) + "-" + id, Tag: "system", Summary: "s", Description: "d",
					Access: httpapi.Public(),
					Status: 200, Example: "x", Errors: []int{500}, Harmless: true,
				}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(r.Context(), w, r) }))
			}
		}
		route("/set", "set", func(ctx context.Context, w http.ResponseWriter, _ *http.Request) {
			if httpapi.CookiesAllowed(ctx) {
				w.Header().Add("Set-Cookie", httpapi.SessionCookie(ctx, "secret", time.Date(2036, 1, 5, 8, 30, 0, 0, time.UTC)))
				w.Header().Add("Set-Cookie", httpapi.ShortCookie(ctx, "writ_signin", "b", 600))
			} else if httpapi.SessionCookie(ctx, "secret", time.Time{})+httpapi.ShortCookie(ctx, "writ_signin", "b", 600) != "" {
				panic("a cookie where none may be")
			}
		})
		route("/drop", "drop", func(ctx context.Context, w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Set-Cookie", httpapi.DropSession(ctx))
		})
		route("/cross", "cross", func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
			line := httpapi.CrossSiteCookie(ctx, "writ_cross", "c", 600)
			if httpapi.MayCrossSites(ctx) != (line != "") {
				panic("a cookie where none may be")
			}
			w.Header().Add("Set-Cookie", line)
			_, _ = w.Write([]byte(httpapi.CookieValue(r, "writ_cross")))
		})
		route("/caller", "caller", func(ctx context.Context, w http.ResponseWriter, req *http.Request) {
			p, err := r.Caller(ctx)
			if err != nil {
				httpapi.WriteError(w, req, err)
				return
			}
			_, _ = w.Write([]byte(p.User.Username))
		})
		route("/presented", "presented", func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
			token, err := httpapi.Presented(ctx)
			if err != nil {
				httpapi.WriteError(w, r, err)
				return
			}
			_, _ = w.Write([]byte(token + "|" + httpapi.CookieValue(r, "writ_signin")))
		})
	}}
}

// serve sends a request of any connection straight to the handler.
func (f *fixture) serve(method, path, remote string, secure bool, header ...string) answer {
	f.t.Helper()
	req := httptest.NewRequestWithContext(f.t.Context(), method, path, nil)
	req.RemoteAddr = remote
	req.Host = "writ.test"
	if secure {
		req.TLS = &tls.ConnectionState{}
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	f.srv.Config.Handler.ServeHTTP(rec, req)
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

const (
	far  = "203.0.113.9:4711"
	near = "127.0.0.1:4711"
)

// TestCookiesByConnection sets cookies over every kind of connection and then presents them.
// Keeps T26.
func TestCookiesByConnection(t *testing.T) {
	t.Parallel()
	proxied := func(c *httpapi.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }
	local := func(c *httpapi.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
	for what, c := range map[string]struct {
		config func(*httpapi.Config)
		remote string
		tls    bool
		header []string
		name   string // empty: none
	}{
		"tls": {remote: far, tls: true, name: secureName},
		"public address": {config: func(c *httpapi.Config) {
			c.PublicURL = "https://writ.test"
		}, remote: far, name: secureName},
		"insecure yet tls": {config: func(c *httpapi.Config) { c.InsecureCookies = true }, remote: far, tls: true,
			name: secureName},
		"loopback":                    {remote: near, header: []string{"Host", "localhost:8080"}, name: plainName},
		"loopback v6":                 {remote: "[::1]:9", header: []string{"Host", "[::1]:8080"}, name: plainName},
		"plain":                       {remote: far},
		"plain public address":        {config: func(c *httpapi.Config) { c.PublicURL = "http://writ.test" }, remote: far},
		"plain, loopback host forged": {remote: far, header: []string{"Host", "localhost"}},
		"plain, behind a local proxy": {remote: near, header: []string{"Host", "writ.test"}},
		"loopback, forwarded": {remote: near,
			header: []string{"Host", "127.0.0.1:8080", "X-Forwarded-For", "203.0.113.9"}},
		"loopback, forwarded host": {remote: near,
			header: []string{"Host", "127.0.0.1:8080", "X-Forwarded-Host", "writ.test"}},
		"loopback, forwarded proto": {remote: near, header: []string{"Host", "127.0.0.1:8080", "X-Forwarded-Proto", "https"}},
		"loopback, forwarded, new":  {remote: near, header: []string{"Host", "127.0.0.1:8080", "Forwarded", "for=127.0.0.1"}},
		"loopback, empty header":    {remote: near, header: []string{"Host", "127.0.0.1:8080", "X-Forwarded-For", ""}},
		"loopback, trusted, local": {
			config: local, remote: near, header: []string{"Host", "127.0.0.1:8080", "X-Forwarded-For", "127.0.0.1"},
			name: plainName,
		},
		"loopback, trusted, far": {config: local, remote: near,
			header: []string{"Host", "127.0.0.1:8080", "X-Forwarded-For", "203.0.113.9"}},
		"insecure, forwarded": {
			config: func(c *httpapi.Config) { c.InsecureCookies = true }, remote: near,
			header: []string{"X-Forwarded-For", "203.0.113.9"}, name: plainName,
		},
		"insecure":     {config: func(c *httpapi.Config) { c.InsecureCookies = true }, remote: far, name: plainName},
		"forged proto": {remote: far, header: []string{"X-Forwarded-Proto", "https"}},
		"forged host and address": {
			config: proxied, remote: far, header: []string{"X-Forwarded-For", "127.0.0.1", "X-Forwarded-Host", "localhost",
				"Forwarded", "proto=https"},
		},
		"trusted proto": {config: proxied, remote: "10.1.1.1:1", header: []string{"X-Forwarded-Proto", "https"},
			name: secureName},
		"trusted plain proto": {config: proxied, remote: "10.1.1.1:1", header: []string{"X-Forwarded-Proto", "http"}},
		"two trusted protos": {
			config: proxied, remote: "10.1.1.1:1", header: []string{"X-Forwarded-Proto", "https", "X-Forwarded-Proto", "https"},
		},
		"forged behind trusted": {config: proxied, remote: "11.1.1.1:1", header: []string{"X-Forwarded-Proto", "https"}},
	} {
		f := setup(t, func(p *httpapi.Params) {
			p.Routes = append(p.Routes, jarRoutes())
			if c.config != nil {
				c.config(&p.Config)
			}
		})
		set := f.serve("GET", "/set", c.remote, c.tls, c.header...).header.Values("Set-Cookie")
		if c.name == "" {
			if len(set) != 0 {
				t.Errorf("%s: %v", what, set)
			}
			for _, name := range []string{plainName, secureName} {
				f.serve("GET", "/v1/runs", c.remote, c.tls, append(c.header, "Cookie", name+"=viewer")...).problem(t, 401)
			}
			continue
		}
		want := c.name + "=secret; Path=/; Expires=Sat, 05 Jan 2036 08:30:00 GMT; HttpOnly; SameSite=Lax"
		short := strings.Replace(c.name, "session", "signin", 1) + "=b; Path=/; Max-Age=600; HttpOnly; SameSite=Lax"
		if c.name == secureName {
			want, short = strings.Replace(want, "HttpOnly;", "HttpOnly; Secure;", 1),
				strings.Replace(short, "HttpOnly;", "HttpOnly; Secure;", 1)
		}
		if len(set) != 2 || set[0] != want || set[1] != short {
			t.Errorf("%s: %q", what, set)
		}
		f.serve("GET", "/v1/runs", c.remote, c.tls, append(c.header, "Cookie", c.name+"=viewer")...).json(t, 200)
		other := map[string]string{plainName: secureName, secureName: plainName}[c.name]
		f.serve("GET", "/v1/runs", c.remote, c.tls, append(c.header, "Cookie", other+"=viewer")...).problem(t, 401)
	}
}

// TestCrossSiteCookie sets a cookie that browsers accept with SameSite=None: over TLS.
func TestCrossSiteCookie(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) {
		p.Routes = append(p.Routes, jarRoutes())
		p.Config.InsecureCookies = true
	})
	a := f.serve("GET", "/cross", far, true, "Cookie", "__Host-writ_cross=v; writ_cross=w")
	if got := a.header.Get(
		"Set-Cookie"); got != "__Host-writ_cross=c; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=None" ||
		string(a.body) != "v" {
		t.Errorf("%q %s", got, a.body)
	}
	for _, remote := range []string{near, far} {
		if a := f.serve("GET", "/cross", remote, false, "Host", "localhost"); a.status != 200 ||
			a.header.Get("Set-Cookie") != "" {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
}

// TestCaller returns the caller to a public operation, as other operations identify it.
func TestCaller(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) { p.Routes = append(p.Routes, jarRoutes()) })
	if a := f.call("GET", "/caller", "viewer", ""); string(a.body) != "viewer" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := f.call("GET", "/caller", "", "", "Cookie", plainName+"=operator"); string(a.body) != "operator" {
		t.Errorf("%d %s", a.status, a.body)
	}
	f.call("GET", "/caller", "", "").problem(t, 401)
	f.call("GET", "/caller", "", "", "Authorization", "Basic YTpi").problem(t, 401)
	f.call("POST", "/caller", "", "", "Cookie", plainName+"=operator", "Sec-Fetch-Site", "cross-site").problem(t, 403)
}

func TestCookieAsCaller(t *testing.T) {
	t.Parallel()
	f := setup(t)
	body := `{"tool":"bash"}`
	f.call("GET", "/v1/runs", "", "", "Cookie", plainName+"=viewer").json(t, 200)
	f.call("POST", "/v1/runs", "", body, "Cookie", plainName+"=operator", "Sec-Fetch-Site", "same-origin").json(t, 201)
	f.call("POST", "/v1/runs", "", body, "Cookie", plainName+"=operator", "Origin", f.url).json(t, 201)
	if f.fake.actor.Name != "operator" {
		t.Errorf("actor %+v", f.fake.actor)
	}
	// A header beats the cookie, a bad one too.
	f.call("POST", "/v1/runs", "viewer", body, "Cookie", plainName+"=operator", "Sec-Fetch-Site", "same-origin").
		problem(t, 403)
	f.call("GET", "/v1/runs", "nobody", "", "Cookie", plainName+"=viewer").problem(t, 401)
	f.call("GET", "/v1/runs", "", "", "Authorization", "Basic YTpi", "Cookie", plainName+"=viewer").problem(t, 401)
	f.call("POST", "/v1/runs", "operator", body, "Cookie", plainName+"=viewer", "Sec-Fetch-Site", "cross-site").
		json(t, 201)
	// Two cookies, an unknown one and an empty one count as no cookie.
	f.call("GET", "/v1/runs", "", "", "Cookie", plainName+"=viewer; "+plainName+"=viewer").problem(t, 401)
	f.call("GET", "/v1/runs", "", "", "Cookie", plainName+"=nobody").problem(t, 401)
	f.call("GET", "/v1/runs", "", "", "Cookie", plainName+"=").problem(t, 401)
	if strings.Contains(f.log.String(), plainName) {
		t.Error("a cookie is in the log")
	}
	open := setup(t, func(p *httpapi.Params) { p.Config.Open = true })
	open.call("POST", "/v1/runs", "", body, "Cookie", plainName+"=nobody").json(t, 201)
	for _, header := range []string{"Basic YTpi", "Bearer nobody", "Bearer", "x", ""} {
		open.call("POST", "/v1/runs", "", body, "Authorization", header).json(t, 201)
	}
}

// TestCrossOriginWrites sends requests of pages of other origins, and those of a browser at the public address.
// Keeps T26.
func TestCrossOriginWrites(t *testing.T) {
	t.Parallel()
	f := setup(t)
	body := `{"tool":"bash"}`
	for what, h := range map[string][]string{
		"neither header":    nil,
		"cross-site form":   {"Sec-Fetch-Site", "cross-site", "Content-Type", "application/x-www-form-urlencoded"},
		"same-site page":    {"Sec-Fetch-Site", "same-site"},
		"other origin":      {"Origin", "https://evil.test"},
		"no origin":         {"Origin", "null"},
		"other port":        {"Origin", "http://127.0.0.1:1"},
		"origin as allowed": {"Sec-Fetch-Site", "cross-site", "Origin", f.url},
	} {
		a := f.call("POST", "/v1/runs", "", body, append(h, "Cookie", plainName+"=operator")...)
		if p := a.problem(t, 403); p.Reason != "cross_origin" || f.fake.submitted.Spec.Tool != "" {
			t.Errorf("%s: %+v", what, p)
		}
	}
	// The order: authentication, origin, rights, content.
	f.call("POST", "/v1/runs", "", body, "Cookie", plainName+"=nobody", "Sec-Fetch-Site", "cross-site").problem(t, 401)
	a := f.call("POST", "/v1/runs", "", body, "Cookie", plainName+"=viewer", "Sec-Fetch-Site", "same-origin")
	if p := a.problem(t, 403); p.Reason != "forbidden" {
		t.Errorf("%+v", p)
	}
	// A browser sends JSON with the media type of a form without a preflight; its media type is refused.
	f.call("POST", "/v1/runs", "", body, "Cookie", plainName+"=operator", "Sec-Fetch-Site", "same-origin", "Content-Type",
		"text/plain").problem(t, 415)
	if a := f.call("HEAD", "/v1/runs/"+knownRun, "", "", "Cookie", plainName+"=viewer", "Sec-Fetch-Site",
		"cross-site"); a.status != 200 {
		t.Errorf("reading: %d", a.status)
	}

	g := setup(t, func(p *httpapi.Params) { p.Config.PublicURL = "https://writ.test/" })
	for what, c := range map[string]struct {
		status int
		header []string
	}{
		"public origin, host replaced": {201, []string{"Origin", "https://writ.test", "Host", "10.0.0.5:8080"}},
		"public origin":                {201, []string{"Origin", "https://writ.test", "Host", "writ.test"}},
		"in clear":                     {403, []string{"Origin", "http://writ.test", "Host", "writ.test"}},
		"forged host": {403,
			[]string{"Origin", "http://evil.test", "X-Forwarded-Host", "evil.test", "Host", "writ.test"}},
	} {
		a := g.call("POST", "/v1/runs", "", body, append(c.header, "Cookie", secureName+"=operator")...)
		if a.status != c.status {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	if _, err := httpapi.New(httpapi.Params{Config: httpapi.Config{PublicURL: "https://"}}); err == nil {
		t.Error("a public address without a host was taken")
	}
}

func TestPresentedAndDropped(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) { p.Routes = append(p.Routes, jarRoutes()) })
	for want, h := range map[string][]string{
		"|": nil, "a|": {"Authorization", "Bearer a"}, "b|": {"Cookie", plainName + "=b"}, "|c": {"Cookie", "writ_signin=c"},
		"a|c": {"Authorization", "Bearer a", "Cookie", plainName + "=b; writ_signin=c"},
	} {
		if a := f.call("GET", "/presented", "", "", h...); string(a.body) != want {
			t.Errorf("%v: %q, want %q", h, a.body, want)
		}
	}
	f.call("GET", "/presented", "", "", "Authorization", "Basic YTpi").problem(t, 401)
	if p := f.call("POST", "/presented", "", "", "Cookie", plainName+"=b").problem(t, 403); p.Reason != "cross_origin" {
		t.Errorf("%+v", p)
	}
	if a := f.call("POST", "/presented", "", "", "Cookie", plainName+"=b", "Sec-Fetch-Site",
		"same-origin"); string(a.body) != "b|" {
		t.Errorf("%q", a.body)
	}
	if got := f.call("GET", "/drop", "", "", "Cookie", plainName+"=b").header.Get("Set-Cookie"); got != plainName+
		"=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax" {
		t.Errorf("%q", got)
	}
	if got := f.call("GET", "/drop", "", "").header.Get("Set-Cookie"); got != "" {
		t.Errorf("%q", got)
	}
	if got, err := httpapi.Presented(t.Context()); got != "" || err != nil {
		t.Errorf("outside of a request: %q %v", got, err)
	}
}
