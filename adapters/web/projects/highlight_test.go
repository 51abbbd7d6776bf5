package projects

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/plaintext"
)

// joined is the text of highlighted lines.
func joined(lines [][]span) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, s := range line {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func classOf(lines [][]span, text string) string {
	for _, line := range lines {
		for _, s := range line {
			if strings.Contains(s.Text, text) {
				return s.Class
			}
		}
	}
	return "absent"
}

func TestHighlight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, text, piece, want string }{
		{"yaml", "- hosts: all # who\n", "hosts", key},
		{"yaml", "- hosts: all # who\n", "# who", comment},
		{"yaml", "a: \"x {{ y }} z\"\n", "{{ y }}", template},
		{"yaml", "a: \"x {{ y }} z\"\n", "\"x ", str},
		{"yaml", "on: true\n", "true", number},
		{"yaml", "url: http://a#b\n", "#b", ""},
		{"yaml", "'quoted key': 1\n", "quoted key", key},
		{"yaml", "it's: fine\n", "it's", key},
		{"ini", "; said\n", "said", comment},
		{"ini", "[defaults]\n", "defaults", key},
		{"ini", "forks = 5\n", "forks", key},
		{"ini", "web1 ansible_port=2222\n", "2222", number},
		{"jinja", "a {# note #} b", "note", comment},
		{"jinja", "{% if x %}y{% endif %}", "if x", template},
		{"jinja", "{% never ends", "never", template},
		{"shell", "for h in $hosts; do", "for", key},
		{"shell", "for h in $hosts; do", "$hosts", template},
		{"shell", "echo \"a\nb\" # c", "a", str},
		{"shell", "echo a#b", "#b", ""},
		{"python", "def f(x=3.5):\n", "def", key},
		{"python", "def f(x=3.5):\n", "3.5", number},
		{"python", `"""a` + "\nb\"\"\"\nimport os", "b", str},
		{"python", "x = 'never ends\nimport os", "import", key},
		{"", "def x", "def x", ""},
	} {
		if got := classOf(highlight(c.lang, c.text), c.piece); got != c.want {
			t.Errorf("%s %q: %q is %q, want %q", c.lang, c.text, c.piece, got, c.want)
		}
	}
}

func languages() []string { return []string{"yaml", "ini", "jinja", "shell", "python", ""} }

func TestHighlightKeepsTheText(t *testing.T) {
	t.Parallel()
	pieces := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"{{", "}}", "{%", "#}", "\"", "'",
		"'''",
		"\\", "\n", "#", ";", "[", ":", "- ", "= ", "${", "}", "\xff", "\x00", "\u202e", "$", " "})))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(pieces.Draw(t, "pieces"), "")
		lang := rapid.SampledFrom(languages()).Draw(t, "language")
		want := strings.TrimSuffix(plaintext.Lines(text, hiddenSign), "\n")
		if got := joined(highlight(lang, text)); got != want {
			t.Fatalf("%s: %q became %q", lang, want, got)
		}
	})
}

// TestHighlightIsFast reads texts of the largest size in which nothing that begins ends.
func TestHighlightIsFast(t *testing.T) {
	t.Parallel()
	for _, lang := range languages() {
		for _, piece := range []string{"{{", "{", "\"", "'", "'''", "${", "- ", "\\", ": ", "#", "a", "\n", "[", "{%}",
			" \""} {
			text := strings.Repeat(piece, maxColours/len(piece))
			begun := time.Now() //nolint:forbidigo // the duration of the test itself
			highlight(lang, text)
			if took := time.Since(begun); took > 5*time.Second { //nolint:forbidigo // as above
				t.Errorf("%s of %q took %s", lang, piece, took)
			}
		}
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a/b.yml": "yaml", "x.YAML": "yaml", "nginx.conf.j2": "jinja",
		"ansible.cfg": "ini",
		"hosts":       "ini", "run.sh": "shell", "t.py": "python", "README.md": "", "x": ""} {
		if got := language(name, ""); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if language("x", "#!/usr/bin/env python3\n") != "python" || language("x", "#!/bin/bash\n") != "shell" {
		t.Error("the first line does not decide")
	}
}
