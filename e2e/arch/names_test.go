package arch

import (
	"go/ast"
	"go/token"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// metaphors are words that no name in the tree contains: they describe a place or a resemblance and not the object.
// docs/glossary.md has the terms of the field.
func metaphors() []string {
	return []string{
		"book", "books", "community", "desk", "judge", "judged", "judges", "keeper", "lay", "lays", "lend",
		"lends", "lent", "parties", "party", "patience", "people", "person", "persons", "room", "rooms", "said", "shelf",
		"shelves", "slip", "slips", "stand", "standing", "stands", "stock", "stocks", "thing", "things", "told", "world",
		"worlds",
	}
}

// TestPlainNames looks at every name that a Go file declares or uses, and at the names of files and folders.
func TestPlainNames(t *testing.T) {
	t.Parallel()
	const why = "a name says what the thing is in the words of the field (docs/glossary.md)"
	r := tree(t)
	for _, s := range r.files {
		for _, part := range strings.Split(strings.TrimSuffix(s.path, ".go"), "/") {
			if word := metaphor(part); word != "" {
				t.Errorf("rule %q: %s has %q in its path\n\twhy: %s", "plain names", s.path, word, why)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if word := metaphor(id.Name); word != "" {
					t.Errorf("rule %q: %s:%d %s has %q\n\twhy: %s", "plain names", s.path, r.line(id), id.Name, word, why)
				}
			}
			return true
		})
	}
}

// metaphor returns the first word of a name that is one.
func metaphor(name string) string {
	for _, word := range wordsOf(name) {
		if slices.Contains(metaphors(), word) {
			return word
		}
	}
	return ""
}

// wordsOf splits a name at underscores, hyphens and capitals.
func wordsOf(name string) []string {
	var out []string
	begin := 0
	runes := []rune(name)
	cut := func(end int) {
		if end > begin {
			out = append(out, strings.ToLower(string(runes[begin:end])))
		}
		begin = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			cut(i)
			begin = i + 1
		case unicode.IsUpper(r) && i > 0 && unicode.IsLower(runes[i-1]):
			cut(i)
		}
	}
	cut(len(runes))
	return out
}

func TestWordsOf(t *testing.T) {
	t.Parallel()
	got := wordsOf("desk_ofKeeper-OIDC2room")
	if want := []string{"desk", "of", "keeper", "oidc", "room"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLineLength limits every line but those of generated files and of raw strings: a struct tag is one literal, and
// the text of another language has its own lines.
func TestLineLength(t *testing.T) {
	t.Parallel()
	const limit = 120
	r := tree(t)
	for _, s := range r.files {
		whole := unbroken(r, s)
		for i, line := range strings.Split(s.text, "\n") {
			n := len([]rune(line))
			if n <= limit || s.gen || covered(whole[i+1], byteColumn(line, limit)) {
				continue
			}
			t.Errorf("rule %q: %s:%d has %d columns, at most %d\n\twhy: it is read beside other code",
				"line length", s.path, i+1, n, limit)
		}
	}
}

// span is a range of byte columns of one line, from 1.
type span struct{ from, to int }

// unbroken returns, for each line, the columns of text that cannot be broken.
func unbroken(r *repository, s *source) map[int][]span {
	out := make(map[int][]span)
	add := func(pos, end token.Pos) {
		from, to := r.fset.Position(pos), r.fset.Position(end)
		for line := from.Line; line <= to.Line; line++ {
			columns := span{1, math.MaxInt}
			if line == from.Line {
				columns.from = from.Column
			}
			if line == to.Line {
				columns.to = to.Column
			}
			out[line] = append(out[line], columns)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, "`") {
			add(lit.Pos(), lit.End())
		}
		return true
	})
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			text := strings.TrimPrefix(c.Text, "//")
			address := !strings.Contains(strings.TrimSpace(text), " ")
			if address || strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "\t") {
				add(c.Pos(), c.End())
			}
		}
	}
	return out
}

func covered(spans []span, column int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.from <= column && column < s.to })
}

// byteColumn returns the byte column of the last character that is allowed.
func byteColumn(line string, limit int) int { return len(string([]rune(line)[:limit])) }
