package extensiontest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
)

// AIProvider is the suite's input for an AI provider. Open is called once for each case.
type AIProvider struct {
	Open func(t *testing.T) AIProviderUnderTest
	// Factory is what the provider is registered with, and Bad are settings that it has to refuse, by the member that
	// its error has to name: model, url or key.
	Factory extension.AIProviderFactory
	Bad     map[string][]extension.AISettings
}

// AIProviderUnderTest is a provider with its model.
type AIProviderUnderTest struct {
	Provider extension.AIProvider
	// Answer is set to what the model answers to every request from then on.
	Answer func(text string)
	// Heard returns the request that arrived at the model last.
	Heard func() extension.AIRequest
	// Break makes the model fail until the test ends, Cut makes it break off within its answer, and Hang makes it never
	// answer. They are nil if the provider's model cannot do so.
	Break, Cut, Hang func()
	// Secrets are texts that no error may contain.
	Secrets []string
}

// Run tests the provider against the contract of extension.AIProvider, and that of extension.AIStreamer if it
// implements it.
func (s AIProvider) Run(t *testing.T) {
	t.Run("bad settings are refused", s.refuses)
	for name, test := range map[string]func(*testing.T, AIProviderUnderTest){
		"a question is answered": answers, "texts of every sort": answersTexts, "many ask at a time": answersMany,
		"a stream has the answer": streams, "a reader that stops": stopsStream, "a model that fails": fails,
		"an answer that breaks off": breaksOff, "a model that never answers": neverAnswers,
		"a context that is over": asksLate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s.Open(t))
		})
	}
}

func (s AIProvider) refuses(t *testing.T) {
	for member, list := range s.Bad {
		for _, bad := range list {
			p, err := s.Factory(bad)
			switch {
			case err == nil || p != nil:
				t.Errorf("%s: bad settings make a provider", member)
			case !strings.Contains(err.Error(), member):
				t.Errorf("the error does not name %s: %v", member, err)
			case bad.Key != "" && strings.Contains(err.Error(), bad.Key.Reveal()):
				t.Errorf("the key is in the error: %v", err)
			}
		}
	}
}

func askedFor(text string) extension.AIRequest {
	return extension.AIRequest{System: "Answer in one word.", Prompt: text, MaxTokens: 100}
}

func answers(t *testing.T, p AIProviderUnderTest) {
	p.Answer("yes")
	got, err := p.Provider.Complete(t.Context(), askedFor("Is it up?"))
	if err != nil || got.Text != "yes" || got.Tokens < 0 {
		t.Errorf("%+v %v", got, err)
	}
	if heard := p.Heard(); heard != askedFor("Is it up?") {
		t.Errorf("the model got %+v", heard)
	}
}

func answersTexts(t *testing.T, p AIProviderUnderTest) {
	for _, text := range []string{
		"Größe 'quoted' \"twice\" ? $1 \\ %s 京 \U0001F642", "a\r\nb\n\nc\td", "data: x\n\nevent: y\n\n[DONE]",
		"<script>alert(1)</script>", "\u202eabc\u2066", strings.Repeat("long ", 10_000), `{"error":"no"}`, " ",
	} {
		p.Answer(text)
		got, err := p.Provider.Complete(t.Context(), askedFor(text))
		if err != nil || got.Text != text {
			t.Errorf("%.40q is %.40q %v", text, got.Text, err)
		}
		if heard := p.Heard().Prompt; heard != text {
			t.Errorf("%.40q arrived as %.40q", text, heard)
		}
	}
}

func answersMany(t *testing.T, p AIProviderUnderTest) {
	p.Answer("yes")
	concurrently(8, func() {
		if got, err := p.Provider.Complete(t.Context(), askedFor("?")); err != nil || got.Text != "yes" {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// stream collects the pieces of an answer.
func (p AIProviderUnderTest) stream(
	ctx context.Context,
) (pieces string, answer extension.AIAnswer, ok bool, err error) {
	s, ok := p.Provider.(extension.AIStreamer)
	if !ok {
		return "", answer, false, nil
	}
	answer, err = s.Stream(ctx, askedFor("?"), func(text string) error {
		pieces += text
		return nil
	})
	return pieces, answer, true, err
}

func streams(t *testing.T, p AIProviderUnderTest) {
	for _, text := range []string{"yes", "Größe\n\nevent: x\n京 \U0001F642 [DONE]", strings.Repeat("long ", 5_000)} {
		p.Answer(text)
		pieces, got, ok, err := p.stream(t.Context())
		if ok && (err != nil || pieces != text || got.Text != text) {
			t.Errorf("%.40q: %.40q, %.40q %v", text, pieces, got.Text, err)
		}
	}
}

func stopsStream(t *testing.T, p AIProviderUnderTest) {
	s, ok := p.Provider.(extension.AIStreamer)
	if !ok {
		return
	}
	p.Answer("yes and no")
	gone := errors.New("gone")
	if _, err := s.Stream(t.Context(), askedFor("?"), func(string) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("a reader that is gone: %v", err)
	}
}

func fails(t *testing.T, p AIProviderUnderTest) { p.failing(t, p.Break) }

// breaksOff: a part of an answer is no answer, since a reader would take it for the whole.
func breaksOff(t *testing.T, p AIProviderUnderTest) { p.failing(t, p.Cut) }

func (p AIProviderUnderTest) failing(t *testing.T, spoil func()) {
	if spoil == nil {
		return
	}
	p.Answer("yes and no")
	spoil()
	_, err := p.Provider.Complete(t.Context(), askedFor("?"))
	p.failed(t, err)
	if _, _, ok, err := p.stream(t.Context()); ok {
		p.failed(t, err)
	}
}

// failed checks an error.
func (p AIProviderUnderTest) failed(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("what went wrong is no error")
		return
	}
	for _, s := range p.Secrets {
		if s != "" && strings.Contains(err.Error(), s) {
			t.Errorf("a secret is in the error: %v", err)
		}
	}
}

func neverAnswers(t *testing.T, p AIProviderUnderTest) {
	if p.Hang == nil {
		return
	}
	p.Hang()
	for _, ask := range []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := p.Provider.Complete(ctx, askedFor("?")); return err },
		func(ctx context.Context) error {
			_, _, ok, err := p.stream(ctx)
			if !ok {
				err = context.DeadlineExceeded
			}
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		begin := time.Now()
		err := ask(ctx)
		cancel()
		p.failed(t, err)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the end of the time is another error: %v", err)
		}
		if took := time.Since(begin); took > prompt {
			t.Errorf("a call of 200 ms took %s", took)
		}
	}
}

func asksLate(t *testing.T, p AIProviderUnderTest) {
	p.Answer("yes")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Provider.Complete(ctx, askedFor("?"))
	p.failed(t, err)
}
