package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Model is a server that answers like the operation /api/chat of Ollama, with a text of the test.
type Model struct {
	url    string
	mu     sync.Mutex
	answer string
	hangs  bool
	heard  string
}

// NewModel starts a model. The test's end stops it.
func NewModel(t testing.TB) *Model {
	t.Helper()
	m := &Model{answer: "yes"}
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	m.url = srv.URL
	return m
}

// Flags are the flags of a server that asks the model.
func (m *Model) Flags() []string {
	return []string{"--ai-provider", "ollama", "--ai-model", "test", "--ai-url", m.url}
}

// Say sets what the model answers from then on.
func (m *Model) Say(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer, m.hangs = text, false
}

// Hang makes the model answer with a text and wait then, until whoever asked is gone.
func (m *Model) Hang(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer, m.hangs = text, true
}

// Heard returns everything that the model was sent.
func (m *Model) Heard() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heard
}

func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Content string } `json:"messages"`
		Stream   bool                       `json:"stream"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/api/chat" {
		http.Error(w, fmt.Sprint(r.URL, err), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	for _, one := range q.Messages {
		m.heard += one.Content + "\n"
	}
	text, hangs := m.answer, m.hangs
	m.mu.Unlock()
	pieces := []string{text}
	if q.Stream {
		pieces = strings.SplitAfter(text, " ")
	}
	for i, p := range pieces {
		line, err := json.Marshal(map[string]any{"message": map[string]string{"role": "assistant", "content": p},
			"done": !hangs && i == len(pieces)-1, "prompt_eval_count": 20, "eval_count": 3})
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", line)
		}
		if err != nil {
			return // the server is gone
		}
	}
	if hangs {
		_ = http.NewResponseController(w).Flush() // a writer without it has sent everything
		<-r.Context().Done()
	}
}
