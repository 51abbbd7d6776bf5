package compose

import (
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/extension"
)

// TestAISettings: wrong settings of a provider stop the start with the flag, and without the key.
func TestAISettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ai   AI
		want string // a part of the error; empty for none
	}{
		{AI{}, ""}, {AI{Key: "c4nary"}, ""}, // the variable may be set for another program
		{AI{Provider: "ollama", Model: "m"}, ""},
		{AI{Provider: "ollama", Model: "m", URL: "https://llm.example.com/", Key: "c4nary"}, ""},
		{AI{Provider: "openai", Model: "m", URL: "http://10.0.0.1/v1"}, ""},
		{AI{Provider: "anthropic", Model: "m", Key: "c4nary"}, ""},
		{AI{Model: "m"}, "ai-provider: is required"}, {AI{URL: "http://x"}, "ai-provider: is required"},
		{AI{Provider: "nobody", Model: "m"}, `ai-provider: "nobody" is none of anthropic, ollama, openai`},
		{AI{Provider: "ollama"}, "model: is required"}, {AI{Provider: "openai", Model: "m"}, "key: is required"},
		{AI{Provider: "anthropic", Model: "m", URL: "https://x"}, "key: is required"},
		{AI{Provider: "ollama", Model: "m", URL: "http://user:c4nary@x"}, "url: "},
		{AI{Provider: "ollama", Model: "m", Key: "c4nary\n"}, "key: "},
	} {
		s := sampleSettings(t)
		s.AI = c.ai
		err := s.AI.validate()
		if err == nil {
			config, built := s.aiConfig(nil)
			if err = built; err == nil && (config.Provider != nil) != (c.ai.Provider != "") {
				t.Errorf("%+v: %+v", c.ai, config)
			}
		}
		if err == nil != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "c4nary")) {
			t.Errorf("%+v: %v", c.ai, err)
		}
	}
}

// TestAIFactoryShowsNoKey: the error of a factory stops the start without the key that it repeats.
func TestAIFactoryShowsNoKey(t *testing.T) {
	t.Parallel()
	s := sampleSettings(t)
	s.AI = AI{Provider: "own", Model: "m", Key: "c4nary"}
	_, err := s.aiConfig(map[string]extension.AIProviderFactory{"own": func(s extension.AISettings) (
		extension.AIProvider, error,
	) {
		return nil, errors.New("key: no account has " + s.Key.Reveal())
	}})
	if err == nil || !strings.Contains(err.Error(), "ai-provider: own: key: no account has *** (") {
		t.Errorf("%v", err)
	}
}
