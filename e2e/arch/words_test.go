package arch

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forbidden pairs texts that no file may contain with the reason. The words are assembled here so that this file
// passes.
func forbidden() map[string]*regexp.Regexp {
	word := func(parts ...string) string { return strings.Join(parts, "") }
	return map[string]*regexp.Regexp{
		"unfinished work belongs in an issue, not in the tree": regexp.MustCompile(
			`\b(` + word("TO", "DO") + `|` + word("FIX", "ME") + `|` + word("X", "XX") + `|` + word("HA", "CK") + `)\b`),
		"what is offered works; what does not work is not offered": regexp.MustCompile(
			`(?i)\b(` + word("not ", "implemented") + `|` + word("not yet ", "implemented") + `|` + word("unimpl", "emented") +
				`)\b`),
		"a path of one machine means nothing on another": regexp.MustCompile(
			`(?m)(^|[\s"'` + "`" + `=(:])/(` + word("wo", "rk") + `|` + word("ro", "ot") + `|` + word("ho", "me/") + `[a-z]+)/`),
		"where packages come from is the choice of who builds": regexp.MustCompile(
			`(?i)` + word("proxy.", "golang") + `|` + word("sum.", "golang") + `|` + word("registry.", "npmjs") + `|` +
				word("py", "pi.org") +
				`|` + word("GO", "PROXY=") + `|` + word("GOSUM", "DB=") + `|` + word("index", "-url")),
	}
}

// TestWords reads every text file of the repository.
func TestWords(t *testing.T) {
	t.Parallel()
	r := tree(t)
	rules := forbidden()
	texts := []string{".go", ".sh", ".md", ".yml", ".yaml", ".sql", ".py", ".ini", ".j2", ".html", ".css", ".js",
		".proto", ""}
	for _, rel := range r.all {
		if !slices.Contains(texts, path.Ext(rel)) || strings.HasSuffix(rel, ".min.js") || path.Base(rel) == "LICENSE" ||
			generated(r, rel) {
			continue
		}
		info, err := os.Stat(filepath.Join(r.root, rel))
		if err != nil || info.Size() > 256<<10 {
			continue
		}
		text := r.text(t, rel)
		for why, re := range rules {
			for _, at := range re.FindAllStringIndex(text, -1) {
				line := 1 + strings.Count(text[:at[1]], "\n")
				t.Errorf("rule %q: %s:%d says %q\n\twhy: %s", "words", rel, line, text[at[0]:at[1]], why)
			}
		}
	}
}

func generated(r *repository, rel string) bool {
	return slices.ContainsFunc(r.files, func(s *source) bool { return s.path == rel && s.gen })
}
