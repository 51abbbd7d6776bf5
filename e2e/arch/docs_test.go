package arch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of docs")

// TestArchitecturePage holds the table in docs/architecture.md to the rules.
func TestArchitecturePage(t *testing.T) {
	t.Parallel()
	section(t, "docs/architecture.md", "import-rules", Table())
}

// TestErrorPage holds the table in docs/reference/errors.md to the codes that the contracts declare.
func TestErrorPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| `reason` | Status | Kind | Declared in |\n|---|---|---|---|\n")
	codes := faultCodes(tree(t))
	slices.SortFunc(codes, func(a, b faultCode) int { return strings.Compare(a.code, b.code) })
	for _, c := range codes {
		fmt.Fprintf(&b, "| `%s` | %d | %s | `%s` |\n", c.code, status(c.kind), c.kind, filepath.ToSlash(filepath.Dir(c.path)))
	}
	section(t, "docs/reference/errors.md", "fault-codes", b.String())
}

// status repeats the one map of the HTTP adapter in words that do not need it; e2e/contract holds the adapter to it.
func status(kind string) int {
	return map[string]int{
		"Invalid": 400, "Unauthenticated": 401, "Forbidden": 403, "Unlicensed": 403, "NotFound": 404, "Conflict": 409,
		"Stale": 412, "TooLarge": 413, "RateLimited": 429, "Internal": 500, "Unavailable": 503,
	}[kind]
}

// section compares, or with -update writes, the text between the two markers of a page.
func section(t *testing.T, page, name, want string) {
	t.Helper()
	r := tree(t)
	text := r.text(t, page)
	begin, end := "<!-- "+name+":begin -->\n", "<!-- "+name+":end -->"
	head, rest, ok := strings.Cut(text, begin)
	if !ok {
		t.Fatalf("%s has no marker %q", page, strings.TrimSpace(begin))
	}
	have, tail, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no marker %q", page, end)
	}
	want = "\n" + want + "\n"
	if have == want {
		return
	}
	if !*update {
		t.Errorf("rule %q: %s is not current; run: go test ./e2e/arch -update\n\twhy: a page that differs from its gate "+
			"misleads", "generated pages", page)
		return
	}
	if err := os.WriteFile(filepath.Join(r.root, page), []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
