package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keepsForm is the line of a test's comment that names the promises which the test keeps. A line that only resembles
// it is a mistake.
var (
	keepsForm = regexp.MustCompile(`^// Keeps ([TF][0-9]{2}(?:, [TF][0-9]{2})*)\.$`)
	keepsLike = regexp.MustCompile(`(?i)^//+\s*keeps:?\s+[tf][0-9]`)
)

// promiseTest is a test and a promise that it keeps.
type promiseTest struct{ id, dir, test string }

// TestPromises requires for each promise a test that runs, unless its feature is planned or pending.
func TestPromises(t *testing.T) {
	t.Parallel()
	found, problems := promiseTests(tree(t), runs(tree(t), tree(t).text(t, "Makefile")))
	for _, p := range append(problems, unkept(Promises(), found)...) {
		t.Errorf("rule %q: %s\n\twhy: a promise that no test keeps is a hope", "promises", p)
	}
}

// TestPromisesPage compares the table in docs/reference/promises.md with the comments of the tests.
func TestPromisesPage(t *testing.T) {
	t.Parallel()
	found, _ := promiseTests(tree(t), runs(tree(t), tree(t).text(t, "Makefile")))
	section(t, "docs/reference/promises.md", "promises", promiseTable(Promises(), found))
}

// promiseTable lists each promise with its tests by package.
func promiseTable(list []Promise, found []promiseTest) string {
	var b strings.Builder
	b.WriteString("| Id | What happens | Kept by |\n|---|---|---|\n")
	for _, p := range list {
		var by []string
		dir := ""
		for _, k := range found {
			if k.id != p.ID {
				continue
			}
			text := "`" + k.test + "`"
			if k.dir != dir {
				text = "`" + k.dir + "` " + text
			}
			dir, by = k.dir, append(by, text)
		}
		what := strings.Join(by, ", ")
		switch {
		case p.Planned != "":
			what = "planned: " + p.Planned
		case p.Pending != "":
			what = "pending: " + p.Pending
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.ID, p.Text, what)
	}
	return b.String()
}

// unkept lists the promises that are neither kept, planned nor pending, or more than one of these, and ids that are not
// in the list.
func unkept(list []Promise, found []promiseTest) (out []string) {
	known := make(map[string]bool)
	for _, p := range list {
		known[p.ID] = true
		kept := slices.ContainsFunc(found, func(k promiseTest) bool { return k.id == p.ID })
		switch {
		case p.Planned != "" && p.Pending != "":
			out = append(out, p.ID+" is planned and pending")
		case kept && p.Planned+p.Pending != "":
			out = append(out, p.ID+" has a test, and promises.go lists it as planned or pending")
		case !kept && p.Planned+p.Pending == "":
			out = append(out, p.ID+" ("+p.Text+") has no test that runs, and promises.go lists it neither as planned nor "+
				"as pending")
		}
	}
	for _, k := range found {
		if !known[k.id] {
			out = append(out, fmt.Sprintf("%s %s keeps %s, which promises.go does not list", k.dir, k.test, k.id))
		}
	}
	return out
}

// promiseTests reads the comments of all tests, ordered by promise, package and test. The problems are lines in other
// places, lines of another form, and tests that no target runs.
func promiseTests(r *repository, runs func(*source) bool) (found []promiseTest, problems []string) {
	for _, s := range r.files {
		docs := make(map[*ast.Comment]string)
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !s.test() || f.Recv != nil || f.Doc == nil || f.Name.Name == "TestMain" ||
				!strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
				continue
			}
			for _, c := range f.Doc.List {
				docs[c] = f.Name.Name
			}
		}
		for _, g := range s.file.Comments {
			for _, c := range g.List {
				if !keepsLike.MatchString(c.Text) {
					continue
				}
				m, name := keepsForm.FindStringSubmatch(c.Text), docs[c]
				if m == nil || name == "" || !runs(s) {
					problems = append(problems, fmt.Sprintf("%s:%d %q is not such a line, stands in no comment of a test, or no "+
						"target runs its test",
						s.path, r.line(c), c.Text))
					continue
				}
				for id := range strings.SplitSeq(m[1], ", ") {
					found = append(found, promiseTest{id, s.dir(), name})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b promiseTest) int {
		return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.dir, b.dir), strings.Compare(a.test, b.test))
	})
	return found, problems
}

