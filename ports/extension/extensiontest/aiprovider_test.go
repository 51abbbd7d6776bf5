package extensiontest_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

// model is a provider in the process.
type model struct {
	mu    sync.Mutex
	text  string
	state string
	heard extension.AIRequest
}

func (m *model) set(to *string) func(string) {
	return func(s string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		*to = s
	}
}

func (m *model) be(state string) func() { return func() { m.set(&m.state)(state) } }

func (m *model) Complete(ctx context.Context, r extension.AIRequest) (extension.AIAnswer, error) {
	m.mu.Lock()
	m.heard = r
	text, state := m.text, m.state
	m.mu.Unlock()
	switch {
	case state == "hangs":
		<-ctx.Done()
	case state != "":
		return extension.AIAnswer{}, errors.New("the model " + state)
	}
	return extension.AIAnswer{Text: text}, ctx.Err()
}

func (m *model) Stream(
	ctx context.Context, r extension.AIRequest, write func(string) error,
) (extension.AIAnswer, error) {
	a, err := m.Complete(ctx, r)
	for i, letter := range a.Text {
		if err == nil {
			err = write(a.Text[i : i+len(string(letter))])
		}
	}
	return a, err
}

// TestAIProvider runs the suite with a provider in the process.
func TestAIProvider(t *testing.T) {
	t.Parallel()
	extensiontest.AIProvider{
		Open: func(*testing.T) extensiontest.AIProviderUnderTest {
			m := &model{}
			return extensiontest.AIProviderUnderTest{
				Provider: m, Answer: m.set(&m.text), Break: m.be("fails"), Cut: m.be("breaks off"), Hang: m.be("hangs"),
				Heard: func() extension.AIRequest {
					m.mu.Lock()
					defer m.mu.Unlock()
					return m.heard
				},
			}
		},
		Factory: func(s extension.AISettings) (extension.AIProvider, error) {
			if s.Model == "" {
				return nil, errors.New("model: is required")
			}
			return &model{}, nil
		},
		Bad: map[string][]extension.AISettings{"model": {{}, {Key: "c4nary"}}},
	}.Run(t)
}

// TestAIKeyIsNotShown formats a key and its settings in every way.
func TestAIKeyIsNotShown(t *testing.T) {
	t.Parallel()
	s := extension.AISettings{Model: "m", Key: "c4nary"}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(s), fmt.Sprintf("%+v %#v %x %q", s, s, s, s), s.Key.String(), s.Key.LogValue().String(), string(encoded),
	} {
		if strings.Contains(text, "c4nary") || strings.Contains(text, hex.EncodeToString([]byte("c4nary"))) {
			t.Errorf("the key is shown: %s", text)
		}
	}
	if s.Key.Reveal() != "c4nary" || extension.AIKey("").String() != "" {
		t.Error("a key is not what was set")
	}
}

// TestAIRegistry: the names of built-in providers are reserved, and each name is registered once.
func TestAIRegistry(t *testing.T) {
	t.Parallel()
	r := extension.NewRegistry[extension.AIProviderFactory]("AI provider", extension.BuiltinAIProviders()...)
	factory := func(extension.AISettings) (extension.AIProvider, error) { return &model{}, nil }
	r.Register("own", factory)
	for _, name := range append(extension.BuiltinAIProviders(), "", "own") {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken", name)
				}
			}()
			r.Register(name, factory)
		}()
	}
	if list := r.Freeze(); len(list) != 1 || list["own"] == nil {
		t.Errorf("%d providers", len(list))
	}
}
