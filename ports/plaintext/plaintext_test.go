package plaintext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/plaintext"
)

func TestUnseen(t *testing.T) {
	t.Parallel()
	const unseen = "\x00\t\n\r\x1b\x7f\u0085\u00ad\u034f\u115f\u1160\u180e\u200b\u200d\u202e\u2028\u2029\u2066\u2800" +
		"\u3164\ue000\ufe0f\ufeff\uffa0\ufff9\uffff\U0001d159\U000e0041\U000e0100"
	for _, r := range unseen {
		if !plaintext.Unseen(r) {
			t.Errorf("%U is seen", r)
		}
	}
	for _, r := range "aé京ש😀\u0301\ufffd $\u00a0\u3000" {
		if plaintext.Unseen(r) {
			t.Errorf("%U is not seen", r)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "  a \t\r\n b  ": "a b", "a\x00b\x1b[0m\x7f": "a b [0m", "\u202eabc\u202c": "abc",
		"a\u200bb\u200d\ufeff\u00adc": "a b c", "a\u2028b\u2029c\u0085d": "a b c d",
		"\xffa\xc3": "\ufffda\ufffd", "\U000e0041\U000e007f": "", "\u3164\u2800x": "x",
		"Größe 京 שלום 😀": "Größe 京 שלום 😀", "e\u0301": "e\u0301", "☎\ufe0f": "☎",
		"123456789012345678901": "1234567890123456789…", "1234567890123456789  x y": "1234567890123456789…",
		strings.Repeat("é", 20): strings.Repeat("é", 20),
	} {
		if got := plaintext.Line(in, 20); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	const in, joined = "a\u202eb\x00c\x1b[31m\xffd\r\ne\tf\u2028\r", "\U0001F468\u200d\U0001F469 ☎\ufe0f"
	if got, want := plaintext.Lines(in, '?'), "a?b?c?[31m\ufffdd\ne\tf??"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := plaintext.Lines(in, -1), "abc[31m\ufffdd\ne\tf"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := plaintext.Lines(joined, '?'); got != joined {
		t.Errorf("%q became %q", joined, got)
	}
}

func TestAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		most := rapid.IntRange(2, 60).Draw(t, "most")
		line, lines := plaintext.Line(text, most), plaintext.Lines(text, '?')
		if !utf8.ValidString(line) || utf8.RuneCountInString(line) > most || plaintext.Line(line, most) != line ||
			strings.ContainsFunc(line, func(r rune) bool { return plaintext.Unseen(r) || unicode.IsSpace(r) && r != ' ' }) {
			t.Fatalf("the line of %q is %q", text, line)
		}
		if !utf8.ValidString(lines) || plaintext.Lines(lines, '!') != lines {
			t.Fatalf("the lines of %q are %q", text, lines)
		}
	})
}
