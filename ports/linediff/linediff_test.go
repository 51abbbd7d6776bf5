package linediff_test

import (
	"os"
	"os/exec"
	"path/filepath"
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

// TestUnifiedPatches: patch makes the second text of the first one and the difference.
func TestUnifiedPatches(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch")
	}
	dir, ctx := t.TempDir(), t.Context()
	text := rapid.StringMatching(`([abc]\n){0,30}[ab]?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(a), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(ctx, "patch", "-s", "-o", "-", file)
		c.Stdin = strings.NewReader("--- f\n+++ f\n" + unified(a, b))
		if got, err := c.Output(); a != b && (err != nil || string(got) != b) {
			t.Fatalf("%q instead of %q: %v\n%s", got, b, err, unified(a, b))
		}
	})
}
