package runview

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	ctx := shell.WithViewer(t.Context(), shell.Viewer{ID: "usr_1", Name: "Ada Reyes", Role: identity.Viewer}, time.Now())
	var b bytes.Buffer
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func aRun(tool string) *runs.Run {
	r := &runs.Run{ID: "run_01", Kind: runs.Single, Status: runs.Running, EventCount: 12, LogBytes: 9000}
	r.Spec.Tool = tool
	return r
}

// forbidden is what the policy of the pages refuses.
var forbidden = regexp.MustCompile(`\sstyle=|\son[a-z]+=|<script|(?:href|src)="(?:https?:|javascript:)`)

// checkMarkup fails on what the policy refuses and on ids that stand twice.
func checkMarkup(t *testing.T, html string) {
	t.Helper()
	if found := forbidden.FindString(html); found != "" {
		t.Errorf("the markup has %q: %s", found, html)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if seen[m[1]] {
			t.Errorf("the id %q stands twice", m[1])
		}
		seen[m[1]] = true
	}
}

func TestHostileLog(t *testing.T) {
	t.Parallel()
	tail := "<script>alert(1)</script>\n\"><img src=x onerror=alert(1)>\n" +
		"\x1b]8;;javascript:alert(1)\x07a link\x1b]8;;\x07\n" +
		"user \u202egpj.exe \x00\n" + strings.Repeat("x", 255) + "\n1 %\r2 %\r\n\x1b[31mred\x1b[0m\n\u009b1mbold"
	html := render(t, Log(LogView{Run: aRun("bash"), Live: true, Tail: tail}))
	checkMarkup(t, strings.ReplaceAll(html, "onerror=", "")) // as a text, which the next lines check
	for _, want := range []string{
		`id="L1"><span class="no">1</span><span class="tx">&lt;script&gt;alert(1)&lt;/script&gt;</span>`,
		`<span class="tx">&#34;&gt;&lt;img src=x onerror=alert(1)&gt;</span>`, `<span class="tx">a link</span>`,
		`<span class="tx">user U+202Egpj.exe ␀</span>`, `<span class="tx">2 %</span>`, `<span class="tx">red</span>`,
		`id="L8"><span class="no">8</span><span class="tx">bold</span>`, `data-follow`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the log lacks %s:\n%s", want, html)
		}
	}
	if strings.Contains(html, "data-fold") || strings.Contains(html, "\x1b") || strings.Contains(html, "\x00") {
		t.Errorf("the log of a script has %s", html)
	}
}

func TestLogNumbers(t *testing.T) {
	t.Parallel()
	run := aRun("ansible")
	run.Status, run.LogOmitted = runs.Failed, 1234
	cases := map[string]struct {
		view     LogView
		has, not []string
	}{
		"the whole log": {LogView{Run: run, Tail: "a\nb\n"},
			[]string{`id="L2"><span class="no">2</span>`}, []string{"The last"}},
		"a part whose numbers are known": {LogView{Run: run, Tail: "b\nc\n", First: 4999, Offset: 8996, Lines: 5000},
			[]string{`id="L4999"><span class="no">4,999</span><span class="tx">b`, `id="L5000"`, "5,000 lines",
				"The last 4 bytes of 8.8 KiB."},
			[]string{`id="L1"`}},
		"a part whose numbers are not known": {LogView{Run: run, Tail: "b\nc", Offset: 8997},
			[]string{`<div class="ln"><span class="no"></span><span class="tx">b`}, []string{`id="L`}},
	}
	for name, c := range cases {
		html := render(t, Log(c.view))
		checkMarkup(t, html)
		for _, want := range append(c.has, "1,234 bytes of the log are missing: the log reached its limit.") {
			if !strings.Contains(html, want) {
				t.Errorf("%s lacks %s:\n%s", name, want, html)
			}
		}
		for _, bad := range append(c.not, "data-follow", "data-tail") {
			if strings.Contains(html, bad) {
				t.Errorf("%s has %s:\n%s", name, bad, html)
			}
		}
	}
}

func TestMatrixMarkup(t *testing.T) {
	t.Parallel()
	html := render(t, Matrix(MatrixView{Run: aRun("ansible"), Live: true}))
	checkMarkup(t, html)
	for _, want := range []string{`role="grid"`, `<a href="?view=table">`, `data-live`, `data-events="12"`, "<noscript>",
		"running"} {
		if !strings.Contains(html, want) {
			t.Errorf("the matrix lacks %s:\n%s", want, html)
		}
	}
	run := aRun("ansible")
	run.Kind, run.Status = runs.Split, runs.Failed
	html = render(t, Matrix(MatrixView{Run: run}))
	if strings.Contains(html, "data-live") || !strings.Contains(html, "data-parent") {
		t.Errorf("the matrix of a split that has ended is %s", html)
	}
}

func TestSequences(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":      "red",
		"\x1b]0;title\x1b\\text":    "text",
		"\x1bPdata\x1b\\text":       "text",
		"\x1b(Btext":                "text",
		"\x1b[":                     "",
		"\x1b":                      "␛",
		"a\x1b]8;;http://x":         "a",
		"a\tb\x7f":                  "a\tb␡",
		"\u2066x\u2069\ufeff\u200b": "U+2066xU+2069U+FEFFU+200B",
		"first\rsecond\r":           "second",
		"\xff":                      "\ufffd",
		"\u0085":                    "U+0085",
		"emoji 👩‍🚀 and العربية":     "emoji 👩‍🚀 and العربية",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) is %q, want %q", in, got, want)
		}
	}
}
