package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTopLevel checks the folders and files in the root.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"modules", "platform", "adapters", "ports", "cmd", "configs", "e2e", "docs", "zdeps", "bin", "dist",
		"go.mod", "go.sum", "Makefile", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
		".golangci.yml", ".ci", ".git", ".gitignore", ".gitattributes", ".editorconfig", ".dockerignore", ".writ",
	}
	entries, err := os.ReadDir(tree(t).root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(allowed, e.Name()) {
			t.Errorf("rule %q: %s\n\twhy: every file has its place below one of the folders that docs/architecture.md names",
				"top level", e.Name())
		}
	}
}

// TestContextsAreWhole names the missing piece of a context when its first piece exists.
func TestContextsAreWhole(t *testing.T) {
	t.Parallel()
	r := tree(t)
	const why = "a context is one word with a contract, a behaviour, a store and routes, each in the folder of that name"
	for _, ctx := range Contexts() {
		if has(r, "modules/"+ctx) {
			need(t, r, why, "ports/"+ctx+"/", "modules/"+ctx+"/module.go")
		}
		if has(r, "adapters/sqlstore/"+ctx) {
			need(t, r, why, "ports/"+ctx+"/", "adapters/sqlstore/"+ctx+"/conformance_test.go", "ports/"+ctx+"/"+ctx+"test/")
		}
		if has(r, "adapters/httpapi/"+ctx) {
			need(t, r, why, "ports/"+ctx+"/", "adapters/httpapi/"+ctx+"/routes.go")
		}
	}
	known := slices.Concat(Contexts(), Kernel(), []string{
		"migrations", "pack", "visible", "objects", "relay", "hooks", "sso", "ops", "httpapitest", "extension",
		"extension/plugin",
		"depthtest", "object", "proof", "waittest",
	})
	for _, parent := range []string{"ports", "modules", "adapters/sqlstore", "adapters/httpapi"} {
		for _, name := range folders(t, r, parent) {
			if !slices.Contains(known, name) {
				t.Errorf("rule %q: %s/%s\n\twhy: the list of contexts is closed; a new word needs a decision record in docs/adr",
					"contexts", parent, name)
			}
		}
	}
}

// TestAdaptersGuard requires in each store and tool the line that proves which port it implements.
func TestAdaptersGuard(t *testing.T) {
	t.Parallel()
	r := tree(t)
	guarded := make(map[string]bool)
	for _, s := range append(r.in("adapters/sqlstore"), r.in("adapters/tools")...) {
		parts := strings.Split(s.dir(), "/")
		if s.test() || len(parts) != 3 || slices.Contains([]string{"migrations", "pack", "visible", "proc"}, parts[2]) {
			continue
		}
		guarded[s.dir()] = guarded[s.dir()] || hasGuard(s.file)
	}
	for dir, ok := range guarded {
		if !ok {
			t.Errorf("rule %q: %s has no line \"var _ port.Role = (*Type)(nil)\"\n\twhy: the compiler then says which promise "+
				"broke, where it broke", "interface guard", dir)
		}
	}
}

func hasGuard(f *ast.File) bool {
	for _, decl := range f.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && v.Names[0].Name == "_" && v.Type != nil {
				return true
			}
		}
	}
	return false
}

func has(r *repository, folder string) bool { return len(r.in(folder)) > 0 }

func need(t *testing.T, r *repository, why string, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if !slices.ContainsFunc(r.all, func(f string) bool {
			return f == p || strings.HasSuffix(p, "/") && strings.HasPrefix(f, p)
		}) {
			t.Errorf("rule %q: %s is missing\n\twhy: %s", "whole context", p, why)
		}
	}
}

func folders(t *testing.T, r *repository, parent string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(r.root, parent))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}
