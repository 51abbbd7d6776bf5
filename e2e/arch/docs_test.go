package arch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/reserved"
)

var update = flag.Bool("update", false, "write the generated parts of docs")

// TestArchitecturePage compares the table in docs/architecture.md with the rules.
func TestArchitecturePage(t *testing.T) {
	t.Parallel()
	section(t, "docs/architecture.md", "import-rules", Table())
}

// TestErrorPage compares the table in docs/reference/errors.md with the codes that the contracts declare.
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

// status repeats the status map of the HTTP adapter without importing it; e2e/contract tests the adapter's map.
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

// TestReservedPage holds the table in docs/reference/reserved-names.md to the list.
func TestReservedPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| | Names | Compared | Why |\n|---|---|---|---|\n")
	for _, g := range reserved.Groups() {
		compared := "as written, at any depth"
		switch {
		case g.AnyCase:
			compared = "in any case, at any depth"
		case g.VariablesOnly:
			compared = "as written, at the top"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", g.Title, strings.Join(g.Names, "`, `"), compared, g.Why)
	}
	section(t, "docs/reference/reserved-names.md", "reserved-names", b.String())
}

// TestFactsPage holds the lists in docs/reference/facts.md to those of the contract.
func TestFactsPage(t *testing.T) {
	t.Parallel()
	list := func(keys []string) string { return "- `" + strings.Join(keys, "`\n- `") + "`\n" }
	section(t, "docs/reference/facts.md", "volatile-facts", list(estate.VolatileFacts()))
	section(t, "docs/reference/facts.md", "unordered-facts", list(estate.UnorderedFacts()))
}
