package goplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/waittest"
)

// parrot is an AI provider that answers what the file .answer holds and keeps the last request in .heard. It fails
// while the file .mute exists, breaks off while .hoarse does, and hangs while .asleep does.
type parrot struct {
	dir      string
	settings extension.AISettings
}

func newParrot(dir string) extension.AIProviderFactory {
	return func(s extension.AISettings) (extension.AIProvider, error) {
		if s.Model == "" {
			return nil, errors.New("model: is required")
		}
		return parrot{dir, s}, nil
	}
}

func (p parrot) is(state string) bool { return exists(filepath.Join(p.dir, state)) }

func (p parrot) hear(ctx context.Context, r extension.AIRequest) (string, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	if err := replace(filepath.Join(p.dir, ".heard"), raw); err != nil {
		return "", err
	}
	switch {
	case p.is(".asleep"):
		<-ctx.Done()
		return "", ctx.Err()
	case p.is(".mute"):
		return "", &extension.AIError{Message: "the parrot is mute", RetryAfter: time.Minute, Cause: errors.New("a cold")}
	}
	text, err := os.ReadFile(filepath.Join(p.dir, ".answer"))
	return string(text), err
}

func (p parrot) Complete(ctx context.Context, r extension.AIRequest) (extension.AIAnswer, error) {
	text, err := p.hear(ctx, r)
	if err == nil && p.is(".hoarse") {
		err = errors.New("the parrot broke off")
	}
	return extension.AIAnswer{Text: text, Tokens: 7, Cut: r.MaxTokens == 1}, err
}

func (p parrot) Stream(
	ctx context.Context, r extension.AIRequest, write func(string) error,
) (extension.AIAnswer, error) {
	a, err := p.Complete(ctx, r)
	if a.Text == "" {
		return a, err
	}
	for _, piece := range strings.SplitAfter(a.Text, " ") {
		if gone := write(piece); gone != nil {
			return extension.AIAnswer{}, gone
		}
	}
	return a, err
}

// replace writes a file that readers see as a whole.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close(), os.Rename(f.Name(), path))
}

// babel is an AI provider that never stops to speak, stops within its answer, or panics.
type babel struct {
	piece string
	slow  bool
}

func newBabel(s extension.AISettings) (extension.AIProvider, error) {
	switch s.Model {
	case "panic":
		panic("at the disco")
	case "empty":
		return babel{}, nil
	case "slow":
		return babel{piece: "one", slow: true}, nil
	default:
		return babel{piece: strings.Repeat("x", 1<<16)}, nil
	}
}

func (b babel) Complete(context.Context, extension.AIRequest) (extension.AIAnswer, error) {
	return extension.AIAnswer{Text: strings.Repeat("x", 3<<20)}, nil
}

func (b babel) Stream(
	_ context.Context, _ extension.AIRequest, write func(string) error,
) (extension.AIAnswer, error) {
	for {
		if err := write(b.piece); err != nil {
			return extension.AIAnswer{}, err
		}
		if b.slow {
			forever()
		}
	}
}

// TestAIProvider runs the suite of AI providers through a process.
func TestAIProvider(t *testing.T) {
	t.Parallel()
	h, _, _ := started(t, quick(), "good")
	extensiontest.AIProvider{
		Factory: h.AIProviders()["parrot"], Bad: map[string][]extension.AISettings{"model": {{}, {Key: "c4nary-key"}}},
		Open: func(t *testing.T) extensiontest.AIProviderUnderTest {
			h, dir, _ := started(t, quick(), "good")
			p, err := h.AIProviders()["parrot"](extension.AISettings{Model: "grey", Key: "c4nary-key"})
			if err != nil {
				t.Fatal(err)
			}
			touch := func(name string) func() {
				return func() { touched(t, filepath.Join(dir, name), "") }
			}
			return extensiontest.AIProviderUnderTest{
				Provider: p, Secrets: []string{"c4nary-key"},
				Answer: func(text string) {
					if err := replace(filepath.Join(dir, ".answer"), []byte(text)); err != nil {
						t.Fatal(err)
					}
				},
				Heard: func() (r extension.AIRequest) {
					raw, err := os.ReadFile(filepath.Join(dir, ".heard"))
					if err = errors.Join(err, json.Unmarshal(raw, &r)); err != nil {
						t.Fatal(err)
					}
					return r
				},
				Break: touch(".mute"), Cut: touch(".hoarse"), Hang: touch(".asleep"),
			}
		},
	}.Run(t)
}

