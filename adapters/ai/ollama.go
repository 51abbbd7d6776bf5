package ai

import (
	"encoding/json"
	"net/http"

	"github.com/writ-automation/writ/ports/extension"
)

// ollamaContext is the size of the context in tokens. The default of Ollama is smaller than a prompt, of which it would
// drop the beginning.
const ollamaContext = 32 << 10

// ollama is the operation /api/chat of Ollama. A stream has a JSON object on each line.
type ollama struct{}

func (ollama) place() (home, path string, keyed bool) {
	return "http://127.0.0.1:11434", "api/chat", false
}

func (ollama) sign(h http.Header, key string) { bearer(h, key) }

func (ollama) lines() bool { return true }

type ollamaQuestion struct {
	Model    string         `json:"model"`
	Messages []message      `json:"messages"`
	Stream   bool           `json:"stream"`
	Options  map[string]int `json:"options"`
}

func (ollama) question(model string, r extension.AIRequest, stream bool) any {
	return ollamaQuestion{Model: model, Messages: []message{{"system", r.System}, {"user", r.Prompt}}, Stream: stream,
		Options: map[string]int{"num_predict": r.MaxTokens, "num_ctx": ollamaContext}}
}

type ollamaPart struct {
	Message message         `json:"message"`
	Done    bool            `json:"done"`
	Reason  string          `json:"done_reason"`
	Asked   int             `json:"prompt_eval_count"`
	Got     int             `json:"eval_count"`
	Error   json.RawMessage `json:"error"`
}

func (o ollama) whole(body []byte) (part, error) { return o.next(body) }

func (ollama) next(data []byte) (part, error) {
	var p ollamaPart
	if err := json.Unmarshal(data, &p); err != nil {
		return part{}, err
	}
	out := part{text: p.Message.Content, end: p.Done, cut: p.Reason == "length", asked: p.Asked, got: p.Got}
	if len(p.Error) > 0 && string(p.Error) != "null" {
		out.failed = "error"
	}
	return out, nil
}
