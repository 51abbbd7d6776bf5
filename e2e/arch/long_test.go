package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLongTestsPage compares the table in docs/contributing/tests.md with the tests that only "make test-long" runs.
func TestLongTestsPage(t *testing.T) {
	t.Parallel()
	long := make(map[string][]string)
	eachTest(tree(t), func(s *source, name string) {
		if buildsLong(s.file) {
			long[s.dir()] = append(long[s.dir()], name)
		}
	})
	var b strings.Builder
	b.WriteString("| Package | Tests that `make test-long` alone runs |\n|---|---|\n")
	for _, dir := range slices.Sorted(maps.Keys(long)) {
		slices.Sort(long[dir])
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", dir, strings.Join(long[dir], "`, `"))
	}
	section(t, "docs/contributing/tests.md", "long-tests", b.String())
}

// TestPromisesNameTests requires that each test on the page of promises exists.
func TestPromisesNameTests(t *testing.T) {
	t.Parallel()
	r := tree(t)
	names := make(map[string]bool)
	eachTest(r, func(_ *source, name string) { names[name] = true })
	const page = "docs/reference/promises.md"
	for _, m := range regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`").FindAllStringSubmatch(r.text(t, page), -1) {
		if !names[m[1]] {
			t.Errorf("rule %q: %s names %s\n\twhy: a promise whose test is gone is a promise that nobody keeps", "promises",
				page, m[1])
		}
	}
}

// TestLongFiles requires that the constraint and the name of a file agree.
func TestLongFiles(t *testing.T) {
	t.Parallel()
	for _, s := range tree(t).files {
		named := strings.HasSuffix(s.path, "_long_test.go")
		if named != (s.test() && buildsLong(s.file)) {
			t.Errorf("rule %q: %s\n\twhy: a reader sees from the name which tests \"make test\" leaves out", "long tests",
				s.path)
		}
	}
}

// buildsLong reports whether a file has the build constraint "long".
func buildsLong(f *ast.File) bool {
	return slices.ContainsFunc(f.Comments, func(g *ast.CommentGroup) bool {
		return slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return c.Text == "//go:build long" })
	})
}

// eachTest calls fn with every test function.
func eachTest(r *repository, fn func(s *source, name string)) {
	for _, s := range r.files {
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && s.test() && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				fn(s, f.Name.Name)
			}
		}
	}
}
