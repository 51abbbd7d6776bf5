package arch

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// metaphors are words that no name in the tree has: they say where something is put or what it resembles, and not what
// it is. docs/glossary.md has the terms of the field.
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

// TestCommentLines bounds the lines of comments and of documents.
func TestCommentLines(t *testing.T) {
	t.Parallel()
	const limit = 120
	r := tree(t)
	for _, s := range r.files {
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				column := r.fset.Position(c.Pos()).Column - 1
				for _, line := range strings.Split(c.Text, "\n") {
					alone := !strings.Contains(strings.TrimSpace(strings.TrimPrefix(line, "//")), " ") // such as an address
					if column < 10 && column+len([]rune(line)) > limit && !alone && !strings.HasPrefix(line, "//go:") && !strings.HasPrefix(line, "//\t") {
						t.Errorf("rule %q: %s:%d has a comment of %d columns, at most %d\n\twhy: it is read beside the code",
							"comment lines", s.path, r.fset.Position(c.Pos()).Line, column+len([]rune(line)), limit)
					}
				}
			}
		}
	}
}
