package httpapitest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/execution"
)

// Main runs the tests of a package, for its TestMain, and ends the process. It fails if a goroutine outlives the tests.
func Main(m *testing.M) {
	flag.Parse()
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Server serves routes to one test.
type Server struct {
	URL      string // without a closing slash
	Router   *httpapi.Router
	Recorder *Recorder
	Log      *Log // log of the server, as lines of JSON
	t        *testing.T
}

// Serve serves routes over the fakes of this package until the test ends. The configuration decides whether the Guard
// is open.
func Serve(t *testing.T, config httpapi.Config, routes ...httpapi.Routes) *Server {
	t.Helper()
	return ServeWorkers(t, config, nil, routes...)
}

// ServeWorkers serves routes as Serve does, to workers with tokens of their own too.
func ServeWorkers(t *testing.T, config httpapi.Config, workers execution.WorkerGate, routes ...httpapi.Routes) *Server {
	t.Helper()
	s := &Server{Recorder: &Recorder{}, Log: &Log{}, t: t}
	g := Guard{Open: config.Open}
	srv, router := Listen(t, httpapi.Params{
		Config: config, Authenticator: g, Authorizer: g,
		Log:      slog.New(slog.NewJSONHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		IDs:      IDs{},
		Unit:     Unit{},
		Recorder: s.Recorder, Routes: routes, Workers: workers,
	})
	s.URL, s.Router = srv.URL, router
	return s
}

// Listen serves the API of the given parts on a free port until the test ends.
func Listen(t *testing.T, p httpapi.Params) (*httptest.Server, *httpapi.Router) {
	t.Helper()
	res, err := httpapi.New(p)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(res.Handler)
	t.Cleanup(func() {
		res.Router.Close()
		srv.Close()
	})
	return srv, res.Router
}

// Call sends a request to a path of the server and fails the test unless a whole answer arrives. See Send for the rest.
func (s *Server) Call(method, path, who, body string, header ...string) Answer {
	s.t.Helper()
	a, err := Send(s.t, method, s.URL+path, who, body, header...)
	if err != nil {
		s.t.Fatalf("%s %s: read: %v", method, path, err)
	}
	return a
}

// Operations lists the operations of the routes.
func (s *Server) Operations() []*huma.Operation {
	var out []*huma.Operation
	s.Router.Operations(func(op *huma.Operation) { out = append(out, op) })
	return out
}

// Send sends a request as the role in who, or without a token if who is empty. The body is JSON unless a header sets
// another type. Headers come in pairs; "Host" sets the host. No redirect is followed and nothing is decompressed.
//
// The test fails if no answer arrives. The error is for an answer whose body ends early; the answer then holds the part
// that was read.
func Send(t *testing.T, method, url, who, body string, header ...string) (Answer, error) {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+who)
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
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(b), t: t}, err
}

// Media returns the media type of an operation's body in the API document: the first by name of several, and empty for
// an operation without a body.
func Media(op *huma.Operation) string {
	if op.RequestBody == nil {
		return ""
	}
	return slices.Min(slices.Collect(maps.Keys(op.RequestBody.Content)))
}

// Example returns the body that the API document shows of an operation, of the type that Media returns.
func Example(t *testing.T, op *huma.Operation) string {
	t.Helper()
	if op.RequestBody == nil {
		return ""
	}
	example := op.RequestBody.Content[Media(op)].Example
	if text, ok := example.(string); ok {
		return text
	}
	b, err := json.Marshal(example)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
