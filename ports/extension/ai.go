package extension

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// AIRequest asks a provider for a text. Both parts hold masked text only. Prompt may hold text of hosts and programs,
// which is data whatever it says.
type AIRequest struct {
	// System states what to do.
	System string
	// Prompt is the question with its data.
	Prompt string
	// MaxTokens is the limit of the answer, in the provider's own unit.
	MaxTokens int
}

// AIAnswer is the answer of a provider.
type AIAnswer struct {
	Text string
	// Tokens is how many tokens the request and the answer took, 0 if that is unknown.
	Tokens int
	// Cut means that the answer reached MaxTokens, so that its end is missing.
	Cut bool
}

// AIProvider turns a system instruction and a prompt into a text. It is safe for concurrent use, and returns within the
// time of ctx. Its errors contain no secret.
type AIProvider interface {
	Complete(ctx context.Context, r AIRequest) (AIAnswer, error)
}

// AIStreamer is an AIProvider that can also give the answer piece by piece.
type AIStreamer interface {
	// Stream calls write with each piece as it arrives, in order and not concurrently, and returns the whole answer: its
	// text is that of the pieces. An error of write ends the call with that error.
	Stream(ctx context.Context, r AIRequest, write func(text string) error) (AIAnswer, error)
}

// AIProviderFunc adapts a function to AIProvider.
type AIProviderFunc func(ctx context.Context, r AIRequest) (AIAnswer, error)

// Complete calls f.
func (f AIProviderFunc) Complete(ctx context.Context, r AIRequest) (AIAnswer, error) {
	return f(ctx, r)
}

// AIError is an error of a provider whose message callers may see: one sentence without a secret. Of other errors they
// see nothing.
type AIError struct {
	Message string
	// RetryAfter is the time until the next attempt makes sense, 0 if the provider told none.
	RetryAfter time.Duration
	// Cause is logged, never shown. It contains no secret either.
	Cause error
}

// Error returns the message alone.
func (e *AIError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *AIError) Unwrap() error { return e.Cause }

// AIKey is the key of an account at a provider. It prints as asterisks; only Reveal returns its value.
type AIKey string

// Reveal returns the key itself.
func (k AIKey) Reveal() string { return string(k) }

// String returns asterisks, or nothing for an empty key.
func (k AIKey) String() string {
	if k == "" {
		return ""
	}
	return "***"
}

// Format prints asterisks for every verb, including %#v and %x.
func (k AIKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// LogValue returns asterisks, for logs.
func (k AIKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText returns asterisks, for JSON, YAML and other text encodings.
func (k AIKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// AISettings are the settings of the server from which a provider is built. Any may be empty.
type AISettings struct {
	Model string // name of the model
	URL   string // address of the endpoint
	Key   AIKey
}

// AIProviderFactory builds a provider when the server starts. It validates the settings without a request: an error
// stops the start. The error names the setting as model, url or key, and contains no key.
type AIProviderFactory func(s AISettings) (AIProvider, error)

// BuiltinAIProviders returns the reserved names of AI providers.
func BuiltinAIProviders() []string { return []string{"ollama", "anthropic", "openai"} }

// AIProviders is the process-wide registry that RegisterAIProvider fills.
var AIProviders = NewRegistry[AIProviderFactory]("AI provider", BuiltinAIProviders()...)

// RegisterAIProvider adds an AI provider under name. It panics as Registry.Register does.
func RegisterAIProvider(name string, f AIProviderFactory) { AIProviders.Register(name, f) }
