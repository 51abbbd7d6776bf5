package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-automation/writ/ports/identity"
)

// front is a handler behind a server that knows any token; the token "open" is that of an open install.
func front(t *testing.T, api API) (url string, h *Handler) {
	t.Helper()
	h = NewHandler(config(api), func(w http.ResponseWriter, _ *http.Request, status int, reason, _ string) {
		http.Error(w, reason, status)
	})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		p := identity.Principal{User: identity.User{ID: "usr_" + token}, TokenID: "tok_" + token}
		if token == "open" {
			r.Header.Del("Authorization")
			p.Open = true
		}
		if token != "none" {
			r = r.WithContext(identity.With(r.Context(), p))
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.Close()
		srv.Close()
	})
	return srv.URL, h
}

// bearer presents a token.
type bearer struct {
	token string
	base  *http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(r) //nolint:wrapcheck // the client expects the errors of a transport
}

// dial connects an agent over HTTP until the test ends. old makes it speak the version of the protocol with sessions.
func dial(t *testing.T, url, token string, old bool) *sdk.ClientSession {
	t.Helper()
	base := &http.Transport{}
	var options *sdk.ClientSessionOptions
	if old {
		options = &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "web", Version: "2"}, nil)
	s, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token, base}}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		base.CloseIdleConnections()
	})
	return s
}

// echo answers with what a request to the API would be sent with.
func echo(ctx context.Context, c Call) (Answer, error) {
	r := RequestOf(ctx)
	raw, err := json.Marshal(map[string]any{
		"path": c.Path, "agent": c.Header.Get(identity.AgentHeader), "token": r.Header.Get("Authorization"),
		"method": r.Method,
	})
	return Answer{Status: http.StatusOK, Body: raw}, err
}

func TestAgentsOverHTTP(t *testing.T) {
	t.Parallel()
	url, _ := front(t, echo)
	for _, old := range []bool{true, false} {
		s := dial(t, url, "alice", old)
		if old != (s.ID() != "") {
			t.Errorf("old %t: the session is %q", old, s.ID())
		}
		got := object(t, s, "get_run", map[string]any{"run": "run_1"})
		want := map[string]any{"path": "/v1/runs/run_1", "agent": "web/2", "token": "Bearer alice", "method": "POST"}
		for name, v := range want {
			if got[name] != v {
				t.Errorf("old %t: %s is %v, want %v", old, name, got[name], v)
			}
		}
		if got := object(t, dial(t, url, "open", old), "whoami", nil); got["token"] != "" {
			t.Errorf("open, old %t: %v", old, got)
		}
	}
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"raw","version":"1"}}}`
	whoami = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`
)

// post sends a message.
func post(t *testing.T, url, token, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	base := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: bearer{token, base}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func TestBadMessages(t *testing.T) {
	t.Parallel()
	url, _ := front(t, echo)
	for name, c := range map[string]struct {
		token, body string
		header      []string
		want        int
	}{
		"nobody":       {"none", initialize, nil, http.StatusUnauthorized},
		"a batch":      {"alice", " \n[" + initialize + "]", nil, http.StatusBadRequest},
		"no JSON":      {"alice", "{", nil, http.StatusBadRequest},
		"nothing":      {"alice", "", nil, http.StatusBadRequest},
		"too large":    {"alice", `{"x":"` + strings.Repeat("x", MaxMessage) + `"}`, nil, http.StatusRequestEntityTooLarge},
		"no session":   {"alice", whoami, []string{sessionHeader, "unknown"}, http.StatusNotFound},
		"form":         {"alice", "a=b", []string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType},
		"old protocol": {"alice", initialize, []string{"MCP-Protocol-Version", "1999-01-01"}, http.StatusBadRequest},
	} {
		if resp, text := post(t, url, c.token, c.body, c.header...); resp.StatusCode != c.want {
			t.Errorf("%s: %d instead of %d: %s", name, resp.StatusCode, c.want, text)
		}
	}
}

// TestSessionsBelongToTokens continues a session with another token.
func TestSessionsBelongToTokens(t *testing.T) {
	t.Parallel()
	url, _ := front(t, echo)
	resp, text := post(t, url, "alice", initialize)
	id := resp.Header.Get(sessionHeader)
	if resp.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("%d: %s", resp.StatusCode, text)
	}
	if resp, text := post(t, url, "bob", whoami, sessionHeader, id); resp.StatusCode != http.StatusForbidden {
		t.Errorf("bob: %d %s", resp.StatusCode, text)
	}
	ready := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	if resp, text := post(t, url, "alice", ready, sessionHeader, id); resp.StatusCode != http.StatusAccepted {
		t.Errorf("ready: %d %s", resp.StatusCode, text)
	}
	if resp, text := post(t, url, "alice", whoami, sessionHeader, id); resp.StatusCode != http.StatusOK ||
		!strings.Contains(text, "raw/1") {
		t.Errorf("alice: %d %s", resp.StatusCode, text)
	}
}

func TestLimitOfSessions(t *testing.T) {
	t.Parallel()
	url, h := front(t, echo)
	for i := range sessionsPerAccount {
		if resp, text := post(t, url, "alice", initialize); resp.StatusCode != http.StatusOK {
			t.Fatalf("%d: %d %s", i, resp.StatusCode, text)
		}
	}
	resp, text := post(t, url, "alice", initialize)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %d %s", resp.StatusCode, text)
	}
	if resp, text := post(t, url, "bob", initialize); resp.StatusCode != http.StatusOK {
		t.Errorf("another account: %d %s", resp.StatusCode, text)
	}
	h.Close()
	if resp, text := post(t, url, "alice", initialize); resp.StatusCode != http.StatusOK {
		t.Errorf("after their end: %d %s", resp.StatusCode, text)
	}
}

func TestLimitOfCalls(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	url, _ := front(t, func(ctx context.Context, c Call) (Answer, error) {
		entered <- struct{}{}
		<-leave
		return echo(ctx, c)
	})
	s := dial(t, url, "alice", false)
	ended := make(chan bool, maxCalls)
	for range maxCalls {
		go func() {
			_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "whoami"})
			ended <- err == nil
		}()
	}
	for range maxCalls {
		<-entered
	}
	if resp, text := post(t, url, "alice", initialize); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one more: %d %s", resp.StatusCode, text)
	}
	if resp, text := post(t, url, "bob", initialize); resp.StatusCode != http.StatusOK {
		t.Errorf("another account: %d %s", resp.StatusCode, text)
	}
	close(leave)
	for range maxCalls {
		if !<-ended {
			t.Error("a call failed")
		}
	}
}

// TestCallsEndWithTheirRequest drops the connection of a call.
func TestCallsEndWithTheirRequest(t *testing.T) {
	t.Parallel()
	entered, canceled := make(chan struct{}), make(chan struct{})
	url, _ := front(t, func(ctx context.Context, _ Call) (Answer, error) {
		close(entered)
		<-ctx.Done()
		close(canceled)
		return Answer{}, ctx.Err()
	})
	s := dial(t, url, "alice", true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-entered
		cancel()
	}()
	if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "whoami"}); err == nil {
		t.Error("the call succeeded")
	}
	<-canceled
}
