package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestOrderOfValues: flags come before the environment, that before the context, and that before the default. A token
// of a context is for its server.
func TestOrderOfValues(t *testing.T) {
	t.Parallel()
	a, b := newSignInServer(t, httptest.NewServer), newSignInServer(t, httptest.NewServer)
	u := newHome(t)
	u.must(givenToken, "login", b.URL, "--with-token", "--context", "second")
	u.must(givenToken, "login", a.URL, "--with-token", "--context", "first")
	for what, c := range map[string]struct {
		env, args  []string
		server     *signInServer
		sent, errs string
	}{
		"the current context": {nil, nil, a, givenToken, ""},
		"WRIT_CONTEXT":        {[]string{"WRIT_CONTEXT=second"}, nil, b, givenToken, ""},
		"--context":           {[]string{"WRIT_CONTEXT=first"}, []string{"--context", "second"}, b, givenToken, ""},
		"--context before WRIT_SERVER": {[]string{"WRIT_SERVER=" + a.URL, "WRIT_TOKEN=other"},
			[]string{"--context", "second"}, b, givenToken, ""},
		"WRIT_SERVER of another server":     {[]string{"WRIT_SERVER=" + b.URL}, nil, b, "", ""},
		"--server of another server":        {nil, []string{"--server", b.URL}, b, "", ""},
		"--server of the context's server":  {nil, []string{"--server", "HTTP" + a.URL[4:] + "/"}, a, givenToken, ""},
		"WRIT_TOKEN":                        {[]string{"WRIT_TOKEN=other"}, nil, a, "other", ""},
		"--token":                           {[]string{"WRIT_TOKEN=other"}, []string{"--token", "mine"}, a, "mine", ""},
		"--server and --context":            {nil, []string{"--server", b.URL, "--context", "first"}, b, "", ""},
		"WRIT_SERVER before WRIT_CONTEXT":   {[]string{"WRIT_SERVER=" + b.URL, "WRIT_CONTEXT=first"}, nil, b, "", ""},
		"a context of the environment lost": {[]string{"WRIT_CONTEXT=third"}, nil, nil, "", "first, second"},
	} {
		a.sent()
		b.sent()
		code, _, errs := u.run(t.Context(), c.env, "", append([]string{"runs"}, c.args...)...)
		if c.errs != "" {
			if code != exitUsage || !strings.Contains(errs, c.errs) {
				t.Errorf("%s: exit %d, %q", what, code, errs)
			}
			continue
		}
		want := ""
		if c.sent != "" {
			want = "/v1/runs Bearer " + c.sent
		}
		other := a
		if c.server == a {
			other = b
		}
		if sent, astray := c.server.sent(), other.sent(); code != exitDone || sent != want || astray != "" {
			t.Errorf("%s: exit %d, sent %q, and elsewhere %q: %s", what, code, sent, astray, errs)
		}
	}
	u.must("", "context", "use", "second")
	if out := u.must("", "context", "show", "--jq", ".server"); out != b.URL+"\n" {
		t.Errorf("%s", out)
	}
}

// TestRedirectsCarryNoToken: an answer that redirects is an error, and the other server hears nothing.
func TestRedirectsCarryNoToken(t *testing.T) {
	t.Parallel()
	other := newSignInServer(t, httptest.NewServer)
	asked := false
	other.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true })
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(first.Close)
	u := newHome(t)
	for _, args := range [][]string{{"runs"}, {"whoami"}, {"doctor"}, {"api", "GET", "/v1/runs"}, {"token", "list"},
		{"user", "list"}} {
		if code, _, errs := u.run(t.Context(), []string{"WRIT_SERVER=" + first.URL, "WRIT_TOKEN=" + givenToken}, "",
			args...); code != exitFailed || asked {
			t.Errorf("%q: exit %d, %q, asked %t", args, code, errs, asked)
		}
	}
}

