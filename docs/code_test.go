package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/docs"
)

// programs are the blocks of Go that are a whole program.
var programs = regexp.MustCompile("(?s)```go\n(package main\n.*?)```\n")

// TestProgramsCompile has the compiler judge every program that a guide shows.
func TestProgramsCompile(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := fs.Glob(docs.Pages, "guides/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, page := range pages {
		text, err := fs.ReadFile(docs.Pages, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range programs.FindAllSubmatch(text, -1) {
			seen = append(seen, page)
			compiles(t, root, page, m[1])
		}
	}
	for _, page := range []string{"guides/add-a-notifier.md", "guides/add-a-tool.md", "guides/secret-engines.md"} {
		if !strings.Contains(strings.Join(seen, "\n"), page) {
			t.Errorf("%s shows no program", page)
		}
	}
}

// compiles checks one program as if it lay in this module.
func compiles(t *testing.T, root, page string, program []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, program, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", file)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a program of %s: %v\n%s", page, err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("a program of %s is not formatted: %v %s", page, err, out)
	}
}
