package risk

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of the page")

// TestPageIsGolden compares the table in docs/reference/risk.md with the rules.
func TestPageIsGolden(t *testing.T) {
	t.Parallel()
	const page = "../../../../docs/reference/risk.md"
	const begin, end = "<!-- risk-rules:begin -->\n", "<!-- risk-rules:end -->"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(raw), begin)
	have, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	var want strings.Builder
	want.WriteString("\n| Rule | Level | What matches | Reason in the record |\n|---|---|---|---|\n")
	for _, r := range Rules() {
		level := string(r.Level)
		if level == "" {
			level = "one lower"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", r.Name, level, r.Text, r.Reason)
	}
	want.WriteString("\n")
	switch {
	case have == want.String():
	case !*update:
		t.Errorf("%s is not current; run: make golden", page)
	default:
		if err := os.WriteFile(page, []byte(head+begin+want.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