// runs reports whether "make test" or "make test-long" compiles a file: by its name and its build constraint, and, in a
// module of its own, because MODULES of the Makefile names that.
func runs(r *repository, makefile string) func(*source) bool {
	named := regexp.MustCompile(`(?m)^MODULES := (.*)$`).FindStringSubmatch(makefile)
	quick, long := build.Default, build.Default
	quick.GOOS, quick.CgoEnabled, quick.BuildTags = "linux", false, nil
	long.GOOS, long.CgoEnabled, long.BuildTags = "linux", true, []string{"long", "race"}
	return func(s *source) bool {
		open := func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s.text)), nil }
		quick.OpenFile, long.OpenFile = open, open
		for _, rel := range r.all {
			module := path.Dir(rel)
			if path.Base(rel) == "go.mod" && strings.HasPrefix(s.path, module+"/") &&
				(named == nil || !slices.Contains(strings.Fields(named[1]), module)) {
				return false
			}
		}
		return slices.ContainsFunc([]build.Context{quick, long}, func(c build.Context) bool {
			ok, err := c.MatchFile(s.dir(), path.Base(s.path))
			return err == nil && ok
		})
	}
}

// TestPromisesHasTeeth tries the rules on both sides.
func TestPromisesHasTeeth(t *testing.T) {
	t.Parallel()
	const line = "// Keeps " + "T01, F01.\n"
	const test = "func TestIt(t *testing.T) {}\n"
	for _, c := range []struct {
		path, text string
		want       int // promises kept, or -1 for a problem
	}{
		{"a/a_test.go", "package a\n" + line + test, 2},
		{"a/a_test.go", "package a\n// TestIt is a test.\n" + line + test, 2},
		{"a/a_test.go", "package a\n" + line + "func FuzzIt(f *testing.F) {}\n", 2},
		{"a/a_long_test.go", "//go:build long\n\npackage a\n" + line + test, 2},
		{"a/a_test.go", "package a\n// Lines that keep T01.\n" + test, 0},
		{"named/a_test.go", "package a\n" + line + test, 2},
		{"forgotten/a_test.go", "package a\n" + line + test, -1},
		{"a/a_windows_test.go", "package a\n" + line + test, -1},
		{"a/a_test.go", "//go:build sometimes\n\npackage a\n" + line + test, -1},
		{"a/a.go", "package a\n" + line + test, -1},
		{"a/a_test.go", "package a\n" + line + "\n" + test, -1},
		{"a/a_test.go", "package a\n" + line + "func TestMain(m *testing.M) {}\n", -1},
		{"a/a_test.go", "package a\n" + line + "func check(t *testing.T) {}\n", -1},
		{"a/a_test.go", "package a\n" + line + "func BenchmarkIt(b *testing.B) {}\n", -1},
		{"a/a_test.go", "package a\n// Keeps " + "T1.\n" + test, -1},
		{"a/a_test.go", "package a\n// Keeps " + "T01 and F01.\n" + test, -1},
		{"a/a_test.go", "package a\n// keeps: " + "T01\n" + test, -1},
	} {
		r := &repository{fset: token.NewFileSet(), all: []string{"go.mod", "named/go.mod", "forgotten/go.mod"}}
		f, err := parser.ParseFile(r.fset, c.path, c.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		r.files = []*source{{path: c.path, file: f, text: c.text}}
		found, problems := promiseTests(r, runs(r, "MODULES := other named\n"))
		if len(found) != max(0, c.want) || (len(problems) > 0) != (c.want < 0) {
			t.Errorf("%s %q: %v %v", c.path, c.text, found, problems)
		}
	}
	for name, c := range map[string]struct {
		promise Promise
		found   []promiseTest
		problem bool
	}{
		"kept":                      {Promise{ID: "T01"}, []promiseTest{{id: "T01"}}, false},
		"planned":                   {Promise{ID: "T01", Planned: "x"}, nil, false},
		"pending":                   {Promise{ID: "T01", Pending: "x"}, nil, false},
		"forgotten":                 {Promise{ID: "T01"}, nil, true},
		"kept and planned":          {Promise{ID: "T01", Planned: "x"}, []promiseTest{{id: "T01"}}, true},
		"kept and pending":          {Promise{ID: "T01", Pending: "x"}, []promiseTest{{id: "T01"}}, true},
		"planned and pending":       {Promise{ID: "T01", Planned: "x", Pending: "x"}, nil, true},
		"kept and another, unknown": {Promise{ID: "T01"}, []promiseTest{{id: "T01"}, {id: "T99"}}, true},
	} {
		if problems := unkept([]Promise{c.promise}, c.found); (len(problems) > 0) != c.problem {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// TestPromisesAreNumbered requires every id once, in order.
func TestPromisesAreNumbered(t *testing.T) {
	t.Parallel()
	var want, have []string
	for n := range 61 {
		want = append(want, fmt.Sprintf("T%02d", n+1))
	}
	for n := range 38 {
		want = append(want, fmt.Sprintf("F%02d", n+1))
	}
	for _, p := range Promises() {
		have = append(have, p.ID)
		if p.Text == "" {
			t.Errorf("%s has no text", p.ID)
		}
	}
	if !slices.Equal(have, want) {
		t.Errorf("the ids are %v", have)
	}
}
