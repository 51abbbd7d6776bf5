package ai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestProviders runs the suite of AI providers with each protocol.
func TestProviders(t *testing.T) {
	t.Parallel()
	for name, of := range dialects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := map[string][]extension.AISettings{
				"model": {{URL: "http://127.0.0.1:1", Key: testKey}},
				"key":   {{Model: "m", Key: "c4nary\nX-Other: 1"}, {Model: "m", Key: "c4näry"}},
			}
			for _, address := range []string{"ftp://x", "nowhere", "http://u:p@127.0.0.1", "http://x/?a=b", "http://x/#a",
				"file:///etc/passwd", "http://2130706433/"} {
				bad["url"] = append(bad["url"], extension.AISettings{Model: "m", URL: address, Key: testKey})
			}
			if name != "ollama" {
				bad["key"] = append(bad["key"], extension.AISettings{Model: "m"})
			}
			extensiontest.AIProvider{Factory: factories(egress.Options{})[name], Bad: bad,
				Open: func(t *testing.T) extensiontest.AIProviderUnderTest { return underTest(t, name, of()) }}.Run(t)
		})
	}
}

func underTest(t *testing.T, name string, d dialect) extensiontest.AIProviderUnderTest {
	t.Helper()
	s := newServer(t, d)
	return extensiontest.AIProviderUnderTest{
		Provider: s.provider(t, name, egress.Options{}), Answer: s.say, Secrets: []string{testKey, "yes and no"},
		Heard: func() extension.AIRequest {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.heard
		},
		Break: func() { s.do(s.failing) },
		Cut:   func() { s.do(s.cutting) },
		Hang: func() {
			s.do(func(_ http.ResponseWriter, r *http.Request, _ bool) { <-r.Context().Done() })
		},
	}
}

// failing fails with a status, and within a stream as the protocol says.
func (s *server) failing(w http.ResponseWriter, _ *http.Request, stream bool) {
	if !stream {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, s.denied)
		return
	}
	for _, element := range append(s.pieces([]string{"yes"})[:2], s.broken) {
		_, _ = io.WriteString(w, element)
	}
}

// cutting ends a stream in its middle, and an answer before the length that it announced.
func (s *server) cutting(w http.ResponseWriter, _ *http.Request, stream bool) {
	if !stream {
		body := s.whole("yes and no")
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = io.WriteString(w, body[:len(body)-5])
		return
	}
	_, _ = io.WriteString(w, strings.Join(s.pieces([]string{"yes", " and"})[:2], ""))
}

// TestTokens counts the tokens that each protocol tells.
func TestTokens(t *testing.T) {
	t.Parallel()
	for name, of := range dialects() {
		s := newServer(t, of())
		s.say("yes")
		p := s.provider(t, name, egress.Options{})
		got, err := p.Complete(t.Context(), extension.AIRequest{Prompt: "?", MaxTokens: 9})
		streamed, streamErr := p.(extension.AIStreamer).Stream(t.Context(), extension.AIRequest{Prompt: "?", MaxTokens: 9},
			func(string) error { return nil })
		want := extension.AIAnswer{Text: "yes", Tokens: 33}
		if err != nil || streamErr != nil || got != want || streamed != want {
			t.Errorf("%s: %+v %v, %+v %v", name, got, err, streamed, streamErr)
		}
	}
}

// TestCutAnswers: a model that reached the limit of tokens did not end its answer.
func TestCutAnswers(t *testing.T) {
	t.Parallel()
	for name, of := range dialects() {
		s := newServer(t, of())
		limit := strings.NewReplacer(`"end_turn"`, `"max_tokens"`, `"stop"`, `"length"`)
		s.do(func(w http.ResponseWriter, _ *http.Request, stream bool) {
			body := s.whole("ye")
			if stream {
				body = strings.Join(s.pieces([]string{"ye"}), "")
			}
			_, _ = io.WriteString(w, limit.Replace(body))
		})
		p := s.provider(t, name, egress.Options{})
		got, err := p.Complete(t.Context(), extension.AIRequest{Prompt: "?"})
		streamed, streamErr := p.(extension.AIStreamer).Stream(t.Context(), extension.AIRequest{Prompt: "?"},
			func(string) error { return nil })
		if err != nil || streamErr != nil || !got.Cut || !streamed.Cut {
			t.Errorf("%s: %+v %v, %+v %v", name, got, err, streamed, streamErr)
		}
	}
}

