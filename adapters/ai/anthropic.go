package ai

import (
	"encoding/json"
	"net/http"

	"github.com/writ-automation/writ/ports/extension"
)

// anthropicVersion is the version of the API.
const anthropicVersion = "2023-06-01"

// anthropic is the operation /v1/messages of Anthropic. A stream has server-sent events.
type anthropic struct{}

func (anthropic) place() (home, path string, keyed bool) {
	return "https://api.anthropic.com", "v1/messages", true
}

func (anthropic) sign(h http.Header, key string) {
	h.Set("X-Api-Key", key)
	h.Set("Anthropic-Version", anthropicVersion)
}

func (anthropic) lines() bool { return false }

type anthropicQuestion struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	System    string    `json:"system"`
	Messages  []message `json:"messages"`
	Stream    bool      `json:"stream"`
}

func (anthropic) question(model string, r extension.AIRequest, stream bool) any {
	return anthropicQuestion{Model: model, MaxTokens: r.MaxTokens, System: r.System,
		Messages: []message{{"user", r.Prompt}}, Stream: stream}
}

// anthropicUsage counts tokens. Those of the input include what a cache had.
type anthropicUsage struct {
	Input   int `json:"input_tokens"`
	Created int `json:"cache_creation_input_tokens"`
	Cached  int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
}

func (u anthropicUsage) asked() int { return u.Input + u.Created + u.Cached }

type anthropicMessage struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Reason string         `json:"stop_reason"`
	Usage  anthropicUsage `json:"usage"`
}

func (anthropic) whole(body []byte) (part, error) {
	var m anthropicMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return part{}, err
	}
	out := part{cut: m.Reason == "max_tokens", asked: m.Usage.asked(), got: m.Usage.Output}
	for _, c := range m.Content {
		if c.Type == "text" {
			out.text += c.Text
		}
	}
	return out, nil
}

// next reads an event. Events of other types have no text.
func (anthropic) next(data []byte) (part, error) {
	var e struct {
		Type    string           `json:"type"`
		Message anthropicMessage `json:"message"`
		Delta   struct {
			Type   string `json:"type"`
			Text   string `json:"text"`
			Reason string `json:"stop_reason"`
		} `json:"delta"`
		Usage anthropicUsage  `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return part{}, err
	}
	switch e.Type {
	case "message_start":
		return part{asked: e.Message.Usage.asked(), got: e.Message.Usage.Output}, nil
	case "content_block_delta":
		return part{text: e.Delta.Text}, nil
	case "message_delta":
		return part{cut: e.Delta.Reason == "max_tokens", asked: e.Usage.asked(), got: e.Usage.Output}, nil
	case "message_stop":
		return part{end: true}, nil
	case "error":
		return part{failed: failed(e.Error)}, nil
	}
	return part{}, nil
}