// TestAIAnswers checks the members of answers and errors, and that another process answers with the same settings.
func TestAIAnswers(t *testing.T) {
	t.Parallel()
	h, dir, _ := started(t, quick(), "good")
	p, err := h.AIProviders()["parrot"](extension.AISettings{Model: "grey"})
	if err != nil {
		t.Fatal(err)
	}
	if err := replace(filepath.Join(dir, ".answer"), []byte("one two")); err != nil {
		t.Fatal(err)
	}
	before := h.status("good").Restarts
	killAll(t, dir, "good")
	waittest.Eventually(t, time.Minute, "it runs again", func() bool {
		s := h.status("good")
		return s.State == system.ExtensionRunning && s.Restarts > before
	})
	var pieces []string
	got, err := p.(extension.AIStreamer).Stream(t.Context(), extension.AIRequest{Prompt: "?", MaxTokens: 1},
		func(text string) error { pieces = append(pieces, text); return nil })
	want := extension.AIAnswer{Text: "one two", Tokens: 7, Cut: true}
	if d := cmp.Diff(want, got); d != "" || err != nil || fmt.Sprint(pieces) != "[one  two]" {
		t.Errorf("%s %v %q", d, err, pieces)
	}
	touched(t, filepath.Join(dir, ".mute"), "")
	_, err = p.Complete(t.Context(), extension.AIRequest{Prompt: "?"})
	var shown *extension.AIError
	if !errors.As(err, &shown) || shown.Message != "the parrot is mute" || shown.RetryAfter != time.Minute ||
		shown.Cause == nil || shown.Cause.Error() != "a cold" {
		t.Errorf("%+v", err)
	}
}

// TestHostileAnswers: an answer without an end, a giant one and a panic are errors, and the plugin goes on.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	h, _, _ := started(t, quick(), "hostile")
	factory := h.AIProviders()["babel"]
	if _, err := factory(extension.AISettings{Model: "panic"}); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("a panic: %v", err)
	}
	for _, model := range []string{"empty", "loud"} {
		p, err := factory(extension.AISettings{Model: model})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Complete(t.Context(), extension.AIRequest{})
		_, endless := p.(extension.AIStreamer).Stream(t.Context(), extension.AIRequest{}, func(string) error { return nil })
		for _, err := range []error{err, endless} {
			if err == nil || !strings.Contains(err.Error(), "too large") {
				t.Errorf("%s: %v", model, err)
			}
		}
	}
	if s := h.status("hostile"); s.State != system.ExtensionRunning || s.Restarts != 0 {
		t.Errorf("%+v", s)
	}
}

// TestKilledWithinAnAnswer checks that an answer whose process is killed after its first piece is an error, that the
// plugin is started again, and that other plugins go on.
// Keeps F07.
func TestKilledWithinAnAnswer(t *testing.T) {
	t.Parallel()
	h, dir, _ := started(t, quick(), "hostile", "good")
	p, err := h.AIProviders()["babel"](extension.AISettings{Model: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	a, err := p.(extension.AIStreamer).Stream(t.Context(), extension.AIRequest{}, func(text string) error {
		heard = append(heard, text)
		killAll(t, dir, "hostile")
		return nil
	})
	if !fits(err, "it ended during the call") || a.Text != "" || fmt.Sprint(heard) != "[one]" {
		t.Errorf("%+v, %v, after %v", a, err, heard)
	}
	waittest.Eventually(t, time.Minute, "it runs again", func() bool {
		return h.Notifiers()["fine"].Notify(t.Context(), extension.EndedRun{ID: "run_1"}) == nil
	})
	if s := h.status("hostile"); s.State != system.ExtensionRunning || s.Restarts == 0 {
		t.Errorf("%+v", s)
	}
	if s := h.status("good"); s.State != system.ExtensionRunning || s.Restarts != 0 {
		t.Errorf("another plugin: %+v", s)
	}
}
