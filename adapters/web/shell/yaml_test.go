package shell

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestYAMLKeepsValues writes values and reads the same.
func TestYAMLKeepsValues(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "on", "yes", "null", "~", "1", "1.0", "0x1f", "2026-11-27", "a: b", "a #b",
		"- x",
		"#x", "|", "'", `"`, "*a", "&a", "!t", "%", "@", "`", "{", "[", ",", "a\nb", "a\nb\n", "a\n\n", "\na",
		"  a\n b", "a \nb",
		"\ta", "a\tb\n", "\u202egnp.exe", "<script>alert(1)</script>", "\u0085", "\x7f", "\ufeff", "💥", "a\r\nb",
		strings.Repeat("x ", 200), "...", "---", "<<", "? a", "=", "#!/bin/sh\nset -e\nif true; then\n  echo hi\nfi\n"} {
		in := []any{map[string]any{"name": text, "n": json.Number("12345678901234567890"), "f": json.Number("1.50"),
			"ok": true, "none": nil, "tags": []any{text, "a"}, "empty": []any{}, "vars": map[string]any{text: text}}}
		out := WriteYAML(in, []string{"name"})
		got, lines, err := ReadYAML(out)
		want, _ := json.Marshal(in)
		again, _ := json.Marshal(got)
		if err != nil || string(again) != string(want) || len(lines) != 1 {
			t.Errorf("%q is written as %s and read as %s: %v", text, out, again, err)
		}
	}
	out := WriteYAML([]any{map[string]any{"depends_on": []any{"a"}, "name": "b", "command": "x\ny\n",
		"retries": json.Number("2")}},
		[]string{"name", "command"})
	if want := "- name: b\n  command: |\n    x\n    y\n  depends_on: [a]\n  retries: 2\n"; out != want {
		t.Errorf("written: %s", out)
	}
}

// TestYAMLNamesTheLine checks that what cannot be read is refused with its line.
func TestYAMLNamesTheLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- a: 1\n  b: x: y\n": "line 2", "a: &x 1\nb: *x\n": "line 2: aliases", "- a\n- !!binary aGk=\n": "line 2: tags",
		"a: 1\na: 2\n": "line 2: the member \"a\" is there twice", "- 1\n---\n- 2\n": "more than one document",
		"\n? [a]\n: b\n": "line 2: the name", "<<: {a: 1}\n": "line 1: the name",
		strings.Repeat("[", 100) + strings.Repeat("]", 100): "nested",
	} {
		_, problem := bodyOf(url.Values{"steps:yaml": {text}})
		if problem == nil || problem.Errors[0].Location != "steps" || !strings.Contains(problem.Errors[0].Message, want) {
			t.Errorf("%q is refused with %+v, expected %q", text, problem, want)
		}
	}
	for _, text := range []string{"", "# nothing\n"} {
		if body, problem := bodyOf(url.Values{"steps:yaml": {text}}); problem != nil || len(body) != 0 {
			t.Errorf("%q gives %v, %+v", text, body, problem)
		}
	}
	v, lines, err := ReadYAML("# all\n- name: a\n\n# b\n- name: b\n  on: failure\n")
	if list, ok := v.([]any); err != nil || !ok || !slices.Equal(lines, []int{2, 5}) ||
		list[1].(map[string]any)["on"] != "failure" {
		t.Errorf("read: %v at %v, %v", v, lines, err)
	}
}
