package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// source is one Go file of the repository, parsed.
type source struct {
	path  string // from the root, with slashes
	pkg   string // import path of its folder
	file  *ast.File
	text  string
	lines int
	gen   bool
}

func (s *source) test() bool { return strings.HasSuffix(s.path, "_test.go") }
func (s *source) dir() string {
	return path.Dir(s.path)
}

// support matches files for tests that are not test files.
func (s *source) support() bool { return s.test() || supportsTests(local(s.pkg)) }

func (s *source) imports() map[string]int {
	out := make(map[string]int, len(s.file.Imports))
	for i, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			out[p] = i
		}
	}
	return out
}

type repository struct {
	root  string
	fset  *token.FileSet
	files []*source
	all   []string // every file, also those that are no Go
}

var readOnce = sync.OnceValues(read)

// tree returns the whole repository, read once for all gates.
func tree(t *testing.T) *repository {
	t.Helper()
	r, err := readOnce()
	if err != nil {
		t.Fatalf("read the repository: %v", err)
	}
	return r
}

// ignored are folders without source of this repository: build output, state and files of other tools.
func ignored(rel string, d fs.DirEntry) bool {
	if !d.IsDir() {
		return false
	}
	return slices.Contains([]string{".git", "bin", "dist", ".writ", "zdeps"}, rel) ||
		strings.HasPrefix(d.Name(), ".e2e-") ||
		slices.Contains([]string{"node_modules", "testdata", "vendor", "__pycache__"}, d.Name())
}

func read() (*repository, error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return nil, err
	}
	r := &repository{root: root, fset: token.NewFileSet()}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if ignored(rel, d) {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		r.all = append(r.all, rel)
		return r.add(p, rel)
	})
	return r, err
}

func (r *repository) add(p, rel string) error {
	if !strings.HasSuffix(rel, ".go") {
		return nil
	}
	text, err := os.ReadFile(p)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(r.fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	r.files = append(r.files, &source{
		path: rel, pkg: path.Join(Module, path.Dir(rel)), file: f, text: string(text),
		lines: strings.Count(string(text), "\n"), gen: ast.IsGenerated(f),
	})
	return nil
}

// text returns a file of the repository.
func (r *repository) text(t *testing.T, rel string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.root, rel))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (r *repository) line(n ast.Node) int { return r.fset.Position(n.Pos()).Line }

// length is how many lines a node covers.
func (r *repository) length(n ast.Node) int {
	return r.fset.Position(n.End()).Line - r.line(n) + 1
}

// in lists the files below a folder.
func (r *repository) in(folder string) []*source {
	var out []*source
	for _, s := range r.files {
		if strings.HasPrefix(s.path, folder+"/") {
			out = append(out, s)
		}
	}
	return out
}
