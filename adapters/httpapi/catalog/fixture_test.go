package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/httpapi"
	catalogapi "github.com/writ-automation/writ/adapters/httpapi/catalog"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// TestMain checks that no server outlives the tests.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

type oneID struct{}

func (oneID) New(p ids.Prefix) string { return string(p) + "1" }

// unit is a unit of work whose commits run what waits for them.
type unit struct{}

func (unit) Do(ctx context.Context, fn func(context.Context) error) error {
	ctx, hooks := tx.WithHooks(ctx)
	if err := fn(ctx); err != nil {
		return err
	}
	hooks.Run()
	return nil
}

// chain remembers what was recorded.
type chain struct {
	mu      sync.Mutex
	entries []audit.Entry
}

func (c *chain) Record(_ context.Context, e audit.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, e)
	return nil
}

func (c *chain) all() []audit.Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]audit.Entry{}, c.entries...)
}

type fixture struct {
	t      *testing.T
	url    string
	stand  *stand
	chain  *chain
	log    *safeBuffer
	router *httpapi.Router
}

func params(s *stand) catalogapi.Params {
	return catalogapi.Params{
		Projects: projects{s}, Inventories: inventories{s}, Sources: sources{s}, Templates: templates{s}, Launcher: launcher{s},
		Trail: trail{}, Clock: wall{},
	}
}

func setup(t *testing.T, change ...func(*httpapi.Config, *catalogapi.Params)) *fixture {
	t.Helper()
	f := &fixture{t: t, stand: &stand{}, chain: &chain{}, log: &safeBuffer{}}
	config, p := httpapi.Config{Version: "1"}, params(f.stand)
	for _, c := range change {
		c(&config, &p)
	}
	res, err := httpapi.New(httpapi.Params{
		Config: config, Authenticator: guard{}, Authorizer: guard{}, Log: slog.New(slog.NewJSONHandler(f.log, nil)), IDs: oneID{}, Unit: unit{},
		Recorder: f.chain, Routes: []httpapi.Routes{catalogapi.New(p)},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(res.Handler)
	f.url, f.router = srv.URL, res.Router
	t.Cleanup(func() {
		res.Router.Close()
		srv.Close()
	})
	return f
}

// wasAsked compares what the port was asked.
func (f *fixture) wasAsked(want ...any) {
	f.t.Helper()
	if d := cmp.Diff(want, f.stand.last()); d != "" {
		f.t.Errorf("asked (-want +got):\n%s", d)
	}
}

type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// call sends a request as the role that token names. Headers come in pairs; "Host" sets the host.
func (f *fixture) call(method, path, token, body string, header ...string) answer {
	f.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, r)
	if err != nil {
		f.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatalf("%s %s: read: %v", method, path, err)
	}
	return answer{f.t, resp.StatusCode, resp.Header, string(b)}
}

// problem checks the shape that every error has, and its reason.
func (a answer) problem(status int, reason string) []string {
	a.t.Helper()
	var p struct {
		Detail, Error, Reason string
		Status                int
		Errors                []struct{ Location string }
	}
	if a.status != status || a.header.Get("Content-Type") != "application/problem+json" {
		a.t.Fatalf("status %d, want %d: %v %s", a.status, status, a.header, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	if p.Error == "" || p.Error != p.Detail || p.Status != status || p.Reason != reason {
		a.t.Errorf("want %s: %s", reason, a.body)
	}
	var where []string
	for _, e := range p.Errors {
		where = append(where, e.Location)
	}
	return where
}

// is checks the status and the whole body, given as JSON.
func (a answer) is(status int, want string) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if canon(a.t, a.body) != canon(a.t, want) {
		a.t.Errorf("body\n%s\nwant\n%s", a.body, want)
	}
	return a
}

func (a answer) has(name, want string) answer {
	a.t.Helper()
	if got := a.header.Get(name); got != want {
		a.t.Errorf("%s: %q, want %q", name, got, want)
	}
	return a
}

func canon(t *testing.T, s string) string {
	t.Helper()
	if s == "" {
		return ""
	}
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
