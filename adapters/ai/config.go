package ai

import (
	"cmp"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
)

const (
	// callTimeout bounds a call whose context has no shorter bound.
	callTimeout = 5 * time.Minute
	// maxBody bounds an answer as it arrives, and maxText its text, in bytes.
	maxBody = 8 << 20
	maxText = 1 << 20
	// maxLine bounds a line of a stream.
	maxLine = 2 << 20
)

// Config is what the providers share. The operator names the address of a provider, which may be on the machine itself:
// use egress.PrivateAllowed.
type Config struct {
	Policy egress.Policy
	// Options are those of the connections; zero values have own defaults.
	Options egress.Options
	// Agent is the user agent.
	Agent string
}

// Factories returns the factory of each built-in provider by its name.
func Factories(c Config) map[string]extension.AIProviderFactory {
	c.Options.Timeout = cmp.Or(c.Options.Timeout, callTimeout)
	c.Options.MaxAnswer = cmp.Or(c.Options.MaxAnswer, maxBody)
	return map[string]extension.AIProviderFactory{
		"ollama": c.factory(ollama{}), "anthropic": c.factory(anthropic{}), "openai": c.factory(openAI{}),
	}
}

// factory returns what builds a provider that speaks a protocol.
func (c Config) factory(p protocol) extension.AIProviderFactory {
	return func(s extension.AISettings) (extension.AIProvider, error) {
		if strings.TrimSpace(s.Model) == "" {
			return nil, errors.New("model: is required")
		}
		key := s.Key.Reveal()
		if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, errors.New("key: has characters that no key has")
		}
		home, path, keyed := p.place()
		u, err := url.Parse(cmp.Or(s.URL, home))
		if err != nil || egress.CheckURL(u) != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, errors.New("url: has to be an address of http or https without credentials and query")
		}
		if key == "" && (keyed || s.URL == "" && home == openAIHome) {
			return nil, errors.New("key: is required")
		}
		return &provider{Config: c, protocol: p, model: s.Model, key: key, url: u.JoinPath(path).String()}, nil
	}
}
