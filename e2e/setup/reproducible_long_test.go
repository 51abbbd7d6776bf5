//go:build long

package setup

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTwoBuildsAreEqual builds two clones of the current commit, in other directories: one with the cache of this
// machine, the other from nothing. A release can be built again and compared.
// Keeps T37.
func TestTwoBuildsAreEqual(t *testing.T) {
	t.Parallel()
	var first [][]byte
	for _, name := range []string{"one", "another directory/two"} {
		dir := filepath.Join(t.TempDir(), name)
		run := func(name string, args ...string) {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), name, args...)
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			if first != nil {
				cmd.Env = append(cmd.Env, "GOCACHE="+filepath.Join(filepath.Dir(dir), "cache"))
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s %q: %v\n%s", name, args, err, out)
			}
		}
		run("git", "clone", "-q", "--no-hardlinks", filepath.Dir(root(t, "go.mod")), dir)
		run("make", "-C", dir, "build", "writ-verify")
		var built [][]byte
		for _, binary := range []string{"writ", "writ-verify"} {
			b, err := os.ReadFile(filepath.Join(dir, "bin", binary))
			if err != nil {
				t.Fatal(err)
			}
			built = append(built, b)
		}
		if first == nil {
			first = built
			continue
		}
		for i, b := range built {
			if !bytes.Equal(first[i], b) {
				t.Errorf("binary %d differs: %d and %d bytes", i, len(first[i]), len(b))
			}
		}
	}
}
