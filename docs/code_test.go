package docs_test

import (
	"bytes"
	"fmt"
	"go/format"
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

// TestProgramsCompile compiles every program in a guide, in a module next to this one.
func TestProgramsCompile(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	watch(t, root)
	pages, err := fs.Glob(docs.Pages, "guides/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	module := t.TempDir()
	for _, page := range pages {
		text, err := fs.ReadFile(docs.Pages, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range programs.FindAllSubmatch(text, -1) {
			if formatted, err := format.Source(m[1]); err != nil || !bytes.Equal(formatted, m[1]) {
				t.Errorf("a program of %s is not formatted: %v", page, err)
			}
			write(t, filepath.Join(module, fmt.Sprint("program", len(seen)), "main.go"), string(m[1]))
			seen = append(seen, page)
		}
	}
	compiles(t, root, module)
	for _, page := range []string{"guides/add-a-notifier.md", "guides/add-a-tool.md", "guides/secret-engines.md"} {
		if !strings.Contains(strings.Join(seen, "\n"), page) {
			t.Errorf("%s shows no program", page)
		}
	}
}

// compiles checks the packages of a module in one workspace with this one. The flags are those of "make vet", and so is
// the cache.
func compiles(t *testing.T, root, module string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go .*$`).FindString(string(text))
	write(t, filepath.Join(module, "go.mod"), "module example.org/programs\n\n"+version+"\n")
	write(t, filepath.Join(module, "go.work"), fmt.Sprintf("%s\n\nuse (\n\t.\n\t%q\n)\n", version, root))
	cmd := exec.CommandContext(t.Context(), "go", "vet", "-trimpath", "-gcflags=all=-dwarf=0", "-buildvcs=false",
		"./...")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK="+filepath.Join(module, "go.work"), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// watch reads the sources that the programs are compiled against: Go's test cache tracks files that a test reads, but
// no processes.
func watch(t *testing.T, root string) {
	t.Helper()
	for _, dir := range []string{"cmd/cli", "ports"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			_, err = os.ReadFile(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
