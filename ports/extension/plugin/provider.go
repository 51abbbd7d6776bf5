package plugin

import (
	"context"
	"errors"
	"sync"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// providers keeps the AI provider of each name with the settings for which it was built. Writ has one for a process.
type providers struct {
	mu    sync.Mutex
	built map[string]builtProvider
}

type builtProvider struct {
	settings extension.AISettings
	provider extension.AIProvider
}

// provider returns the provider of the settings.
func (s *server) provider(m *wire.ProviderSettings) (extension.AIProvider, error) {
	name := m.GetProvider()
	factory, ok := s.extension.AIProviders[name]
	if !ok {
		return nil, unknown("AI provider", name)
	}
	s.providers.mu.Lock()
	defer s.providers.mu.Unlock()
	settings := wire.ToSettings(m)
	if b, ok := s.providers.built[name]; ok && b.settings == settings {
		return b.provider, nil
	}
	p, err := factory(settings)
	if err != nil {
		return nil, err
	}
	if s.providers.built == nil {
		s.providers.built = make(map[string]builtProvider)
	}
	s.providers.built[name] = builtProvider{settings, p}
	return p, nil
}

func (s *server) CheckProvider(_ context.Context, m *wire.ProviderSettings) (*wire.Verdict, error) {
	if _, err := s.provider(m); err != nil {
		return &wire.Verdict{Message: wire.Short(err.Error())}, nil
	}
	return &wire.Verdict{}, nil
}

func (s *server) Complete(m *wire.Completion, to wire.Extension_CompleteServer) error {
	ctx := to.Context()
	p, err := s.provider(m.GetSettings())
	if err != nil {
		return failed(ctx, err)
	}
	var answer extension.AIAnswer
	write := func(text string) error { return to.Send(wire.FromText(text)) }
	if streamer, ok := p.(extension.AIStreamer); ok && m.GetStream() {
		answer, err = streamer.Stream(ctx, wire.ToRequest(m), write)
	} else if answer, err = p.Complete(ctx, wire.ToRequest(m)); err == nil {
		err = write(answer.Text)
	}
	var shown *extension.AIError
	switch {
	case err == nil:
		return to.Send(wire.FromAnswer(answer))
	case ctx.Err() == nil && errors.As(err, &shown):
		return to.Send(wire.FromFailure(shown))
	default:
		return failed(ctx, err)
	}
}
