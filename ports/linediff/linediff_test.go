package linediff_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/linediff"
)

func unified(a, b string) string {
	text, _ := linediff.Unified(linediff.Compare(linediff.Lines(a), linediff.Lines(b)), 1<<20, 1<<10)
	return text
}

func TestUnified(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x\n", 20)
	for _, c := range [][3]string{
		{"", "", ""}, {"a\n", "a\n", ""},
		{"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"a\n", "a", "@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		{long + "a\n" + long + "b\n", long + "c\n" + long + "b\nd\n",
			"@@ -18,7 +18,7 @@\n x\n x\n x\n-a\n+c\n x\n x\n x\n@@ -40,3 +40,4 @@\n x\n x\n b\n+d\n"},
	} {
		if got := unified(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q:\n%s\ninstead of\n%s", c[0], c[1], got, c[2])
		}
	}
}

func TestUnifiedIsBounded(t *testing.T) {
	t.Parallel()
	lines := linediff.Compare(nil, []string{"one", "two", "three"})
	if text, cut := linediff.Unified(lines, 9, 100); text != "@@ -0,0 +1,2 @@\n+one\n+two\n" || !cut {
		t.Errorf("at the end: %q, %t", text, cut)
	}
	if text, cut := linediff.Unified(lines, 2, 100); text != "" || !cut {
		t.Errorf("at once: %q, %t", text, cut)
	}
	if text, cut := linediff.Unified(lines, 100, 4); !strings.HasSuffix(text, "\n+thre…\n") || !cut {
		t.Errorf("a long line: %q, %t", text, cut)
	}
	many := make([]string, 5000)
	if n := len(linediff.Compare(many, []string{"a"})); n != 5001 {
		t.Errorf("%d lines beyond the number of edits", n)
	}
}

// patched applies a difference in the unified form.
func patched(t *rapid.T, a, diff string) string {
	var out []string
	rest, at := linediff.Lines(a), 1
	diff = strings.ReplaceAll(diff, "\n\\", "\x00\\")
	for line := range strings.Lines(diff) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\x00", "\n")
		if line[0] == '@' {
			var from, n int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d", &from, &n); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				from++
			}
			out, rest, at = append(out, rest[:from-at]...), rest[from-at:], from
			continue
		}
		if line[0] != '+' {
			if rest[0] != line[1:] {
				t.Fatalf("line %d is %q instead of %q", at, rest[0], line[1:])
			}
			rest, at = rest[1:], at+1
		}
		if line[0] != '-' {
			out = append(out, line[1:])
		}
	}
	return strings.Join(append(out, rest...), "\n")
}

// TestUnifiedPatches: the second text is the first one with the difference.
func TestUnifiedPatches(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`([abc]\n){0,30}[ab]?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if got := patched(t, a, unified(a, b)); got != strings.Join(linediff.Lines(b), "\n") {
			t.Fatalf("%q instead of %q:\n%s", got, b, unified(a, b))
		}
	})
}
