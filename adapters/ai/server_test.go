package ai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/adapters/ai"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
)

const testKey = "sk-c4nary-0123456789"

// dialect is the server's side of a protocol, written from the provider's documentation.
type dialect struct {
	path string
	// signed checks the headers of a request with a key.
	signed func(h http.Header) bool
	// read reads a request, and refuses members that the documentation does not have.
	read func(body []byte) (r extension.AIRequest, model string, stream bool, err error)
	// whole is an answer, and pieces are the elements of a stream of it, of which the last ones end it.
	whole  func(text string) string
	pieces func(parts []string) []string
	media  string
	broken string // an error within a stream
	denied string // the body of a refusal, with the key in its words
}

func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func conversation(list []turn) (extension.AIRequest, error) {
	if len(list) != 2 || list[0].Role != "system" || list[1].Role != "user" {
		return extension.AIRequest{}, fmt.Errorf("messages: %v", list)
	}
	return extension.AIRequest{System: list[0].Content, Prompt: list[1].Content}, nil
}

func event(name, data string) string {
	if name == "" {
		return "data: " + data + "\n\n"
	}
	return "event: " + name + "\ndata: " + data + "\n\n"
}

func ollamaDialect() dialect {
	return dialect{
		path: "/api/chat", media: "application/x-ndjson",
		signed: func(h http.Header) bool { return h.Get("Authorization") == "Bearer "+testKey },
		read: func(body []byte) (extension.AIRequest, string, bool, error) {
			var q struct {
				Model    string         `json:"model"`
				Messages []turn         `json:"messages"`
				Stream   *bool          `json:"stream"`
				Options  map[string]int `json:"options"`
			}
			if err := strict(body, &q); err != nil {
				return extension.AIRequest{}, "", false, err
			}
			r, err := conversation(q.Messages)
			r.MaxTokens = q.Options["num_predict"]
			return r, q.Model, q.Stream == nil || *q.Stream, err // the server streams unless it is told not to
		},
		whole: func(text string) string {
			return `{"model":"m","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":` + quoted(text) +
				`},"done_reason":"stop","done":true,"total_duration":1,"prompt_eval_count":26,"eval_count":7}`
		},
		pieces: func(parts []string) (out []string) {
			for _, p := range parts {
				out = append(out, `{"model":"m","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":`+
					quoted(p)+`},"done":false}`+"\n")
			}
			return append(out, `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",`+
				`"prompt_eval_count":26,"eval_count":7}`+"\n")
		},
		broken: `{"error":"an error was encountered while running the model"}` + "\n",
		denied: `{"error":"unauthorized ` + testKey + `"}`,
	}
}

func anthropicDialect() dialect {
	return dialect{
		path: "/v1/messages", media: "text/event-stream; charset=utf-8",
		signed: func(h http.Header) bool {
			return h.Get("X-Api-Key") == testKey && h.Get("Anthropic-Version") == "2023-06-01" && h.Get("Authorization") == ""
		},
		read: func(body []byte) (extension.AIRequest, string, bool, error) {
			var q struct {
				Model     string `json:"model"`
				MaxTokens int    `json:"max_tokens"`
				System    string `json:"system"`
				Messages  []turn `json:"messages"`
				Stream    bool   `json:"stream"`
			}
			err := strict(body, &q)
			if err == nil && (len(q.Messages) != 1 || q.Messages[0].Role != "user") {
				err = fmt.Errorf("messages: %v", q.Messages)
			}
			if err != nil {
				return extension.AIRequest{}, "", false, err
			}
			return extension.AIRequest{System: q.System, Prompt: q.Messages[0].Content, MaxTokens: q.MaxTokens}, q.Model,
				q.Stream, nil
		},
		whole: func(text string) string {
			return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":` +
				quoted(text) + `}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":26,"output_tokens":7}}`
		},
		pieces: func(parts []string) []string {
			out := []string{
				event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",`+
					`"content":[],"model":"m","stop_reason":null,"stop_sequence":null,`+
					`"usage":{"input_tokens":26,"output_tokens":1}}}`),
				event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
				event("ping", `{"type":"ping"}`),
			}
			for _, p := range parts {
				out = append(out, event("content_block_delta",
					`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+quoted(p)+`}}`))
			}
			return append(out, event("content_block_stop", `{"type":"content_block_stop","index":0}`),
				event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},`+
					`"usage":{"output_tokens":7}}`),
				event("message_stop", `{"type":"message_stop"}`))
		},
		broken: event("error", `{"type":"error","error":{"type":"overloaded_error","message":"`+testKey+`"}}`),
		denied: `{"type":"error","error":{"type":"authentication_error","message":"bad ` + testKey + `"}}`,
	}
}

