package prompt_test

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/ai/internal/prompt"
)

// TestHider: long values are hidden anywhere and in every form, short ones where they are words, and the shortest not.
func TestHider(t *testing.T) {
	t.Parallel()
	h := prompt.NewHider([]string{"production", "prod", "a-b.c", `q"uo`, " 4711\n", "dev", "", "        ", "größer",
		"a\nline of it"})
	for text, want := range map[string]string{
		"to production, reproductions": "to ***, re***s", "to prod, products": "to ***, products",
		"prod": "***", "prod prod": "*** ***", "app_prod_1 PROD prod1": "app_***_1 PROD prod1",
		"x a-b.c, xa-b.c a-b.cd": "x ***, xa-b.c a-b.cd", `q"uo`: "***", `{"x":"q\"uo"}`: `{"x":"***"}`,
		"pin=4711 47110": "pin=*** 47110", "dev": "dev", "          x": "          x", "größer größeres": "*** ***es",
		"cHJvZHVjdGlvbg==": "***g==", "pro\u200bd": "***", "\x1b[1mprod\x1b[0m": "***", "the line of it": "the ***",
	} {
		if got := h.Text(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	text := "it is " + strings.Repeat("x", 100) + "produ"
	if got := h.Head(text, 110); got != text[:106] {
		t.Errorf("the beginning of a value is at the end of %q", got)
	}
	if got := h.Head("production and more", 3); got != "***" {
		t.Errorf("%q", got)
	}
	if got := prompt.NewHider(nil).Text("a\x00b"); got != "ab" {
		t.Errorf("%q", got)
	}
}