// TestAPI sends what the flags say, and prints the answer and errors.
func TestAPI(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Asked", r.Method+" "+r.URL.RequestURI()+" "+string(body)+" "+r.Header.Get("If-Match"))
		switch r.URL.Path {
		case "/v1/text":
			_, _ = io.WriteString(w, "plain\n")
		case "/v1/none":
			w.WriteHeader(http.StatusNoContent)
		case "/v1/wrong":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"no such thing"}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"n":12345678901234567890,"list":[{"id":"a"},{"id":"b"}]}`)
		}
	}))
	t.Cleanup(srv.Close)
	u := newHome(t)
	for _, c := range []struct {
		args string
		in   string
		code int
		want string // in the output
	}{
		{"GET /v1/things --field limit=5 --field q=a&b --include", "", 0, "X-Asked: GET /v1/things?limit=5&q=a%26b"},
		{"GET /v1/things?a=b --field c=d --include", "", 0, "GET /v1/things?a=b&c=d"},
		{"post /v1/things --field n=12 --field t=true --field s=x=y --field z=null --include", "", 0,
			`POST /v1/things {"n":12,"s":"x=y","t":true,"z":null}`},
		{"PUT /v1/things --input - --header If-Match:\"3\" --include", `{"a":1}`, 0, `PUT /v1/things {"a":1} "3"`},
		{"GET /v1/things", "", 0, `  "n": 12345678901234567890`},
		{"GET /v1/things --jq .list[].id", "", 0, "a\nb\n"},
		{"GET /v1/things -o csv", "", 0, "id\na\nb\n"},
		{"GET /v1/text", "", 0, "plain\n"},
		{"GET /v1/text -o json", "", 1, ""},
		{"DELETE /v1/none", "", 0, ""},
		{"GET /v1/wrong --jq .list[]", "", 1, `"error": "no such thing"`},
		{"FETCH /v1/things", "", 2, ""}, {"GET v1/things", "", 2, ""}, {"GET //evil.test/", "", 2, ""}, {"GET", "", 2, ""},
		{"GET /v1/things --field x", "", 2, ""}, {"GET /v1/things --header x", "", 2, ""},
		{"GET /v1/things --header Authorization:Bearer", "", 2, ""}, {"PUT /v1/things --input /no/file", "", 2, ""},
		{"PUT /v1/things --input - --field a=b", "", 2, ""},
	} {
		code, out, errs := u.run(t.Context(), []string{"WRIT_SERVER=" + srv.URL, "WRIT_TOKEN=" + givenToken}, c.in,
			append([]string{"api"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(out, c.want) || (code == 0) != (errs == "") {
			t.Errorf("%s: exit %d, %q, %q", c.args, code, out, errs)
		}
	}
}

// TestDoctor prints the server's findings and those of the way to it, and fails for errors alone.
func TestDoctor(t *testing.T) {
	t.Parallel()
	report := `{"ok":true,"findings":[],"checked":{}}`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/doctor":
			_, _ = io.WriteString(w, report)
		case "/openapi.json":
			_, _ = io.WriteString(w, `{"info":{"version":"`+readBuild().Version+`"}}`)
		}
	}))
	t.Cleanup(srv.Close)
	u := newHome(t)
	check := func(want int, texts ...string) {
		t.Helper()
		code, out, errs := u.run(t.Context(), []string{"WRIT_SERVER=" + srv.URL}, "", "doctor")
		for _, text := range texts {
			if code != want || !strings.Contains(out, text) || errs != "" {
				t.Errorf("exit %d, %q, %q", code, out, errs)
			}
		}
	}
	check(exitDone, "is well")
	of := func(severity string) string {
		return `"findings":[{"severity":"` + severity + `","check":"queues","object":{"name":"web"},
			"problem":"Nobody serves it.","fix":"Start a worker."}],"checked":{}}`
	}
	report = `{"ok":true,` + of("warning")
	check(exitDone, "warning", "Nobody serves it.", "next  Start a worker.")
	report = `{"ok":false,` + of("error")
	check(exitFailed, "error", "queues web")
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "Mon, 02 Jan 2006 15:04:05 GMT")
		if r.URL.Path == "/v1/doctor" {
			_, _ = io.WriteString(w, `{"ok":true,"findings":[],"checked":{}}`)
			return
		}
		_, _ = io.WriteString(w, `{"info":{"version":"other"}}`)
	})
	check(exitDone, "client_clock", "client_version", "NTP")
	srv.Close()
	if code, _, errs := u.run(t.Context(), []string{"WRIT_SERVER=" + srv.URL}, "", "doctor"); code != exitFailed ||
		!strings.Contains(errs, "nothing listens") {
		t.Errorf("exit %d, %q", code, errs)
	}
}
