package wire

import (
	"errors"
	"time"

	"github.com/writ-automation/writ/ports/extension"
)

// FromSettings returns the message of the settings of an AI provider.
func FromSettings(provider string, s extension.AISettings) *ProviderSettings {
	return &ProviderSettings{Provider: provider, Model: text(s.Model), Url: text(s.URL), Key: []byte(s.Key.Reveal())}
}

// ToSettings returns the settings of a message.
func ToSettings(m *ProviderSettings) extension.AISettings {
	return extension.AISettings{Model: m.GetModel(), URL: m.GetUrl(), Key: extension.AIKey(m.GetKey())}
}

// FromRequest returns the message of a request to an AI provider.
func FromRequest(s *ProviderSettings, r extension.AIRequest, stream bool) *Completion {
	return &Completion{Settings: s, System: text(r.System), Prompt: text(r.Prompt), MaxTokens: int64(r.MaxTokens),
		Stream: stream}
}

// ToRequest returns the request of a message.
func ToRequest(m *Completion) extension.AIRequest {
	return extension.AIRequest{System: m.GetSystem(), Prompt: m.GetPrompt(), MaxTokens: int(m.GetMaxTokens())}
}

// FromText returns the message of a piece of an answer.
func FromText(s string) *Piece { return &Piece{Text: text(s)} }

// FromAnswer returns the message of the end of an answer.
func FromAnswer(a extension.AIAnswer) *Piece {
	return &Piece{Finish: &Finish{Tokens: int64(a.Tokens), Cut: a.Cut}}
}

// FromFailure returns the message of an error that callers may see.
func FromFailure(e *extension.AIError) *Piece {
	f := &Failure{Message: Short(e.Message), RetryAfterMs: e.RetryAfter.Milliseconds()}
	if e.Cause != nil {
		f.Cause = Short(e.Cause.Error())
	}
	return &Piece{Finish: &Finish{Failure: f}}
}

// maxWait is the longest time that a plugin may ask callers to wait.
const maxWait = time.Hour

// ToFailure returns the error of a message.
func ToFailure(m *Failure) *extension.AIError {
	wait := min(max(m.GetRetryAfterMs(), 0), maxWait.Milliseconds())
	e := &extension.AIError{Message: Short(m.GetMessage()), RetryAfter: time.Duration(wait) * time.Millisecond}
	if m.GetCause() != "" {
		e.Cause = errors.New(Short(m.GetCause()))
	}
	return e
}
