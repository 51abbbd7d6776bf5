package mcp

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeAPI answers by method and path, and keeps the requests.
type fakeAPI struct {
	mu      sync.Mutex
	answers map[string]Answer
	calls   []Call
}

func (f *fakeAPI) call(_ context.Context, c Call) (Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	path, _, _ := strings.Cut(c.Path, "?")
	if a, ok := f.answers[c.Method+" "+path]; ok {
		return a, nil
	}
	return problem(http.StatusNotFound, "not_found", "there is no such thing"), nil
}

// paths returns the methods and paths of the requests since the last call.
func (f *fakeAPI) paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]string, 0, len(f.calls))
	for _, c := range f.calls {
		out = append(out, c.Method+" "+c.Path)
	}
	f.calls = nil
	return out
}

func (f *fakeAPI) last(t *testing.T) Call {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) == 0 {
		t.Fatal("no request")
	}
	return f.calls[len(f.calls)-1]
}

func ok(body string) Answer {
	return Answer{Status: http.StatusOK, Header: http.Header{}, Body: []byte(body)}
}

func problem(status int, reason, text string) Answer {
	raw, err := json.Marshal(map[string]any{"error": text, "reason": reason})
	if err != nil {
		panic(err)
	}
	return Answer{Status: status, Header: http.Header{}, Body: raw}
}

func config(api API) Config {
	return Config{Version: "1.2.3", API: api, Log: slog.New(slog.DiscardHandler)}
}

// connect serves an agent over pipes until the test ends.
func connect(t *testing.T, api API) *sdk.ClientSession {
	t.Helper()
	toServer, fromAgent := io.Pipe()
	toAgent, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), config(api), toServer, fromServer) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "test agent", Version: "7"}, nil)
	s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: toAgent, Writer: fromAgent}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-served; err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	return s
}

// use calls a tool. It returns the text after the notice, or the text of an error.
func use(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	var texts []string
	for _, c := range res.Content {
		text, isText := c.(*sdk.TextContent)
		if !isText {
			t.Fatalf("%s: content of another kind: %T", tool, c)
		}
		texts = append(texts, text.Text)
	}
	switch {
	case res.IsError && len(texts) == 1:
		return texts[0], true
	case res.IsError || len(texts) != 2 || texts[0] != Notice:
		t.Fatalf("%s: expected the notice and the data: %q", tool, texts)
	}
	return texts[1], false
}

// object is use for a tool that answers with an object.
func object(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) map[string]any {
	t.Helper()
	text, failed := use(t, s, tool, args)
	if failed {
		t.Fatalf("%s: %s", tool, text)
	}
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v in %s", tool, err, text)
	}
	return out
}
