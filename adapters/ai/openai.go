package ai

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/writ-automation/writ/ports/extension"
)

// openAIHome is the usual address of openAI. What is compatible to it has other ones, and may take no key.
const openAIHome = "https://api.openai.com/v1"

// openAI is the operation /chat/completions of OpenAI. A stream has server-sent events, and a last one without JSON.
type openAI struct{}

func (openAI) place() (home, path string, keyed bool) { return openAIHome, "chat/completions", false }

func (openAI) sign(h http.Header, key string) { bearer(h, key) }

func (openAI) lines() bool { return false }

type openAIQuestion struct {
	Model    string         `json:"model"`
	Messages []message      `json:"messages"`
	Limit    int            `json:"max_completion_tokens"`
	Stream   bool           `json:"stream,omitempty"`
	Options  *openAIOptions `json:"stream_options,omitempty"`
}

type openAIOptions struct {
	Usage bool `json:"include_usage"`
}

func (openAI) question(model string, r extension.AIRequest, stream bool) any {
	q := openAIQuestion{Model: model, Messages: []message{{"system", r.System}, {"user", r.Prompt}}, Limit: r.MaxTokens,
		Stream: stream}
	if stream {
		q.Options = &openAIOptions{Usage: true}
	}
	return q
}

// openAIText is a message, or a part of one. A model that refuses to answer says so in Refusal.
type openAIText struct {
	Content string `json:"content"`
	Refusal string `json:"refusal"`
}

type openAIReply struct {
	Choices []struct {
		Message openAIText `json:"message"`
		Delta   openAIText `json:"delta"`
		Reason  string     `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Asked int `json:"prompt_tokens"`
		Got   int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (o openAI) whole(body []byte) (part, error) {
	p, err := o.next(body)
	if err == nil && !p.end && p.failed == "" {
		err = errors.New("the answer has no choice")
	}
	return p, err
}

func (openAI) next(data []byte) (part, error) {
	if string(data) == "[DONE]" {
		return part{end: true}, nil
	}
	var r openAIReply
	if err := json.Unmarshal(data, &r); err != nil {
		return part{}, err
	}
	out := part{asked: r.Usage.Asked, got: r.Usage.Got}
	if len(r.Error) > 0 && string(r.Error) != "null" {
		out.failed = failed(r.Error)
	}
	if len(r.Choices) > 0 {
		c := &r.Choices[0]
		out.text = cmp.Or(c.Message.Content, c.Delta.Content, c.Message.Refusal, c.Delta.Refusal)
		out.end, out.cut = c.Reason != "", c.Reason == "length"
	}
	return out, nil
}
