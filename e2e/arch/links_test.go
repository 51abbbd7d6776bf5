package arch

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks follows the relative links of every page.
func TestLinks(t *testing.T) {
	t.Parallel()
	r := tree(t)
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	for _, page := range r.all {
		if path.Ext(page) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(r.text(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := path.Join(path.Dir(page), m[1])
			if _, err := os.Stat(filepath.Join(r.root, target)); err != nil {
				t.Errorf("rule %q: %s links to %s, which is not there\n\twhy: a reader follows links", "links", page, m[1])
			}
		}
	}
}

// TestDecisionsAreListed requires every decision record in the index.
func TestDecisionsAreListed(t *testing.T) {
	t.Parallel()
	r := tree(t)
	index := r.text(t, "docs/adr/README.md")
	for _, page := range r.all {
		if name, ok := strings.CutPrefix(page, "docs/adr/"); ok && name != "README.md" &&
			!strings.Contains(index, "("+name+")") {
			t.Errorf("rule %q: docs/adr/README.md does not list %s\n\twhy: what is not listed is not found", "decisions", name)
		}
	}
}
