// Package vulncheck proves that known vulnerabilities of what a binary contains are found, in a database of its own. It
// is a module of its own, so that govulncheck is no dependency of the product: run it with "go test ./..." in this
// folder.
package vulncheck

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// database returns a database with one vulnerability, in every version of a module.
func database(t *testing.T, module, pkg string) string {
	t.Helper()
	const at = "2026-01-02T03:04:05Z"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index/db.json":      fmt.Sprintf(`{"modified": %q}`, at),
		"index/vulns.json":   fmt.Sprintf(`[{"id": "GO-2026-9999", "modified": %q}]`, at),
		"index/modules.json": fmt.Sprintf(`[{"path": %q, "vulns": [{"id": "GO-2026-9999", "modified": %q}]}]`, module, at),
		"ID/GO-2026-9999.json": fmt.Sprintf(`{"schema_version": "1.3.1", "id": "GO-2026-9999", "modified": %q, "published": %[1]q,
			"summary": "a test", "details": "a test", "affected": [{"package": {"name": %q, "ecosystem": "Go"},
			"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
			"ecosystem_specific": {"imports": [{"path": %q}]}}]}`, at, module, pkg),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestVulnerabilitiesAreFound(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "writ-verify")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-gcflags=all=-dwarf=0", "-ldflags", "-s -w",
		"-o", binary, "./cmd/writ-verify")
	build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	check := func(db string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join("..", "setup", "vulncheck.sh"), binary)
		cmd.Env = append(os.Environ(), "WRIT_VULNDB="+db)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := check(database(t, "golang.org/x/crypto", "golang.org/x/crypto/cryptobyte")); err == nil ||
		!strings.Contains(out, "GO-2026-9999") {
		t.Errorf("a vulnerability is not found: %v\n%s", err, out)
	}
	if out, err := check(database(t, "example.org/elsewhere", "example.org/elsewhere")); err != nil ||
		!strings.Contains(out, "No vulnerabilities found") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := check(""); err != nil || strings.Count(out, "\n") != 1 {
		t.Errorf("without a database: %v\n%s", err, out)
	}
	if out, err := check(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Errorf("a database that is not there is accepted:\n%s", out)
	}
}