func openAIDialect() dialect {
	chunk := func(delta, reason, usage string) string {
		return event("", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`+
			delta+`,"logprobs":null,"finish_reason":`+reason+`}],"usage":`+usage+`}`)
	}
	return dialect{
		path: "/v1/chat/completions", media: "text/event-stream",
		signed: func(h http.Header) bool { return h.Get("Authorization") == "Bearer "+testKey },
		read: func(body []byte) (extension.AIRequest, string, bool, error) {
			var q struct {
				Model    string          `json:"model"`
				Messages []turn          `json:"messages"`
				Limit    int             `json:"max_completion_tokens"`
				Stream   bool            `json:"stream"`
				Options  map[string]bool `json:"stream_options"`
			}
			if err := strict(body, &q); err != nil {
				return extension.AIRequest{}, "", false, err
			}
			r, err := conversation(q.Messages)
			if err == nil && q.Stream != q.Options["include_usage"] {
				err = fmt.Errorf("stream_options: %v", q.Options)
			}
			r.MaxTokens = q.Limit
			return r, q.Model, q.Stream, err
		},
		whole: func(text string) string {
			return `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":` +
				`{"role":"assistant","content":` + quoted(text) + `,"refusal":null,"annotations":[]},"logprobs":null,` +
				`"finish_reason":"stop"}],"usage":{"prompt_tokens":26,"completion_tokens":7,"total_tokens":33}}`
		},
		pieces: func(parts []string) []string {
			out := []string{chunk(`{"role":"assistant","content":"","refusal":null}`, "null", "null")}
			for _, p := range parts {
				out = append(out, chunk(`{"content":`+quoted(p)+`}`, "null", "null"))
			}
			return append(out, chunk("{}", `"stop"`, "null"),
				event("", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],`+
					`"usage":{"prompt_tokens":26,"completion_tokens":7,"total_tokens":33}}`),
				"data: [DONE]\n\n")
		},
		broken: event("", `{"error":{"message":"`+testKey+`","type":"server_error","param":null,"code":null}}`),
		denied: `{"error":{"message":"Incorrect API key provided: ` + testKey + `","type":"invalid_request_error",` +
			`"param":null,"code":"invalid_api_key"}}`,
	}
}

// server is a provider in the process.
type server struct {
	dialect
	*httptest.Server
	mu    sync.Mutex
	text  string
	act   func(w http.ResponseWriter, r *http.Request, stream bool) // nil: it answers
	heard extension.AIRequest
}

func newServer(t *testing.T, d dialect) *server {
	t.Helper()
	s := &server{dialect: d}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	asked, model, stream, err := s.read(body)
	s.mu.Lock()
	s.heard = asked
	text, act := s.text, s.act
	s.mu.Unlock()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != s.path || err != nil || model != "m" ||
		r.Header.Get("Content-Type") != "application/json":
		http.Error(w, fmt.Sprint(r.Method, r.URL, model, err), http.StatusBadRequest)
	case !s.signed(r.Header):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, s.denied)
	case act != nil:
		act(w, r, stream)
	case stream:
		w.Header().Set("Content-Type", s.media)
		for _, element := range s.pieces(halves(text)) {
			_, _ = io.WriteString(w, element)
			_ = http.NewResponseController(w).Flush()
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, s.whole(text))
	}
}

// halves cuts a text between two characters.
func halves(text string) []string {
	letters := []rune(text)
	n := len(letters) / 2
	return []string{string(letters[:n]), string(letters[n:])}
}

func (s *server) do(act func(w http.ResponseWriter, r *http.Request, stream bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act = act
}

func (s *server) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text, s.act = text, nil
}

// provider returns a provider that asks the server.
func (s *server) provider(t *testing.T, name string, o egress.Options) extension.AIProvider {
	t.Helper()
	base, _, _ := strings.Cut(s.path, map[string]string{"openai": "/chat", "anthropic": "/v1", "ollama": "/api"}[name])
	p, err := factories(o)[name](extension.AISettings{Model: "m", URL: s.URL + base, Key: testKey})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func factories(o egress.Options) map[string]extension.AIProviderFactory {
	return ai.Factories(ai.Config{Policy: egress.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
		Options: o, Agent: "Writ/test"})
}

func dialects() map[string]func() dialect {
	return map[string]func() dialect{"ollama": ollamaDialect, "anthropic": anthropicDialect, "openai": openAIDialect}
}
