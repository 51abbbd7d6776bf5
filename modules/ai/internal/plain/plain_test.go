package plain_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/ai/internal/plain"
)

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a\tb\nc": "a\tb\nc", "a\r\nb": "a\nb", "a\x00\x1b[31mb\x07\x7f": "a[31mb", "a\u202eb\u2066c\ufeff": "abc",
		"Größe 京 \U0001F642": "Größe 京 \U0001F642", "a\xffb": "a\ufffdb", "<b>&": "<b>&", "\u009b31m": "31m",
		"\U0001F468\u200d\U0001F469": "\U0001F468\u200d\U0001F469", "a\U000e0041b": "ab",
	} {
		if got := plain.Text(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"\x1b[1;31mfatal\x1b[0m: x": "fatal: x", "\x1b]0;title\x07y": "y", "\x1b]8;;http://x\x1b\\link": "link", "\x1b": "",
	} {
		if got := plain.Output(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestEnds cuts any text anywhere.
func TestEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(0, 20).Draw(t, "n")
		head, tail := plain.Head(text, n), plain.Tail(text, n)
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head) > n || len(tail) > n ||
			!utf8.ValidString(head) || !utf8.ValidString(tail) || len(text) > n && (len(head) < n-3 || len(tail) < n-3) {
			t.Fatalf("%q: %q and %q", text, head, tail)
		}
	})
}
