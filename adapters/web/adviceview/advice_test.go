package adviceview

import (
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
)

var markup = regexp.MustCompile(`(?i)<(script|img|a|b|style)[ >]`)

func render(t *testing.T, a *Advice, mark string) string {
	t.Helper()
	var b strings.Builder
	if err := Panel(a, mark).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAdviceIsText shows answers and errors that look like markup. Keeps T34.
func TestAdviceIsText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "[a link](javascript:alert(1)) **b** http://x.example",
		"<b>bold</b>&lt;", "</pre><a href=/ui/>x</a>", "</textarea><style>*{}</style>",
	} {
		for name, a := range map[string]*Advice{
			"answer":  {Text: text, By: text, Cut: true},
			"problem": {Problem: &httpapi.Problem{Text: text}, Wait: 3},
		} {
			page := render(t, a, Marked)
			if bad := markup.FindString(page); bad != "" {
				t.Errorf("%s: %q gives %q", name, text, bad)
			}
			if (name == "answer") != strings.Contains(page, "data-cut>"+cutText) ||
				strings.Contains(page, "Try again in 3 seconds.") != (name == "problem") {
				t.Errorf("%s: %s", name, page)
			}
		}
	}
}

// TestHiddenParts: a panel without advice hides what its script fills.
func TestHiddenParts(t *testing.T) {
	t.Parallel()
	parts := regexp.MustCompile(`<(?:p|div|pre)[^>]*data-(busy|problem|answer|text|cut)[^>]*?( hidden)?>`)
	for want, a := range map[string]*Advice{
		"busy problem answer text cut": nil, "busy problem cut": {Text: "x", By: "m of p"},
		"busy answer text cut": {Problem: &httpapi.Problem{Text: "no"}}, "busy problem text cut": {By: "m of p"},
	} {
		var hidden []string
		for _, m := range parts.FindAllStringSubmatch(render(t, a, Marked), -1) {
			if m[2] != "" {
				hidden = append(hidden, m[1])
			}
		}
		if got := strings.Join(hidden, " "); got != want {
			t.Errorf("hidden are %q, want %q", got, want)
		}
	}
}
