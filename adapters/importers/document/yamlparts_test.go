package document

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPartsAreTheWhole: whatever lines a document has, parts of it give the value of the whole document, or none.
func TestPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	usual := []string{"- n", "- n: 1", "  p: 1", "a:", "b:", "c: 1", "- [x, y]", "# text"}
	lines := []string{
		"a:", "b:", "c: 1", "d:  ", "e: [x,", "f: |", "g: >-", "h: \"x", "i: 'x", "a: &x", "j: *x", "k: !!set", "<<: *x",
		"l: # text", "m:\r", "- n", "- n: 1", "- - n", "- |", "- \"x", "- &x y", "- *x", "-", "-o", "- [x", "  p: 1", "  - p",
		"  text", "  x\"", "]", "\"", "'", "}", "{q: 1}", "# text", "", "---", "...", "? r", ": s", "\tt", "%YAML 1.1",
		"  u\u0085a:", "true:", "null: 1", "1: x", "v: - w", "  ", "  # text",
	}
	cuts := 0
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.SampledFrom(usual), rapid.SampledFrom(usual), rapid.SampledFrom(lines))
		for _, text := range rapid.SliceOfN(rapid.SliceOfN(line, 0, 9), 50, 50).Draw(t, "documents") {
			body := []byte("z:\n" + strings.Join(text, "\n"))
			got, ok := inParts(body, 1)
			if !ok {
				continue
			}
			cuts++
			want, err := yamlValue(body, &budget{values: maxNodes, bytes: maxYAML})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q is %v in parts, and %v, %v", body, got, want, err)
			}
		}
	})
	if cuts == 0 {
		t.Error("no document was read in parts")
	}
}

// TestParts: the lists of an export are cut between their elements, at most at the size.
func TestParts(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("---\n# an export\nprojects:\n")
	for i := range 10 {
		fmt.Fprintf(&b, "- name: p%d\n  text: |\n    - a\n    b:\n", i)
	}
	b.WriteString("templates:\n- name: t\nnone: []\n")
	body := []byte(b.String())
	if parts := cut(body, 60); len(parts) != 6 || string(parts[1].key) != "projects:\n" || parts[0].key != nil {
		t.Errorf("%d parts: %q", len(parts), parts)
	}
	got, ok := inParts(body, 60)
	want, err := yamlValue(body, &budget{values: maxNodes, bytes: maxYAML})
	if !ok || err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
	if _, ok := inParts(body, partSize); ok {
		t.Error("a small document was read in parts")
	}
}