// TestRefusals answers with statuses. The error tells what to do, and repeats no word of the provider.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, of := range dialects() {
		s := newServer(t, of())
		p := s.provider(t, name, egress.Options{})
		for status, want := range map[int]string{
			http.StatusUnauthorized: "does not accept the key", http.StatusForbidden: "does not accept the key",
			http.StatusNotFound: "does not know the model", http.StatusTooManyRequests: "is asked too often",
			http.StatusBadRequest: "status 400", http.StatusInternalServerError: "status 500", 529: "status 529",
			http.StatusFound: "status 302", http.StatusNoContent: "status 204",
		} {
			s.do(func(w http.ResponseWriter, _ *http.Request, _ bool) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(status)
				if status != http.StatusNoContent {
					_, _ = io.WriteString(w, s.denied)
				}
			})
			_, err := p.Complete(t.Context(), extension.AIRequest{Prompt: "?"})
			var shown *extension.AIError
			if !errors.As(err, &shown) || !strings.Contains(shown.Message, want) || shown.RetryAfter != 7*time.Second ||
				strings.Contains(fmt.Sprintf("%v %+v", err, shown.Cause), "c4nary") {
				t.Errorf("%s: %d: %v", name, status, err)
			}
		}
	}
}

// TestHostileAnswers sends what no provider should.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	giant := strings.Repeat("x", 3<<20)
	for name, of := range dialects() {
		s := newServer(t, of())
		p := s.provider(t, name, egress.Options{MaxAnswer: 4 << 20})
		for kind, body := range map[string]string{
			"html": "<html>c4nary</html>", "nothing": "", "no object": "[]", "nested": strings.Repeat("[", 100_000),
			"a giant line": "data: " + giant + "\n\n", "a giant text": s.whole(giant),
			"too many bytes": strings.Repeat(strings.Join(s.pieces([]string{"yes"})[:1], ""), 1<<16),
			"a giant event":  strings.Repeat("data: "+giant[:1<<20]+"\n", 3) + "\n",
		} {
			s.do(func(w http.ResponseWriter, _ *http.Request, _ bool) { _, _ = io.WriteString(w, body) })
			_, err := p.Complete(t.Context(), extension.AIRequest{Prompt: "?"})
			if err == nil || strings.Contains(err.Error(), "c4nary") || len(err.Error()) > 200 {
				t.Errorf("%s: %s: %.300v", name, kind, err)
			}
			_, err = p.(extension.AIStreamer).Stream(t.Context(), extension.AIRequest{Prompt: "?"},
				func(string) error { return nil })
			if err == nil || strings.Contains(err.Error(), "c4nary") || len(err.Error()) > 200 {
				t.Errorf("%s: %s, streamed: %.300v", name, kind, err)
			}
		}
	}
}

// TestEgress: an address that may not be dialled, and a redirect that would carry the prompt elsewhere.
func TestEgress(t *testing.T) {
	t.Parallel()
	for name, of := range dialects() {
		s := newServer(t, of())
		other := newServer(t, of())
		other.say("yes")
		s.do(func(w http.ResponseWriter, r *http.Request, _ bool) {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		})
		if a, err := s.provider(t, name, egress.Options{}).Complete(t.Context(),
			extension.AIRequest{Prompt: "?"}); err == nil || other.heard.Prompt != "" {
			t.Errorf("%s: a redirect is followed: %+v", name, a)
		}
		p, err := factories(egress.Options{})[name](extension.AISettings{Model: "m", URL: "http://169.254.169.254",
			Key: testKey})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Complete(t.Context(), extension.AIRequest{Prompt: "?"}); err == nil ||
			!strings.Contains(err.Error(), "may not connect") {
			t.Errorf("%s: metadata of the cloud: %v", name, err)
		}
	}
}
